"""The whole step: pair, show, ask, decide, rebuild. It fails as a whole or not at all."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compaction.decisions import Decision, apply
from compaction.jev.apply import plan
from compaction.jev.asking import Asked, Sleep, ask_all
from compaction.jev.calls import ToolCall, collect_tool_calls
from compaction.jev.client import JevClient
from compaction.jev.decide import CallDecision, Reason, decide_calls
from compaction.jev.options import Options
from compaction.jev.questions import batch_calls, state_budget
from compaction.jev.state import fit_state
from compaction.jev.stubs import is_stub
from compaction.jev.wire import JevAsker, compact_json
from compaction.messages import Message

UNKNOWN_INPUT_CHARS = 20
"""The size of an input that has no JSON."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a compaction did; `state_stage` is empty where nothing was asked."""

    messages_before: int
    messages_after: int
    chars_before: int
    chars_after: int
    calls: int
    kept: int
    results_dropped: int
    calls_dropped: int
    pinned: int
    state_tokens: int
    state_stage: str
    requests: int
    retries: int
    failed_batches: int
    ms: float


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The shorter conversation, a decision for each call, and the same as a plan for a writer."""

    messages: list[Message]
    decisions: list[CallDecision]
    stats: Stats
    plan: Mapping[str, Decision]


async def compact_messages(
    messages: Sequence[Message], *, client: JevClient | None = None, **options: Any
) -> CompactResult:
    """Compacts with Jev itself; the keyword arguments are those of `Options`.

    A `client` of one's own sets key, model, address and deadline; it stays open.
    """
    settings = Options(**options)
    if client is not None:
        return await compact(messages, client, settings)
    async with JevClient() as own:
        return await compact(messages, own, settings)


async def compact(
    messages: Sequence[Message],
    asker: JevAsker,
    options: Options | None = None,
    *,
    sleep: Sleep = asyncio.sleep,
) -> CompactResult:
    """Compacts by the answers of an asker; raises without any output where one is missing."""
    began = time.perf_counter()
    options = options or Options()
    calls = collect_tool_calls(messages, options)
    unasked = _settled(messages, calls, options)
    candidates = [call for call in calls if not call.pinned and call.id not in unasked]
    asked, tokens, stage = Asked(), 0, ""
    if candidates:
        fitted = fit_state(messages, calls, options, max_tokens=state_budget(candidates, options))
        tokens, stage = fitted.tokens, fitted.stage
        unasked.update((c.id, "not_shown") for c in candidates if c.id not in fitted.shown)
        shown = [call for call in candidates if call.id in fitted.shown]
        batches = batch_calls(shown, fitted.tokens, options)
        asked = await ask_all(asker, fitted.state, batches, options, sleep=sleep)
    before = sum(map(message_chars, messages))
    decisions = decide_calls(
        messages, calls, asked.answers, options, total_chars=before, unasked=unasked
    )
    planned = plan(messages, calls, decisions, options)
    after = apply(messages, planned)
    count = [decision.action for decision in decisions].count
    stats = Stats(
        messages_before=len(messages),
        messages_after=len(after),
        chars_before=before,
        chars_after=sum(map(message_chars, after)),
        calls=len(calls),
        kept=count("keep"),
        results_dropped=count("drop_result"),
        calls_dropped=count("drop_call"),
        pinned=sum(call.pinned for call in calls),
        state_tokens=tokens,
        state_stage=stage,
        requests=asked.requests,
        retries=asked.retries,
        failed_batches=asked.failed_batches,
        ms=(time.perf_counter() - began) * 1000,
    )
    return CompactResult(after, decisions, stats, planned)


def reduction_ratio(result: CompactResult) -> float:
    """The share of characters that went, in [0, 1]; 0 for an empty conversation."""
    before, after = result.stats.chars_before, result.stats.chars_after
    return (before - after) / before if before else 0.0


def message_chars(message: Message) -> int:
    """The characters of a message: its text, its inputs as JSON, its results."""
    inputs = sum(_input_chars(use.input) for use in message.tool_uses)
    return len(message.text) + inputs + sum(len(result.text) for result in message.tool_results)


def _input_chars(value: Mapping[str, Any]) -> int:
    try:
        return len(compact_json(value))
    except (TypeError, ValueError, RecursionError):
        return UNKNOWN_INPUT_CHARS


def _settled(
    messages: Sequence[Message], calls: Sequence[ToolCall], options: Options
) -> dict[str, Reason]:
    """The calls about which there is nothing to ask, and why."""
    settled: dict[str, Reason] = {}
    if options.beyond.keep_errors:
        settled.update((call.id, "error") for call in calls if call.is_error)
    if options.beyond.skip_stubs:
        settled.update((call.id, "stub") for call in calls if is_stub(_result_text(messages, call)))
    return settled


def _result_text(messages: Sequence[Message], call: ToolCall) -> str:
    results = messages[call.result_index].tool_results
    return next(r.text for r in results if r.tool_use_id == call.tool_use_id)
