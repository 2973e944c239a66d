"""The calls of a conversation, each paired with its result: the only candidates for removal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compaction.jev.errors import HistoryError
from compaction.jev.options import Options
from compaction.messages import Message, ToolResult


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that has a result; `id` is short (`t1`, `t2`, ...) since every question repeats it."""

    id: str
    tool_use_id: str
    tool: str
    input: Mapping[str, Any]
    call_index: int
    result_index: int
    result_chars: int
    is_error: bool = False
    pinned: bool = False


def is_pinned(index: int, total: int, preserve_recent_messages: int) -> bool:
    """Whether a message is out of reach: the first one, and the newest."""
    return index == 0 or index >= total - preserve_recent_messages


def collect_tool_calls(
    messages: Sequence[Message], options: Options | None = None
) -> list[ToolCall]:
    """All calls with a result, in the order of the calls; calls and results alone are left out.

    Raises `HistoryError` where a pairing would be a guess: an id twice, a result before its call.
    """
    recent = (options or Options()).preserve_recent_messages
    total = len(messages)
    results = _results(messages)
    seen: set[str] = set()
    calls: list[ToolCall] = []
    for index, message in enumerate(messages):
        for use in message.tool_uses:
            if use.tool_use_id in seen:
                raise HistoryError(f"two calls have the id {use.tool_use_id}")
            seen.add(use.tool_use_id)
            if use.tool_use_id not in results:
                continue
            result_index, result = results[use.tool_use_id]
            if result_index < index:
                raise HistoryError(f"the result of {use.tool_use_id} stands before its call")
            calls.append(
                ToolCall(
                    id=f"t{len(calls) + 1}",
                    tool_use_id=use.tool_use_id,
                    tool=use.tool,
                    input=use.input,
                    call_index=index,
                    result_index=result_index,
                    result_chars=len(result.text),
                    is_error=result.is_error,
                    pinned=is_pinned(index, total, recent)
                    or is_pinned(result_index, total, recent),
                )
            )
    return calls


def _results(messages: Sequence[Message]) -> dict[str, tuple[int, ToolResult]]:
    found: dict[str, tuple[int, ToolResult]] = {}
    for index, message in enumerate(messages):
        for result in message.tool_results:
            if result.tool_use_id in found:
                raise HistoryError(f"two results have the id {result.tool_use_id}")
            found[result.tool_use_id] = index, result
    return found
