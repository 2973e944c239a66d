"""What a compaction removes can be read back, and its stubs say where."""

import json
import re
import stat
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from compaction import lineage
from compaction.archive import FOLDER, Filed, Settings, file_away
from compaction.decisions import Decision, apply
from compaction.messages import Message, ToolResult, ToolUse
from compaction.rewrite import Plan, plan
from compaction.sibling import Refused, write
from compaction.transcript import Transcript
from tests.compaction.session.work import SECRET, inputs, log, outputs, save, working
from tests.compaction.transcript import law
from tests.compaction.transcript.random_sessions import Random
from tests.compaction.transcript.sessions import name

SID = name(-4)
STUB = re.compile(
    r"<persisted-output>\nOld output cleared \([0-9.]+(?:B|KB|MB)\)\. "
    r"Full output saved to: (?P<path>/[^\n]+\.txt)\n\n"
    r"Preview \(first [0-9.]+(?:B|KB)\):\n(?P<preview>.+)\n\.\.\.\n</persisted-output>",
    re.DOTALL,
)
NAMED = re.compile(r"(?:saved to: |whole output: |whole call: )(/[^\n\]]+\.(?:txt|json))")


def one(output: str, tool: str = "Bash", **given: object) -> list[Message]:
    """A conversation with one call."""
    return [
        Message("user", "Go."),
        Message("assistant", "", (ToolUse("toolu_1", tool, given or {"command": "make"}),)),
        Message("user", "", (), (ToolResult("toolu_1", output),)),
    ]


def filed(messages: list[Message], decision: Decision, settings: Settings | None = None) -> Filed:
    return file_away(
        messages, {"toolu_1": decision}, Path("/p/sid/tool-results"), settings or Settings()
    )


def compacted(path: Path, decisions: dict[str, Decision]) -> tuple[Path, Plan, Filed]:
    """The session as decided, with its archive."""
    transcript = Transcript.read(path)
    away = file_away(transcript.messages, decisions, path.parent / SID / FOLDER, Settings())
    planned = plan(transcript, away.decisions)
    manifest = lineage.Manifest(SID, path.stem, 0.0, "test", 2, 1, away.files_of(planned.decisions))
    with lineage.beside(path, manifest, away.contents_of(planned.decisions)):
        return write(transcript, away.decisions, sid=SID).path, planned, away


def whole(text: str) -> str:
    """What the file that a text names holds."""
    found = NAMED.findall(text)
    assert found, f"it names no file: {text[-300:]!r}"
    return Path(found[-1]).read_bytes().decode("utf-8", "surrogatepass")


def assert_all_is_readable(old: Transcript, new: Transcript, planned: Plan, away: Filed) -> None:
    """Every text that went or was cut stands whole in the file that is named."""
    before, after = outputs(old), outputs(new)
    asked, asks = inputs(old), inputs(new)
    for key, decision in planned.decisions.items():
        if decision.action == "drop_call":
            kept = json.loads(_text(away.paths[key]))
            assert kept["output"] == before[key]
            assert kept["input"] == asked[key]
        elif asks[key] != asked[key]:
            kept = json.loads(whole("\n".join(map(str, asks[key].values()))))
            assert kept["input"] == asked[key]
            assert kept["output"] == before[key]
        elif after[key] != before[key] and SECRET not in before[key]:
            file = whole(after[key])
            assert before[key] == (json.loads(file)["output"] if file.startswith("{") else file)


