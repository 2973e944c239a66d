"""Pairing: which calls are candidates, which are pinned, what is no conversation at all."""

import pytest

from compaction.jev import HistoryError, Options, collect_tool_calls, compact
from compaction.messages import Message
from tests.compaction.jev.conversations import Scripted, call, result, user

THREE = [
    user("Fix it."),
    call("a", file_path="x.py"),
    result("a", "12345"),
    call("b", "Bash", command="pytest"),
    result("b", "boom", is_error=True),
    call("c"),
    result("c", ""),
    user("Go on."),
]


def test_pairs_are_numbered_in_order_and_carry_their_places() -> None:
    calls = collect_tool_calls(THREE, Options(preserve_recent_messages=3))
    assert [(c.id, c.tool_use_id, c.tool) for c in calls] == [
        ("t1", "a", "Read"),
        ("t2", "b", "Bash"),
        ("t3", "c", "Read"),
    ]
    assert [(c.call_index, c.result_index) for c in calls] == [(1, 2), (3, 4), (5, 6)]
    assert [c.pinned for c in calls] == [False, False, True]
    assert [(c.result_chars, c.is_error) for c in calls] == [(5, False), (4, True), (0, False)]
    assert calls[0].input == {"file_path": "x.py"}


def test_a_pair_is_pinned_if_only_its_result_is_recent() -> None:
    calls = collect_tool_calls(THREE, Options(preserve_recent_messages=2))
    assert [c.pinned for c in calls] == [False, False, True]


def test_the_first_message_is_pinned_even_if_nothing_recent_is() -> None:
    calls = collect_tool_calls(THREE[1:], Options(preserve_recent_messages=0))
    assert [c.pinned for c in calls] == [True, False, False]


def test_calls_and_results_alone_are_neither_candidates_nor_numbered() -> None:
    messages = [user("x"), call("pending"), result("orphan", "y"), *THREE[1:3]]
    assert [(c.id, c.tool_use_id) for c in collect_tool_calls(messages)] == [("t1", "a")]


@pytest.mark.parametrize(
    "messages",
    [
        [user("x"), call("a"), result("a", "1"), call("a"), user("y")],
        [user("x"), call("a"), result("a", "1"), result("a", "2")],
        [user("x"), result("a", "1"), call("a")],
        [user("x"), call("pending"), call("pending")],
    ],
    ids=["two calls", "two results", "result before call", "two pending calls"],
)
async def test_a_pairing_that_would_be_a_guess_is_refused_before_any_request(
    messages: list[Message],
) -> None:
    asker = Scripted()
    with pytest.raises(HistoryError):
        await compact(messages, asker)
    assert asker.asked == []
