"""Applying decisions: exact texts, identities, and no result without its call."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.jev import (
    CallDecision,
    Options,
    apply_decisions,
    collect_tool_calls,
    is_stub,
    truncate_result,
)
from compaction.jev.decide import CallAction
from compaction.messages import Message, ToolResult, ToolUse
from tests.compaction.jev.conversations import call, result, texts, user

ACTIONS: list[CallAction] = ["keep", "drop_result", "drop_call"]
ANY: Options = Options(preserve_recent_messages=0)


def decided(*actions: CallAction) -> list[CallDecision]:
    return [
        CallDecision(f"t{n}", "Read", 0.1, 0.2, action, "kept")
        for n, action in enumerate(actions, 1)
    ]


def applied(
    messages: Sequence[Message], *actions: CallAction, options: Options = ANY
) -> list[Message]:
    calls = collect_tool_calls(messages, options)
    return apply_decisions(messages, calls, decided(*actions), options)


def test_one_pair_goes_one_result_is_cut_and_one_pair_stays() -> None:
    long = "x" * 2000
    messages = [
        user("Fix it."),
        *(call("a"), result("a", long)),
        *(call("b", "Bash", mirror=long, command="make"), result("b", long)),
        *(call("c"), result("c", long)),
        user("Go on."),
    ]
    after = applied(messages, "drop_call", "drop_result", "keep")
    cut = (
        f"{'x' * 300}\n[Bash: 1700 chars of this tool result removed; run the tool again if you "
        "need them]"
    )
    assert after == [
        messages[0],
        call("b", "Bash", mirror=cut, command="make"),
        result("b", cut),
        *messages[5:],
    ]
    kept = (after[0], *after[3:])
    assert all(a is b for a, b in zip(kept, (messages[0], *messages[5:]), strict=True))


def test_a_result_that_is_hardly_longer_than_its_head_keeps_its_message() -> None:
    messages = [user("x"), call("a"), result("a", "y" * 420), user("z")]
    assert all(
        new is old for new, old in zip(applied(messages, "drop_result"), messages, strict=True)
    )
    messages[2] = result("a", "y" * 421)
    assert applied(messages, "drop_result")[2].tool_results[0].text.endswith("need them]")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            50,
            f"{'e' * 50}\n[Bash: 950 chars of this tool result removed (error); run the tool again "
            "if you need them]",
        ),
        (
            0,
            "[Bash: 1000 chars of this tool result removed (error); run the tool again if you need "
            "them]",
        ),
    ],
)
def test_the_note_says_tool_size_and_outcome(head: int, expected: str) -> None:
    messages = [user("x"), call("a", "Bash"), result("a", "e" * 1000, is_error=True), user("z")]
    options = Options(preserve_recent_messages=0, truncate_head_chars=head)
    after = applied(messages, "drop_result", options=options)[2].tool_results[0]
    assert after == ToolResult("a", expected, is_error=True)


def test_a_message_with_words_or_another_call_outlives_its_dropped_call() -> None:
    two = Message("assistant", "", (ToolUse("b", "Read", {}), ToolUse("c", "Read", {})))
    both = Message("user", "", (), (ToolResult("b", "1"), ToolResult("c", "2")))
    messages = [user("x"), call("a", text="I look."), result("a", "1"), two, both]
    after = applied(messages, "drop_call", "drop_call", "keep")
    assert after == [
        user("x"),
        Message("assistant", "I look."),
        Message("assistant", "", (ToolUse("c", "Read", {}),)),
        Message("user", "", (), (ToolResult("c", "2"),)),
    ]


def test_a_touched_message_loses_its_handle_and_an_untouched_one_keeps_it() -> None:
    use = ToolUse("a", "Read", {})
    messages = [
        Message("user", "x", handle="h0"),
        Message("assistant", "words", (use,), handle="h1"),
        result("a", "r"),
    ]
    assert [m.handle for m in applied(messages, "drop_call")] == ["h0", None]


def test_calls_and_results_alone_are_left_as_they_are() -> None:
    messages = [user("x"), call("pending"), result("orphan", "y" * 999), user("z")]
    assert applied(messages, "drop_call") == messages


def test_a_decision_cannot_reach_a_pinned_call() -> None:
    messages = [user("x"), call("a"), result("a", "y" * 999), user("z")]
    assert applied(messages, "drop_call", options=Options()) == messages


def test_every_surviving_result_has_its_call() -> None:
    messages = [user("x")]
    for number in range(24):
        messages += [call(f"u{number}"), result(f"u{number}", "r" * 1000)]
    actions: list[CallAction] = ["keep" if n % 3 == 0 else "drop_call" for n in range(24)]
    after = applied(messages, *actions)
    uses = [u.tool_use_id for m in after for u in m.tool_uses]
    assert uses == [r.tool_use_id for m in after for r in m.tool_results]
    assert uses == [f"u{n}" for n in range(0, 24, 3)]


PARTS = st.lists(
    st.tuples(
        st.text(max_size=20),
        st.integers(0, 3),
        st.integers(0, 900),
        st.sampled_from(ACTIONS),
    ),
    max_size=10,
)


@given(PARTS)
def test_words_stay_pairs_stay_and_the_input_is_never_changed(
    parts: list[tuple[str, int, int, CallAction]],
) -> None:
    messages: list[Message] = [user("start")]
    actions: list[CallAction] = []
    for number, (text, uses, chars, action) in enumerate(parts):
        ids = [f"u{number}-{n}" for n in range(uses)]
        messages.append(Message("assistant", text, tuple(ToolUse(i, "Read", {}) for i in ids)))
        messages.append(Message("user", "", (), tuple(ToolResult(i, "r" * chars) for i in ids)))
        actions.extend(action for _ in ids)
    before = list(messages)
    after = applied(messages, *actions)
    assert messages == before
    # A blank text is no word: a message that is left with nothing else may go.
    assert [t for t in texts(after) if t.strip()] == [t for t in texts(messages) if t.strip()]
    uses = [u.tool_use_id for m in after for u in m.tool_uses]
    assert uses == [r.tool_use_id for m in after for r in m.tool_results]
    keep: list[CallAction] = ["keep" for _ in uses]
    assert applied(after, *keep) == after


@given(st.text(max_size=600), st.text(max_size=30), st.integers(0, 100), st.booleans())
def test_a_cut_result_is_known_as_a_stub_and_is_not_cut_again(
    text: str, tool: str, head: int, is_error: bool
) -> None:
    cut = truncate_result(text, tool=tool, head_chars=head, is_error=is_error)
    if cut != text:
        assert is_stub(cut)
        assert cut.startswith(text[:head])


@pytest.mark.parametrize(
    ("text", "stub"),
    [
        ("[Old tool result content cleared]", True),
        ("<persisted-output>\nOutput too large\n</persisted-output>", True),
        (
            "a\n...\nb\n\n[Tool result trimmed: kept first 1 chars and last 1 chars of 9 chars.]",
            True,
        ),
        ("", False),
        ("the log says [Old tool result content cleared]", False),
        ("x [Read: 5 chars of this tool result removed; see above] and more", False),
    ],
)
def test_stubs_of_the_package_and_of_the_cli_are_known(text: str, stub: bool) -> None:
    assert is_stub(text) is stub
