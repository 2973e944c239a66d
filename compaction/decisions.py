"""What a strategy decides about each call, and what becomes of the messages then."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from compaction.messages import Message, ToolResult, ToolUse

Action = Literal["keep", "trim", "stub", "drop_result", "drop_call", "trim_input"]

CLEARED = "[Old tool result content cleared]"
"""What stands for a removed result when a decision names no text; the CLI writes the same."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one call and its result, and why.

    `text` is the new text of the result (`trim`, `stub`, `drop_result`); without one a `stub` and a
    `drop_result` leave `CLEARED`, and any other action leaves the result as it is. `input` replaces
    values of the call's input: strings only, only by shorter ones, and no key is removed.
    """

    tool_use_id: str
    action: Action
    reason: str
    text: str | None = None
    input: Mapping[str, Any] | None = None


Strategy = Callable[[Sequence[Message]], Mapping[str, Decision]]
"""A pure function; calls that it does not name are kept."""


def new_text(decision: Decision) -> str | None:
    """The text that a decision puts in place of a result; None = the result stays as it is."""
    if decision.action in ("stub", "drop_result"):
        return CLEARED if decision.text is None else decision.text
    return None if decision.action in ("keep", "drop_call") else decision.text


def new_input(decision: Decision, old: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input after a decision: `old` itself where nothing changes."""
    if decision.action != "trim_input" or decision.input is None:
        return old
    merged = {key: decision.input.get(key, value) for key, value in old.items()}
    return old if merged == old else merged


def apply(messages: Sequence[Message], decisions: Mapping[str, Decision]) -> list[Message]:
    """The messages after the decisions; those that nothing touches are the same objects.

    A message of which nothing is left is removed. A copy has no handle: it is no longer the host's.
    """
    out: list[Message] = []
    for message in messages:
        changed = _apply_one(message, decisions)
        if changed is message or changed.text.strip() or changed.tool_uses or changed.tool_results:
            out.append(changed)
    return out


def _apply_one(message: Message, decisions: Mapping[str, Decision]) -> Message:
    uses = tuple(
        after for use in message.tool_uses if (after := _use(use, decisions.get(use.tool_use_id)))
    )
    results = tuple(
        after
        for result in message.tool_results
        if (after := _result(result, decisions.get(result.tool_use_id)))
    )
    if uses == message.tool_uses and results == message.tool_results:
        return message
    return replace(message, tool_uses=uses, tool_results=results, handle=None)


def _use(use: ToolUse, decision: Decision | None) -> ToolUse | None:
    if decision is None or decision.action == "keep":
        return use
    if decision.action == "drop_call":
        return None
    text = new_text(decision)
    mirror = text if use.text is not None and text is not None else use.text
    return replace(use, input=new_input(decision, use.input), text=mirror)


def _result(result: ToolResult, decision: Decision | None) -> ToolResult | None:
    if decision is None or decision.action == "keep":
        return result
    if decision.action == "drop_call":
        return None
    text = new_text(decision)
    return result if text is None else replace(result, text=text, images=0)
