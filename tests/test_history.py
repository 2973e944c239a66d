"""What a transcript holds of one turn: found in any state in which a crash can leave the file."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import history
from tests.protocol.record import load

Json = dict[str, Any]
IO = Path("/proc/self/io")
SID = "00000000-0000-0000-0000-000000000001"


def prompt(uuid: str, content: Any = "hello", **more: Any) -> Json:
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, **more}


def says(uuid: str, text: str, stop: str | None = "end_turn", **more: Any) -> Json:
    message = {"content": [{"type": "text", "text": text}], "stop_reason": stop}
    return {"type": "assistant", "uuid": uuid, "message": message, **more}


def answer(uuid: str) -> Json:
    block = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    return {"type": "user", "uuid": uuid, "message": {"content": [block]}, "toolUseResult": {}}


def interrupted(uuid: str) -> Json:
    return prompt(uuid, [{"type": "text", "text": "[Request interrupted by user]"}])


BESIDES: list[Json] = [
    {"type": "system", "subtype": "compact_boundary", "uuid": "s"},
    {"type": "attachment", "uuid": "a", "attachment": {"type": "date"}},
    {"type": "queue-operation", "operation": "enqueue"},
    {"type": "last-prompt", "lastPrompt": "hello"},
    says("side", "a subagent's words", isSidechain=True),
    prompt("side prompt", "for a subagent", isSidechain=True),
]
"""What stands between the records of a turn, and is not of its conversation."""

WITHIN: list[Json] = [
    prompt("meta", "<local-command-caveat>", isMeta=True),
    prompt("summary", "This session is being continued", isCompactSummary=True),
    answer("bare answer") | {"toolUseResult": None},
    {k: v for k, v in answer("answer without its twin").items() if k != "toolUseResult"},
    says("m", "on my way", "tool_use"),
    interrupted("i"),
]
"""What a turn's conversation may hold besides the person's words: none of it begins a turn."""

TORN = [b"", b"\n", b'{"type":"assis', b"[1, 2]", b"null", b'"text"', b"\xff\xfe", b"\0" * 9]


def read(lines: list[Json | bytes], wanted: str) -> history.TurnRecords:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.jsonl")
        encoded = (x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines)
        path.write_bytes(b"\n".join(encoded))
        return history.read_turn(path, wanted)


def with_noise(draw: st.DrawFn, records: list[Json]) -> list[Json | bytes]:
    lines: list[Json | bytes] = []
    for record in records:
        lines += draw(st.lists(st.sampled_from([*BESIDES, *TORN]), max_size=2))
        lines.append(record)
    return lines


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[list[Json | bytes], dict[str, list[Json]]]:
    """A file with torn lines and strange records, and what each of its turns truly holds."""
    turns: dict[str, list[Json]] = {}
    for number in range(draw(st.integers(1, 4))):
        name = f"p{number}"
        body = draw(st.lists(st.sampled_from(WITHIN), max_size=4))
        if draw(st.booleans()):
            body = [*body, says(f"end{number}", "the end")]
        turns[name] = [prompt(name), *body]
    return with_noise(draw, [record for turn in turns.values() for record in turn]), turns


@given(transcripts())
def test_a_turn_is_all_from_its_prompt_to_the_next_one(
    made: tuple[list[Json | bytes], dict[str, list[Json]]],
) -> None:
    lines, turns = made
    for name, records in turns.items():
        found = read(lines, name)
        assert found.records == records
        assert found.asked
        assert found.answered == any(r["type"] == "assistant" for r in records)


@given(transcripts())
def test_a_prompt_that_was_not_taken_has_no_records(
    made: tuple[list[Json | bytes], dict[str, list[Json]]],
) -> None:
    found = read(made[0], "never")
    assert (found.records, found.asked, found.answered, found.finished) == ([], False, False, False)


@given(transcripts(), st.data())
def test_a_file_that_ends_anywhere_is_read_up_to_there(
    made: tuple[list[Json | bytes], dict[str, list[Json]]], data: st.DataObject
) -> None:
    lines, turns = made
    whole = b"\n".join(x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines)
    cut = data.draw(st.integers(0, len(whole)))
    for name, records in turns.items():
        found = read([whole[:cut]], name).records
        assert found == records[: len(found)]


def test_an_id_that_is_only_mentioned_is_not_the_prompt() -> None:
    lines: list[Json | bytes] = [
        prompt("p0", "look for p1"),
        {"type": "last-prompt", "leafUuid": "p1"},
        says("x", "p1?", parentUuid="p1"),
    ]
    assert not read(lines, "p1").asked


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "type", "stop_reason", "role", "text"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["user", "assistant"])},
            optional={"uuid": anything, "message": anything, "isMeta": anything},
        ),
        max_size=4,
    ),
    anything,
)
def test_a_record_of_any_shape_is_read(records: list[Json], message: Any) -> None:
    found = read([{"type": "user", "uuid": "p", "message": message}, *records], "p")
    assert found.asked
    assert found.records[1:] == records[: len(found.records) - 1]
    assert found.answered == any(r["type"] == "assistant" for r in found.records)
    assert found.finished in (True, False)


def test_a_line_that_is_nested_too_deeply_is_passed_over() -> None:
    deep = b'{"type": "user", "uuid": "p", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    lines: list[Json | bytes] = [prompt("p"), deep, says("a", "the end")]
    assert read(lines, "p").finished


def test_a_prompt_is_found_wherever_it_lies(tmp_path: Path) -> None:
    """At each place about the edge of what is searched at once, and in front of longer lines."""
    path = tmp_path / "t.jsonl"
    lines = [json.dumps(prompt("p" * 36)), json.dumps(says("a", "the end"))]
    records = [json.loads(line) for line in lines]
    head = "".join(f"{line}\n" for line in [json.dumps(prompt("before")), *lines])
    for size, step in ((history.BLOCK, 1), (3 * history.BLOCK, 29)):
        for shift in range(0, len(head) + 20, step):
            noise = json.dumps({"type": "system", "x": ""})
            noise = noise.replace('""', f'"{"x" * (size - shift - len(noise))}"')
            path.write_text(f"{head}{noise}\n")
            assert history.read_turn(path, "p" * 36).records == records


def test_no_more_is_read_than_is_asked_for(tmp_path: Path) -> None:
    """The transcript of a long session is large, and its newest turn is asked for again and again.

    The system counts what a process reads.
    """
    path = tmp_path / "t.jsonl"
    long_ago = "".join(f"{json.dumps(says(f'a{n}', 'x' * 10_000))}\n" for n in range(2000))
    lines = [json.dumps(prompt("p")), json.dumps(says("a", "the end"))]
    path.write_text(long_ago + "\n".join(lines))
    if not IO.exists():
        pytest.skip("this system does not count it")
    before = bytes_read()
    assert history.read_turn(path, "p").finished
    assert bytes_read() - before < 5 * history.BLOCK < path.stat().st_size


def bytes_read() -> int:
    return int(IO.read_text().split()[1])


@pytest.mark.parametrize(
    ("records", "finished"),
    [
        ([], False),
        ([says("a", "done", "end_turn")], True),
        ([says("a", "done", "stop_sequence")], True),
        ([says("a", "cut", "max_tokens")], True),
        ([says("a", "no", "refusal")], True),
        ([says("a", "and", "tool_use")], False),
        ([says("a", "half", None)], False),
        ([says("a", "and", "tool_use"), answer("r")], False),
        ([says("a", "half", None), interrupted("i")], True),
        ([says("a", "and", "tool_use"), answer("r"), says("b", "done")], True),
        ([{"type": "assistant", "uuid": "odd"}], False),
    ],
)
def test_a_turn_is_finished_when_the_model_has_said_its_last_word(
    records: list[Json], finished: bool
) -> None:
    assert read([prompt("p"), *records], "p").finished == finished


@pytest.mark.parametrize(
    ("name", "answered", "finished"),
    [
        ("text", True, True),
        ("tool", True, True),
        ("steps", True, True),
        ("midstream", True, True),
        ("interrupt", True, True),
        ("interrupted_question", True, True),
        ("api_error", True, True),
        ("background", True, True),
    ],
)
def test_a_real_turn_is_found_under_the_id_of_its_prompt(
    name: str, answered: bool, finished: bool
) -> None:
    recording = load(name)
    asked = [e["command_uuid"] for e in recording.events if e.get("state") == "queued"]
    assert asked
    for uuid in asked:
        found = read([*recording.transcript], uuid)
        assert found.records[0]["uuid"] == uuid
        assert (found.answered, found.finished) == (answered, finished)
        own = [r for r in found.records[1:] if r["type"] == "user" and "toolUseResult" not in r]
        assert all("interrupted" in str(r) or r.get("isMeta") for r in own)


def test_what_the_cli_adds_in_front_of_the_next_prompt_is_not_the_turns() -> None:
    """Else a turn whose last word was said would count as cut off."""
    lines: list[Json | bytes] = [
        prompt("p0", promptId="one"),
        says("a", "the end"),
        prompt("m", "<local-command-caveat>", isMeta=True, promptId="two"),
        prompt("p1", "<command-name>/compact", promptId="two"),
    ]
    assert read(lines, "p0").finished
    cut_off_by_the_api = prompt("m", "Resume directly", isMeta=True, promptId="one")
    assert not read([*lines[:2], cut_off_by_the_api], "p0").finished


def test_real_turns_of_one_session_do_not_overlap() -> None:
    recording = load("compact")
    asked = [e["command_uuid"] for e in recording.events if e.get("state") == "queued"]
    uuids = [r["uuid"] for uuid in asked for r in read([*recording.transcript], uuid).records]
    assert len(asked) == 3
    assert len(uuids) == len(set(uuids))


# --- where it is ----------------------------------------------------------------------------------
def test_a_transcript_is_found_in_its_own_folder_before_any_other(tmp_path: Path) -> None:
    cwd = "/srv/my project_ä/x.y"
    here = tmp_path / "-srv-my-project---x-y" / f"{SID}.jsonl"
    there = tmp_path / "another" / f"{SID}.jsonl"
    assert history.find_transcript(tmp_path, SID, cwd) is None
    there.parent.mkdir()
    there.touch()
    assert history.find_transcript(tmp_path, SID, cwd) == there
    here.parent.mkdir()
    here.touch()
    assert history.find_transcript(tmp_path, SID, cwd) == here


@given(st.text())
def test_a_projects_folder_is_letters_digits_and_dashes(cwd: str) -> None:
    name = history.project_folder_name(cwd)
    assert len(name) == len(cwd.encode("utf-16-le", "surrogatepass")) // 2
    assert all((c.isascii() and c.isalnum()) or c == "-" for c in name)


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.claude/projects"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/etc/claude"}, "/etc/claude/projects"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": ""}, "/home/me/.claude/projects"),
    ],
)
def test_transcripts_are_where_the_clis_environment_says(
    environment: dict[str, str], folder: str
) -> None:
    assert history.projects_dir(environment) == Path(folder)
