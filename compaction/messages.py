"""The conversation as every strategy sees it: one message per API message, calls and results.

The dictionaries of `from_json` and `to_json` have the shape that fast-jev-compaction made common:
`{role, text, toolUses: [{tool_use_id, tool, input}], toolResults: [{tool_use_id, text, isError}]}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool; `text` mirrors its outcome where a host attaches it."""

    tool_use_id: str
    tool: str
    input: Mapping[str, Any]
    text: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave back: its text blocks joined by newlines, and how many images came along."""

    tool_use_id: str
    text: str
    is_error: bool = False
    images: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """All that one API message says; `handle` is the host's own object for it, opaque to us."""

    role: Role
    text: str
    tool_uses: tuple[ToolUse, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    handle: object = None


def from_json(data: Mapping[str, Any]) -> Message:
    """The message of a dictionary; raises `ValueError` where the dictionary has no such shape."""
    try:
        role = data["role"]
        if role not in ("user", "assistant"):
            raise ValueError(f"no role of a conversation: {role!r}")
        return Message(
            role=role,
            text=str(data.get("text") or ""),
            tool_uses=tuple(_use(use) for use in data.get("toolUses") or ()),
            tool_results=tuple(_result(result) for result in data.get("toolResults") or ()),
            handle=data.get("handle"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a message: {error!r}") from error


def to_json(message: Message) -> dict[str, Any]:
    """The dictionary of a message; empty results, false flags and absent handles are left out."""
    data: dict[str, Any] = {"role": message.role, "text": message.text}
    data["toolUses"] = [_use_json(use) for use in message.tool_uses]
    if message.tool_results:
        data["toolResults"] = [_result_json(result) for result in message.tool_results]
    if message.handle is not None:
        data["handle"] = message.handle
    return data


def _use(data: Mapping[str, Any]) -> ToolUse:
    text = data.get("text")
    return ToolUse(
        tool_use_id=data["tool_use_id"],
        tool=data["tool"],
        input=data.get("input") or {},
        text=None if text is None else str(text),
        is_error=bool(data.get("isError")),
    )


def _result(data: Mapping[str, Any]) -> ToolResult:
    return ToolResult(
        tool_use_id=data["tool_use_id"],
        text=str(data.get("text") or ""),
        is_error=bool(data.get("isError")),
        images=int(data.get("images") or 0),
    )


def _use_json(use: ToolUse) -> dict[str, Any]:
    data: dict[str, Any] = {
        "tool_use_id": use.tool_use_id,
        "tool": use.tool,
        "input": dict(use.input),
    }
    if use.text is not None:
        data["text"] = use.text
    if use.is_error:
        data["isError"] = True
    return data


def _result_json(result: ToolResult) -> dict[str, Any]:
    data: dict[str, Any] = {"tool_use_id": result.tool_use_id, "text": result.text}
    if result.is_error:
        data["isError"] = True
    if result.images:
        data["images"] = result.images
    return data
