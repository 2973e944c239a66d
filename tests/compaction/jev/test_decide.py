"""Decisions: the thresholds of the library, and what strategies put in their place."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from compaction.jev import (
    AnswerError,
    Beyond,
    CallAnswer,
    CompactResult,
    KeptNothingError,
    Options,
    ToolCall,
    compact,
    decide_call,
    options_for,
    reduction_ratio,
    truncate_result,
)
from compaction.messages import Message
from tests.compaction.jev.conversations import Scripted, call, result, texts, user, work

OLD = ToolCall("t1", "a", "Read", {}, 1, 2, 100)
PINNED = ToolCall("t1", "a", "Read", {}, 1, 2, 100, pinned=True)


@pytest.mark.parametrize(
    ("keep_call", "keep_result", "action", "reason"),
    [
        (0.9, 0.9, "keep", "kept"),
        (0.1, 0.9, "keep", "kept"),
        (0.0, 0.5, "keep", "kept"),
        (0.9, 0.1, "drop_result", "result_dropped"),
        (0.5, 0.49, "drop_result", "result_dropped"),
        (0.49, 0.49, "drop_call", "call_dropped"),
        (0.0, 0.0, "drop_call", "call_dropped"),
    ],
)
def test_a_score_on_its_threshold_keeps(
    keep_call: float, keep_result: float, action: str, reason: str
) -> None:
    decision = decide_call(OLD, CallAnswer(keep_call, keep_result))
    assert (decision.action, decision.reason) == (action, reason)
    assert (decision.keep_call, decision.keep_result) == (keep_call, keep_result)
    assert (decision.id, decision.tool) == ("t1", "Read")


@pytest.mark.parametrize(("threshold", "score"), [(0.0, 0.0), (1.0, 1.0)])
def test_the_ends_of_the_scale_are_thresholds_too(threshold: float, score: float) -> None:
    options = Options(keep_threshold=threshold)
    assert decide_call(OLD, CallAnswer(score, score), options).action == "keep"


def test_a_pinned_call_stays_whatever_its_scores() -> None:
    decision = decide_call(PINNED, CallAnswer(0, 0))
    assert (decision.action, decision.reason) == ("keep", "pinned")


@pytest.mark.parametrize("score", [-1, 1.01, math.nan, math.inf, -math.inf])
def test_scores_that_are_no_probabilities_are_refused(score: float) -> None:
    with pytest.raises(AnswerError):
        decide_call(OLD, CallAnswer(score, 0.5))
    with pytest.raises(AnswerError):
        decide_call(OLD, CallAnswer(0.5, score))


def test_two_thresholds_judge_each_score_on_its_own_scale() -> None:
    options = Options(beyond=Beyond(call_threshold=0.1, result_threshold=0.3))
    assert decide_call(OLD, CallAnswer(0.0, 0.3), options).action == "keep"
    assert decide_call(OLD, CallAnswer(0.1, 0.29), options).action == "drop_result"
    assert decide_call(OLD, CallAnswer(0.09, 0.29), options).action == "drop_call"


async def run(
    messages: list[Message], score: float | Callable[[str], float], **beyond: Any
) -> tuple[CompactResult, Scripted]:
    asker = Scripted(score)
    options = Options(preserve_recent_messages=0, beyond=Beyond(**beyond))
    return await compact(messages, asker, options), asker


@pytest.mark.parametrize("target", [0.0, 0.2, 0.5, 0.75])
async def test_a_budget_is_met_and_hardly_exceeded(target: float) -> None:
    messages = work(40)
    done, _ = await run(messages, 0.01, target_reduction=target)
    assert target <= reduction_ratio(done) <= target + 2000 / done.stats.chars_before
    assert done.stats.calls_dropped == 0


async def test_a_budget_takes_the_worst_score_for_its_size_first() -> None:
    messages = [
        user("x"),
        *(call("small"), result("small", "s" * 500)),
        *(call("large"), result("large", "l" * 50_000)),
        user("y"),
    ]
    # Both score the same; the large one is worth less for each of its characters.
    done, _ = await run(messages, 0.4, target_reduction=0.5)
    assert [d.action for d in done.decisions] == ["keep", "drop_result"]
    scores = {"result_t1": 0.0, "result_t2": 0.4}
    done, _ = await run(messages, lambda key: scores.get(key, 0), target_reduction=0.001)
    assert [d.action for d in done.decisions] == ["drop_result", "keep"]


async def test_a_budget_beyond_all_results_takes_whole_calls_the_least_known_first() -> None:
    scores = {f"call_t{n}": n / 100 for n in range(1, 41)}
    done, _ = await run(work(40), lambda key: scores.get(key, 0), target_reduction=0.9)
    actions = [d.action for d in done.decisions]
    dropped = actions.count("drop_call")
    assert 0 < dropped < 40
    assert actions == ["drop_call"] * dropped + ["drop_result"] * (40 - dropped)


async def test_with_a_floor_the_best_quarter_stays_whatever_the_scale() -> None:
    scores = {"result_t3": 0.2, "result_t7": 0.21}
    done, _ = await run(work(8), lambda k: scores.get(k, 0.1), guard="floor")
    assert [d.id for d in done.decisions if d.action == "keep"] == ["t3", "t7"]
    assert {d.reason for d in done.decisions if d.action == "keep"} == {"ranked"}


async def test_a_floor_takes_nothing_from_what_thresholds_keep() -> None:
    scores = {"result_t3": 0.2, "result_t5": 0.5, "result_t6": 0.6, "result_t7": 0.7}
    done, _ = await run(work(8), lambda k: scores.get(k, 0.1), guard="floor")
    assert [d.id for d in done.decisions if d.reason == "kept"] == ["t5", "t6", "t7"]
    assert done.stats.kept == 3
    half, _ = await run(work(8), lambda k: scores.get(k, 0.1), guard="floor", least_kept=0.5)
    assert [d.id for d in half.decisions if d.reason == "ranked"] == ["t3"]


async def test_where_nothing_would_be_kept_the_guard_may_refuse() -> None:
    with pytest.raises(KeptNothingError, match="none of 8"):
        await run(work(8), 0.1, guard="throw")


async def test_the_guard_is_silent_for_few_calls_for_one_kept_and_by_default() -> None:
    few, _ = await run(work(7), 0.1, guard="throw")
    one, _ = await run(work(8), lambda k: float(k == "result_t1"), guard="throw")
    off, _ = await run(work(8), 0.1)
    assert [r.stats.kept for r in (few, one, off)] == [0, 1, 0]


async def test_errors_may_be_left_alone_and_are_not_asked_about() -> None:
    messages = work(3)
    messages[2] = result("u0", "Traceback\n" * 100, is_error=True)
    done, asker = await run(messages, 0.0, keep_errors=True)
    assert [d.reason for d in done.decisions] == ["error", "call_dropped", "call_dropped"]
    assert done.messages[:3] == messages[:3]
    ((_, questions),) = asker.asked
    assert "call_t1" not in questions


async def test_a_call_that_the_turn_speaks_of_keeps_a_stub() -> None:
    messages = [
        user("one"),
        Message("assistant", "I run the tests."),
        *(call("a", "Bash", command="pytest"), result("a", "x" * 900)),
        user("two"),
        *(call("b", "Bash", command="ls"), result("b", "y" * 900)),
        user("three"),
    ]
    done, _ = await run(messages, 0.0, stub_narrated=True)
    assert [(d.action, d.reason) for d in done.decisions] == [
        ("drop_result", "narrated"),
        ("drop_call", "call_dropped"),
    ]
    assert done.messages[3].tool_results[0].text == truncate_result(
        "x" * 900, tool="Bash", head_chars=0
    )
    assert done.messages[2].tool_uses == messages[2].tool_uses
    assert texts(done.messages) == texts(messages)


async def test_own_stubs_are_neither_asked_about_nor_touched_again() -> None:
    first, _ = await run(work(6), lambda k: float(k.startswith("call_")), skip_stubs=True)
    assert first.stats.results_dropped == 6
    again, asker = await run(first.messages, 0.0, skip_stubs=True)
    assert asker.asked == []
    assert again.messages == first.messages
    assert {d.reason for d in again.decisions} == {"stub"}


async def test_calls_that_the_state_has_no_room_for_are_not_asked_about_and_kept() -> None:
    asker = Scripted(0.0)
    options = options_for("needed", preserve_recent_messages=0, max_state_tokens=500)
    done = await compact(work(40), asker, options)
    hidden = [d for d in done.decisions if d.reason == "not_shown"]
    assert 0 < len(hidden) < 40
    assert {d.action for d in hidden} == {"keep"}
    keys = {key for _, questions in asker.asked for key in questions}
    assert len(keys) == 2 * (40 - len(hidden))
    assert not any(f"call_{d.id}" in keys for d in hidden)
