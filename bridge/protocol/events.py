"""Events that the CLI prints, one JSON object a line."""

from typing import Any, cast

from pydantic import AliasChoices, Field, ValidationError
from pydantic_core import from_json

from bridge.protocol.blocks import Content, Frame
from bridge.protocol.control import CancelRequest, ControlReply, ControlRequest


class ApiUsage(Frame):
    """Token counts of one API call."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0

    @property
    def context_tokens(self) -> int:
        """How much of the window the call filled, its answer included."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return self.input_tokens + cached + self.output_tokens


class Message(Frame):
    """An API message; the CLI prints one content block of it per event."""

    id: str = ""
    model: str = ""
    content: Content = ()
    usage: ApiUsage | None = None


class BackgroundTask(Frame):
    """Something that goes on beside the turns of a process, such as a command in the background."""

    description: str = ""


class System(Frame):
    """`system/...`: state of the process, of compaction, of retries and of background tasks."""

    subtype: str = ""
    session_id: str = ""
    model: str | None = None
    cwd: str | None = None
    permission_mode: str | None = Field(default=None, alias="permissionMode")
    version: str | None = Field(default=None, alias="claude_code_version")
    status: str | None = None
    user_message_uuids: tuple[str, ...] = ()
    compact_result: str | None = None
    compact_error: str | None = None
    compact_metadata: dict[str, Any] = Field(default_factory=dict)
    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0
    error_status: int | None = None
    tasks: tuple[BackgroundTask, ...] = ()
    tool_use_id: str | None = None
    summary: str = ""
    """Of a task that has ended: what it came to."""


class Delta(Frame):
    """`stream_event`: a raw event of the Messages API, the source of live text."""

    event: dict[str, Any] = Field(default_factory=dict)
    parent_tool_use_id: str | None = None
    api_message_id: str = ""


class Assistant(Frame):
    """One finished content block of an assistant message."""

    message: Message = Message()
    parent_tool_use_id: str | None = None
    uuid: str = ""
    error: str | None = None
    api_error: bool = Field(
        default=False, validation_alias=AliasChoices("is_api_error_message", "isApiErrorMessage")
    )
    """The text is that of a failed API call, in the stream's spelling or in the transcript's."""

    @property
    def synthetic(self) -> bool:
        """The CLI itself speaks: no model was asked, and nothing was used."""
        return self.message.model == "<synthetic>"


class ToolResults(Frame):
    """`user`: tool results, an interruption, or a replayed prompt."""

    message: Message = Message()
    parent_tool_use_id: str | None = None
    uuid: str = ""
    replay: bool = Field(default=False, alias="isReplay")


class ModelUsage(Frame):
    """What one model used over the life of the process."""

    context_window: int | None = Field(default=None, alias="contextWindow")


class Result(Frame):
    """The end of a turn: `is_error` decides, not `subtype`; a failure carries `errors` instead."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: tuple[str, ...] = ()
    session_id: str = ""
    num_turns: int = 0
    duration_ms: float = 0
    total_cost_usd: float | None = None
    usage: ApiUsage | None = None
    model_usage: dict[str, ModelUsage] = Field(default={}, alias="modelUsage")
    terminal_reason: str | None = None
    api_error_status: int | None = None

    @property
    def interrupted(self) -> bool:
        """The turn was stopped by an interrupt, not by a fault."""
        return (self.terminal_reason or "").startswith("aborted")

    @property
    def unknown_session(self) -> bool:
        """The CLI says that the session to resume does not exist."""
        return any("No conversation found" in error for error in self.errors)

    @property
    def trouble(self) -> str:
        """The CLI's own words for what went wrong; empty when nothing did."""
        return "\n".join(self.errors) or (self.result or "") if self.is_error else ""

    @property
    def context_window(self) -> int | None:
        """Window of the main model in tokens: the largest that took part."""
        return max((u.context_window or 0 for u in self.model_usage.values()), default=0) or None


class CommandLifecycle(Frame):
    """How far the CLI is with one prompt: queued, started, completed."""

    command_uuid: str = ""
    state: str = ""


class Unknown(Frame):
    """An event of a type, or of a shape, that this version does not know."""

    type: str = ""


class Malformed(Frame):
    """A line that is not a JSON object; its start is kept for the log."""

    head: str


Event = (
    System
    | Delta
    | Assistant
    | ToolResults
    | Result
    | CommandLifecycle
    | ControlRequest
    | ControlReply
    | CancelRequest
    | Unknown
    | Malformed
)

_TYPES: dict[str, type[Frame]] = {
    "system": System,
    "stream_event": Delta,
    "assistant": Assistant,
    "user": ToolResults,
    "result": Result,
    "command_lifecycle": CommandLifecycle,
    "control_request": ControlRequest,
    "control_response": ControlReply,
    "control_cancel_request": CancelRequest,
}


def parse(line: bytes) -> Event:
    """Read one line of the CLI's output; never raises, whatever the line holds."""
    try:
        data = from_json(line)
    except ValueError:
        return Malformed(head=line[:200].decode(errors="replace"))
    if not isinstance(data, dict):
        return Malformed(head=line[:200].decode(errors="replace"))
    return parse_object(cast("dict[str, Any]", data))


def parse_object(data: dict[str, Any]) -> Event:
    """Read an object that has an event's shape; transcript records of both roles have it too."""
    kind = str(data.get("type", ""))
    model = _TYPES.get(kind)
    if model is None:
        return Unknown(type=kind)
    # A field that changed its shape must not cost the event: a result without its price still ends
    # the turn, and a text without its token counts is still a text. What is odd is taken out, as
    # little as possible, until the rest is sound.
    while True:
        try:
            return cast("Event", model.model_validate(data))
        except ValidationError as fault:
            smaller = _without(data, fault.errors(include_url=False)[0]["loc"])
        if smaller is None:
            return Unknown(type=kind)
        data = smaller


def _without(data: Any, place: tuple[int | str, ...]) -> Any:
    """A copy without the entry at `place`, or without the last part of the way that is there.

    None if nothing of the way is there. A place may name more than keys: the kind of a block, say.
    """
    if not place:
        return None
    head, rest = place[0], place[1:]
    if isinstance(data, dict) and head in data:
        entries = cast("dict[Any, Any]", data)
        inner = _without(entries[head], rest)
        kept = {key: value for key, value in entries.items() if key != head}
        return kept if inner is None else {**entries, head: inner}
    if isinstance(data, list) and isinstance(head, int) and head < len(cast("list[Any]", data)):
        items = cast("list[Any]", data)
        inner = _without(items[head], rest)
        return [*items[:head], *([] if inner is None else [inner]), *items[head + 1 :]]
    return None