def _text(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8", "surrogatepass")


@given(st.data())
def test_whatever_is_decided_all_that_goes_can_be_read_back(data: st.DataObject) -> None:
    made = Random(data)
    session = made.make()
    with tempfile.TemporaryDirectory() as folder:
        path = session.save(Path(folder), made.tail)
        before = path.read_bytes()
        try:
            new, planned, away = compacted(path, made.decisions())
        except Refused:
            assert [*path.parent.iterdir()] == [path]
            return
        finally:
            assert path.read_bytes() == before
        assert law.violations(new) == []
        assert_all_is_readable(Transcript.read(path), Transcript.read(new), planned, away)


def test_files_and_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    decisions = {key: Decision(key, "stub", "test") for key in outputs(Transcript.read(path))}
    compacted(path, decisions)
    made = [*path.with_name(SID).rglob("*"), path.with_name(SID)]
    assert {stat.S_IMODE(p.stat().st_mode) for p in made if p.is_file()} == {0o600}
    assert {stat.S_IMODE(p.stat().st_mode) for p in made if p.is_dir()} == {0o700}
    assert [p.name for p in path.with_name(SID).iterdir() if p.is_dir()] == ["tool-results"]


def test_a_stub_is_like_those_of_the_cli() -> None:
    output = log(1, 80)
    away = filed(one(output), Decision("toolu_1", "drop_result", "old"))
    found = STUB.fullmatch(away.decisions["toolu_1"].text or "")
    assert found is not None
    assert found["path"] == "/p/sid/tool-results/0001.txt"
    assert found["preview"] == output[:200]
    assert away.contents == {"0001.txt": output}


def test_a_shortened_output_ends_with_the_path_of_the_whole() -> None:
    away = filed(one(log(1, 80)), Decision("toolu_1", "trim", "lines", "first\nlast"))
    text = away.decisions["toolu_1"].text
    assert text == "first\nlast\n[whole output: /p/sid/tool-results/0001.txt]"


def test_a_shortened_input_names_the_file_of_the_whole_call() -> None:
    content = log(1, 80)
    messages = one("ok", "Write", file_path="/a", content=content)
    decision = Decision(
        "toolu_1", "trim_input", "input", input={"file_path": "/a", "content": "x\n[… 79]"}
    )
    away = filed(messages, decision)
    after = away.decisions["toolu_1"].input or {}
    assert after["content"] == "x\n[… 79]\n[whole call: /p/sid/tool-results/0001.json]"
    assert json.loads(away.contents["0001.json"]) == {
        "tool": "Write",
        "input": {"file_path": "/a", "content": content},
        "output": "ok",
    }


@given(
    st.text(alphabet=st.characters(codec=None), max_size=900),
    st.sampled_from(["stub", "drop_result", "trim"]),
)
def test_no_stub_is_longer_than_what_it_stands_for(output: str, action: str) -> None:
    messages = one(output)
    wanted = Decision("toolu_1", action, "test", "short" if action == "trim" else None)  # pyright: ignore[reportArgumentType]
    away = filed(messages, wanted)
    after = outputs_of(apply(messages, away.decisions))
    assert after == output or len(after) < len(output)
    assert (after == output) == (away.contents == {})


def outputs_of(messages: list[Message]) -> str:
    return messages[-1].tool_results[0].text


@given(st.sampled_from(["stub", "drop_result", "trim", "drop_call", "trim_input"]))
def test_what_was_filed_once_is_not_filed_again(action: str) -> None:
    messages = one(log(2, 60), "Write", file_path="/a", content=log(3, 60))
    wanted = Decision(
        "toolu_1",
        action,  # pyright: ignore[reportArgumentType]
        "test",
        "kept" if action.startswith("trim") else None,
        {"content": "x"},
    )
    after = apply(messages, filed(messages, wanted).decisions)
    if action == "drop_call":
        assert after == messages[:1]
        return
    again = filed(after, wanted)
    assert (
        apply(after, again.decisions) == after or again.decisions["toolu_1"].action == "trim_input"
    )
    if action != "trim_input":
        assert again.contents == {}


def test_what_was_shortened_before_can_go_and_names_its_old_file() -> None:
    messages = one(log(1, 80))
    short = apply(
        messages, filed(messages, Decision("toolu_1", "trim", "lines", log(1, 20))).decisions
    )
    later = file_away(
        short, {"toolu_1": Decision("toolu_1", "stub", "old")}, Path("/later"), Settings()
    )
    text = later.decisions["toolu_1"].text or ""
    assert NAMED.findall(text) == ["/p/sid/tool-results/0001.txt"]
    assert text.startswith("<persisted-output>\n") and text.endswith("\n</persisted-output>")
    assert later.contents == {}


def test_what_looks_like_a_credential_is_not_copied_and_the_stub_says_so() -> None:
    output = f"{log(1, 60)}\nGITHUB={SECRET}\n"
    for action in ("stub", "drop_result", "drop_call"):
        away = filed(one(output), Decision("toolu_1", action, "old"))
        assert away.contents == {}
        assert away.paths == {}
        text = away.decisions["toolu_1"].text or ""
        assert "looks like it holds credentials" in text
        assert SECRET not in text
        assert text.startswith("<persisted-output>\n") and text.endswith("\n</persisted-output>")
        assert away.decisions["toolu_1"].action in ("stub", "drop_result")


def test_a_shortened_credential_says_that_nothing_was_saved() -> None:
    output = f"{log(1, 60)}\nGITHUB={SECRET}\n"
    away = filed(one(output), Decision("toolu_1", "trim", "lines", "short"))
    assert (away.decisions["toolu_1"].text or "").startswith(
        "short\n[whole output not saved, since"
    )
    assert (
        filed(one(away.decisions["toolu_1"].text or ""), Decision("toolu_1", "stub", "")).decisions
        == {}
    )


def test_an_input_with_a_credential_stays() -> None:
    given = {"file_path": "/a", "content": f"{log(1, 60)}\n{SECRET}"}
    away = filed(
        one("ok", "Write", **given),
        Decision("toolu_1", "trim_input", "input", input={**given, "content": "x"}),
    )
    assert (away.decisions, away.contents) == ({}, {})


def test_plain_texts_are_those_of_the_strategy() -> None:
    wanted = Decision("toolu_1", "trim", "lines", "as OpenClaw writes it")
    away = filed(one(log(1, 60)), wanted, Settings(format="plain"))
    assert away.decisions == {"toolu_1": wanted}
    assert away.contents == {"0001.txt": log(1, 60)}


def test_without_an_archive_nothing_is_kept() -> None:
    away = filed(one(log(1, 60)), Decision("toolu_1", "stub", "old"), Settings(keep=False))
    assert away.contents == {}
    assert "not saved. Run the tool again" in (away.decisions["toolu_1"].text or "")


def test_a_call_that_words_tell_of_stays_and_its_stub_names_the_file(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    new, planned, _ = compacted(path, {"toolu_001": Decision("toolu_001", "drop_call", "test")})
    assert planned.decisions["toolu_001"].action == "stub"
    before = outputs(Transcript.read(path))["toolu_001"]
    assert whole(outputs(Transcript.read(new))["toolu_001"]) == before
