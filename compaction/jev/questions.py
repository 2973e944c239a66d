"""What is asked about each call, and how the questions are spread over requests."""

from collections.abc import Sequence
from typing import Any

from compaction.estimate import tokens
from compaction.jev.calls import ToolCall
from compaction.jev.errors import TooLargeError
from compaction.jev.options import Options, Wording
from compaction.jev.wire import Questions, compact_json

REQUEST_OVERHEAD = 20
"""Tokens set aside for what surrounds state and questions in a request."""


def call_key(call: ToolCall) -> str:
    """The key of the question whether the call itself still matters."""
    return f"call_{call.id}"


def result_key(call: ToolCall) -> str:
    """The key of the question whether its result must stay whole."""
    return f"result_{call.id}"


def questions_about(call: ToolCall, wording: Wording = "verbatim") -> dict[str, dict[str, Any]]:
    """The pair of yes/no questions about one call.

    The library asks of a result whether it is needed AND cannot be had again, which is false of
    nearly everything that can be read twice. `needed` asks for the need alone, and says what counts
    as one.
    """
    which = f"{call.id} ({call.tool})"
    about_call = {
        "type": "noul",
        "instructions": f"Does it still matter for the next steps to know that tool call {which} "
        "was made with this input?",
    }
    if wording == "verbatim":
        return {
            call_key(call): about_call,
            result_key(call): {
                "type": "noul",
                "instructions": f"Must the full output of {which}, {call.result_chars} chars, stay "
                "in view word for word, because its content is still needed and running the tool "
                "again would not do?",
            },
        }
    return {
        call_key(call): about_call,
        result_key(call): {
            "type": "noul",
            "instructions": f"Will the content of the output of {which}, {call.result_chars} "
            "chars, be used again in the work that remains?",
            "criteria": {
                "true": "Later steps need names, lines or values that stand in this output.",
                "false": "It was superseded, only confirmed something, or is about finished work.",
            },
        },
    }


def pair_cost(call: ToolCall, options: Options) -> int:
    """The estimated tokens of the questions about one call."""
    return tokens(compact_json(questions_about(call, options.beyond.wording)))


def state_budget(calls: Sequence[ToolCall], options: Options) -> int:
    """How large a state may be, so that each of the calls can still be asked about.

    Raises `TooLargeError` where that leaves no state at all.
    """
    largest = max((pair_cost(call, options) for call in calls), default=0)
    budget = min(options.max_state_tokens, options.max_request_tokens - REQUEST_OVERHEAD - largest)
    if budget < 1:
        raise TooLargeError(
            f"{options.max_request_tokens} tokens a request leave no room for a state"
        )
    return budget


def batch_calls(
    calls: Sequence[ToolCall], state_tokens: int, options: Options | None = None
) -> list[list[ToolCall]]:
    """The calls in their order, as many in each batch as one request holds beside the state.

    Raises `TooLargeError` where a single call does not fit.
    """
    options = options or Options()
    budget = options.max_request_tokens - state_tokens - REQUEST_OVERHEAD
    batches: list[list[ToolCall]] = []
    used = 0
    for call in calls:
        cost = pair_cost(call, options)
        if cost > budget:
            raise TooLargeError(f"the state leaves no room for the questions about {call.id}")
        if not batches or used + cost > budget:
            batches.append([])
            used = 0
        batches[-1].append(call)
        used += cost
    return batches


def questions_of(batch: Sequence[ToolCall], options: Options) -> Questions:
    """All questions of one request."""
    return {
        key: question
        for call in batch
        for key, question in questions_about(call, options.beyond.wording).items()
    }
