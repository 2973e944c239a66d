"""From scores to decisions: what stays whole, what loses its result, what goes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from compaction.jev.calls import ToolCall
from compaction.jev.errors import AnswerError, KeptNothingError
from compaction.jev.options import Options
from compaction.jev.stubs import saved_chars
from compaction.messages import Message

CallAction = Literal["keep", "drop_result", "drop_call"]
Reason = Literal[
    "pinned",
    "kept",
    "result_dropped",
    "call_dropped",
    "stub",
    "error",
    "not_shown",
    "narrated",
    "ranked",
]
"""The first four are the library's. `stub`: cut before; `error`: its result is one; `not_shown`:
the state had no room for the call; `narrated`: it would go, but words rest on it; `ranked`: kept
although below its threshold."""

MIN_JUDGED = 8
"""From how many asked calls on it is suspicious that hardly any of them is kept."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """How probably a call still matters, and its whole result; both in [0, 1]."""

    keep_call: float = 1.0
    keep_result: float = 1.0


@dataclass(frozen=True, slots=True)
class CallDecision:
    """What happens to a call, by which scores and why."""

    id: str
    tool: str
    keep_call: float
    keep_result: float
    action: CallAction
    reason: Reason


def decide_call(call: ToolCall, answer: CallAnswer, options: Options | None = None) -> CallDecision:
    """The decision about one call by thresholds: a score on its threshold keeps.

    Raises `AnswerError` for scores that are no probabilities.
    """
    options = options or Options()
    for score in (answer.keep_call, answer.keep_result):
        if not 0 <= score <= 1:
            raise AnswerError(f"no probability: {score}")
    if call.pinned:
        return _decision(call, answer, "keep", "pinned")
    if answer.keep_result >= options.result_threshold:
        return _decision(call, answer, "keep", "kept")
    if answer.keep_call >= options.call_threshold:
        return _decision(call, answer, "drop_result", "result_dropped")
    return _decision(call, answer, "drop_call", "call_dropped")


def decide_calls(
    messages: Sequence[Message],
    calls: Sequence[ToolCall],
    answers: Mapping[str, CallAnswer],
    options: Options,
    *,
    total_chars: int,
    unasked: Mapping[str, Reason],
) -> list[CallDecision]:
    """One decision for every call; those without an answer are kept.

    `unasked` says why where there is a reason of its own; `total_chars` is the size that a target
    is a share of. Raises `KeptNothingError` where the options ask for it.
    """
    judged = [call for call in calls if call.id in answers and not call.pinned]
    narrated = _narrated(messages, calls) if options.beyond.stub_narrated else frozenset[str]()
    if options.beyond.target_reduction is None:
        decided = {call.id: decide_call(call, answers[call.id], options) for call in judged}
        decided = _guarded(judged, answers, decided, options)
    else:
        chars = options.beyond.target_reduction * total_chars
        decided = _by_budget(judged, answers, chars, narrated, options.truncate_head_chars)
    return [
        _spared(decided[call.id], narrated) if call.id in decided else _whole(call, unasked)
        for call in calls
    ]


def _whole(call: ToolCall, unasked: Mapping[str, Reason]) -> CallDecision:
    reason: Reason = "pinned" if call.pinned else unasked.get(call.id, "kept")
    return _decision(call, CallAnswer(), "keep", reason)


def _spared(decision: CallDecision, narrated: frozenset[str]) -> CallDecision:
    if decision.action == "drop_call" and decision.id in narrated:
        return replace(decision, action="drop_result", reason="narrated")
    return decision


def _guarded(
    judged: Sequence[ToolCall],
    answers: Mapping[str, CallAnswer],
    decided: dict[str, CallDecision],
    options: Options,
) -> dict[str, CallDecision]:
    """The decisions, unless they keep too little: scores that low tell more of their scale than of
    the calls."""
    guard = options.beyond.guard
    if guard == "off" or len(judged) < MIN_JUDGED:
        return decided
    if guard == "throw":
        if not any(decision.action == "keep" for decision in decided.values()):
            raise KeptNothingError(f"none of {len(judged)} calls would be kept")
        return decided
    best = sorted(
        judged, key=lambda call: (answers[call.id].keep_result, call.call_index), reverse=True
    )
    floor = (decided[c.id] for c in best[: math.ceil(options.beyond.least_kept * len(judged))])
    return decided | {
        each.id: replace(each, action="keep", reason="ranked")
        for each in floor
        if each.action != "keep"
    }


def _by_budget(
    judged: Sequence[ToolCall],
    answers: Mapping[str, CallAnswer],
    chars: float,
    narrated: frozenset[str],
    head_chars: int,
) -> dict[str, CallDecision]:
    """Drops results, then whole calls, the worst score per character first, until `chars` go."""
    decided = {call.id: _decision(call, answers[call.id], "keep", "kept") for call in judged}
    savings = {
        call.id: saved_chars(
            call.result_chars, tool=call.tool, head_chars=head_chars, is_error=call.is_error
        )
        for call in judged
    }
    cuttable = [call for call in judged if savings[call.id] > 0]
    for call in sorted(cuttable, key=lambda c: _density(answers[c.id].keep_result, c)):
        if chars <= 0:
            return decided
        chars -= savings[call.id]
        decided[call.id] = _decision(call, answers[call.id], "drop_result", "result_dropped")
    removable = [call for call in judged if call.id not in narrated]
    for call in sorted(removable, key=lambda c: answers[c.id].keep_call):
        if chars <= 0:
            return decided
        chars -= call.result_chars - savings[call.id]
        decided[call.id] = _decision(call, answers[call.id], "drop_call", "call_dropped")
    return decided


def _density(score: float, call: ToolCall) -> tuple[float, int]:
    """What a call is worth for its size; of equals, the larger goes first."""
    return score / call.result_chars, -call.result_chars


def _narrated(messages: Sequence[Message], calls: Sequence[ToolCall]) -> frozenset[str]:
    """The ids of calls in whose turn the assistant says anything.

    Hosts may split a message into one for each block, so that the words need not stand beside the
    call; a turn lasts from a prompt to the next.
    """
    turns = list(_turns(messages))
    spoken = {
        turn
        for turn, message in zip(turns, messages, strict=True)
        if message.role == "assistant" and message.text.strip()
    }
    return frozenset(call.id for call in calls if turns[call.call_index] in spoken)


def _turns(messages: Sequence[Message]) -> Iterator[int]:
    turn = 0
    for message in messages:
        if message.role == "user" and message.text.strip() and not message.tool_results:
            turn += 1
        yield turn


def _decision(
    call: ToolCall, answer: CallAnswer, action: CallAction, reason: Reason
) -> CallDecision:
    return CallDecision(call.id, call.tool, answer.keep_call, answer.keep_result, action, reason)
