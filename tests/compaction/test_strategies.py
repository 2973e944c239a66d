"""Strategies by line: what they may touch and what they never do."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import benchmark
from compaction.decisions import apply
from compaction.estimate import message_tokens
from compaction.messages import Message, from_json
from compaction.strategies import AGGRESSIVE, BALANCED, CONSERVATIVE, ByLine
from tests.compaction.sessions_of_files import Session, function

SESSIONS = Path(__file__).parents[2] / "../shared/data/compaction-bench/dev"
SMALL = ("ctxeval-03", "entirecli-04", "sweagent-01")

ALL = pytest.mark.parametrize("strategy", [CONSERVATIVE, BALANCED, AGGRESSIVE])


def long_session() -> Session:
    """Reads, edits, repeats, an error, and enough after them."""
    session = Session()
    for name in ("read_token", "next_token", "peek_token"):
        session.read(f"/p/{name}.py", *function(name, 30))
        session.read(f"/p/{name}.py", *function(name, 30))
        old, new = "\n".join(function(name, 10)), "\n".join(function(f"{name}_fast", 10))
        session.edit(f"/p/{name}.py", old, new)
    session.call("Bash", {"command": "make"}, "error: no rule\n" * 40, is_error=True)
    session.say("And now the other parser")
    for number in range(20):
        session.call("Bash", {"command": f"run {number}"}, "nothing to see here\n" * 20)
    session.rest()
    return session


def stored(name: str) -> list[Message]:
    """One real session; skips where the collection is not beside the repository."""
    path = SESSIONS / f"{name}.json"
    if not path.exists():
        pytest.skip("the benchmark's sessions are not beside the repository")
    return [from_json(message) for message in json.loads(path.read_text("utf-8"))]


def size(messages: list[Message]) -> int:
    """Estimated tokens."""
    return sum(map(message_tokens, messages))


def keys(value: Any) -> Any:
    """The shape of an input: everything but the strings."""
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [keys(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return "" if isinstance(value, str) else value


def check(before: list[Message], after: list[Message]) -> None:
    """What holds for every strategy by line."""
    assert len(before) == len(after)
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        assert (old.role, old.text) == (new.role, new.text)
        assert [use.tool_use_id for use in old.tool_uses] == [u.tool_use_id for u in new.tool_uses]
        assert [keys(use.input) for use in old.tool_uses] == [keys(u.input) for u in new.tool_uses]
        for one, other in zip(old.tool_results, new.tool_results, strict=True):
            assert one.tool_use_id == other.tool_use_id
            assert len(other.text) <= len(one.text)
            assert one.text == other.text or not one.is_error
        if index == 0 or index >= len(before) - 6:
            assert old is new


@ALL
def test_only_results_and_written_texts_lose_lines(strategy: ByLine) -> None:
    before = long_session().messages
    after = apply(before, strategy(before))
    check(before, after)
    assert size(after) < 0.8 * size(before)


@ALL
@pytest.mark.parametrize("name", SMALL)
def test_real_sessions_keep_what_must_be_kept(name: str, strategy: ByLine) -> None:
    before = stored(name)
    check(before, apply(before, strategy(before)))


@ALL
@pytest.mark.parametrize("name", SMALL)
def test_a_second_time_changes_nothing(name: str, strategy: ByLine) -> None:
    once = stored(name)
    once = apply(once, strategy(once))
    assert apply(once, strategy(once)) == once


@ALL
def test_the_same_session_gives_the_same_decisions(strategy: ByLine) -> None:
    assert strategy(long_session().messages) == strategy(long_session().messages)


def test_a_higher_price_leaves_less() -> None:
    before = long_session().messages
    sizes = [size(apply(before, one(before))) for one in (CONSERVATIVE, BALANCED, AGGRESSIVE)]
    assert sizes == sorted(sizes, reverse=True)


def test_what_an_edit_took_out_goes_first_and_its_file_stays_named() -> None:
    before = long_session().messages
    after = apply(before, CONSERVATIVE(before))
    edits = [use for message in after for use in message.tool_uses if use.tool == "Edit"]
    assert [edit.input["file_path"] for edit in edits] == [
        "/p/read_token.py",
        "/p/next_token.py",
        "/p/peek_token.py",
    ]
    assert all("lines omitted" in edit.input["old_string"] for edit in edits)
    assert all("lines omitted" not in edit.input["new_string"] for edit in edits)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Read", "Bash", "Edit", "Write", "Task"]),
            st.sampled_from(["/a.py", "/b.py", ""]),
            st.text("ab_1→\n\t […]9C/", max_size=200),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.floats(0, 1),
    st.booleans(),
)
def test_no_session_breaks_the_rules(
    calls: list[tuple[str, str, str, bool]], price: float, renumber: bool
) -> None:
    session = Session()
    for tool, path, text, failed in calls:
        if failed:
            session.say(text)
        input = {"file_path": path, "old_string": text, "new_string": text[::-1], "content": text}
        session.call(tool, input, text[5:], is_error=failed)
    before = session.messages
    check(before, apply(before, ByLine(price, renumber=renumber)(before)))


def test_the_benchmark_gets_dictionaries_and_its_own_stay_as_they_are() -> None:
    if not SESSIONS.exists():
        pytest.skip("the benchmark's sessions are not beside the repository")
    before: list[dict[str, Any]] = json.loads((SESSIONS / "sweagent-01.json").read_text("utf-8"))
    copied = copy.deepcopy(before)
    for method in (benchmark.conservative, benchmark.balanced, benchmark.aggressive):
        after = method(before)
        assert before == copied
        assert len(after) == len(before)
        assert all(key in message for message in after for key in ("role", "text", "toolUses"))
    scores = benchmark.scores(before)
    assert set(scores) == {use["tool_use_id"] for message in before for use in message["toolUses"]}
