"""The same rules as a strategy over this package's messages."""

from collections.abc import Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from compaction.decisions import Strategy, apply
from compaction.messages import Message, ToolResult, ToolUse
from compaction.pruning import decide
from tests.compaction.pruning.contexts import CLEARED, note, settings

LONG = "x" * 5000
TRIMMED = "x" * 1500 + "\n...\n" + "x" * 1500 + note(1500, 1500, 5000)


def conversation(*results: ToolResult, tool: str = "Bash") -> list[Message]:
    """All calls in one answer, and three answers behind their results."""
    uses = tuple(ToolUse(result.tool_use_id, tool, {"n": 1}) for result in results)
    return [
        Message("user", "prompt"),
        Message("assistant", "", uses),
        Message("user", "", (), results),
        *[Message("assistant", "words"), Message("user", "more")] * 2,
        Message("assistant", "end"),
    ]


def test_long_results_are_trimmed_and_many_are_cleared() -> None:
    trimmed = decide(conversation(ToolResult("a", LONG)), settings(), window=1000)
    assert [(d.action, d.reason, d.text) for d in trimmed.values()] == [
        ("trim", "old and long: head and tail stay", TRIMMED)
    ]
    many = conversation(*(ToolResult(f"t{at}", LONG) for at in range(18)))
    cleared = decide(many, settings(), window=25_000)
    actions = [decision.action for decision in cleared.values()]
    assert sorted(actions) == actions
    assert {*actions} == {"stub", "trim"}
    assert cleared["t0"].text == CLEARED


def test_errors_are_kept_unless_they_are_not_to_be() -> None:
    messages = conversation(ToolResult("a", LONG, is_error=True))
    assert decide(messages, settings(), window=1000) == {}
    assert decide(messages, settings(), window=1000, keep_errors=False)["a"].action == "trim"


def test_tools_may_be_denied() -> None:
    messages = conversation(ToolResult("a", LONG), tool="mcp__memory")
    assert decide(messages, settings(tools={"deny": ["mcp__*"]}), window=1000) == {}


def test_images_go_with_their_weight() -> None:
    messages = conversation(ToolResult("a", "seen", images=1))
    decision = decide(messages, settings(), window=1000)["a"]
    assert decision.text == "seen\n[image removed during context pruning]"
    assert apply(messages, {"a": decision})[2].tool_results[0].images == 0


def test_what_would_not_get_shorter_stays() -> None:
    made = settings(soft_trim={"head_chars": 2490, "tail_chars": 2490})
    assert decide(conversation(ToolResult("a", LONG)), made, window=1000) == {}


def test_stubs_and_results_without_a_call_stay() -> None:
    stored = f"<persisted-output>\n{LONG}\n</persisted-output>"
    made = settings(
        hard_clear={"placeholder": "[gone]"}, hard_clear_ratio=0, min_prunable_tool_chars=0
    )
    stubs = [ToolResult("a", stored), ToolResult("b", TRIMMED), ToolResult("c", "[gone]")]
    assert decide(conversation(*stubs), made, window=100) == {}
    orphan = [*conversation()]
    orphan[2] = Message("user", "", (), (ToolResult("o", LONG),))
    assert decide(orphan, made, window=100) == {}


def results() -> st.SearchStrategy[list[ToolResult]]:
    texts = st.sampled_from(["", "short", LONG, "漢字" * 900, TRIMMED, CLEARED, "line\n" * 3000])
    one = st.builds(ToolResult, st.just("?"), texts, st.booleans(), st.integers(0, 2))
    return st.lists(one, max_size=20).map(
        lambda found: [
            ToolResult(f"t{at}", r.text, r.is_error, r.images) for at, r in enumerate(found)
        ]
    )


@given(results(), st.sampled_from([500, 5000, 20_000]), st.sampled_from([0, 1500, 2600]))
def test_a_second_run_changes_nothing(
    found: Sequence[ToolResult], window: int, head_chars: int
) -> None:
    made = settings(soft_trim={"head_chars": head_chars}, min_prunable_tool_chars=20_000)
    strategy: Strategy = partial(decide, settings=made, window=window)
    messages = conversation(*found)
    once = apply(messages, strategy(messages))
    assert strategy(once) == {}
    assert [m.text for m in once] == [m.text for m in messages]
