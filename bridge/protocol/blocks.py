"""Content blocks of messages, as the Messages API names them."""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Tag


def _objects(value: Any) -> list[dict[str, Any]]:
    """The JSON objects in a list; whatever else the list holds is not a block."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


class Frame(BaseModel):
    """Base of all that is read from the CLI: immutable, and blind to what it does not know."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class TextBlock(Frame):
    """Text for the person."""

    type: Literal["text"] = "text"
    text: str = ""


class ThinkingBlock(Frame):
    """Thinking; its text may be empty when it is redacted."""

    type: Literal["thinking"] = "thinking"
    thinking: str = ""


class ToolUseBlock(Frame):
    """A call of a tool."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: dict[str, Any] = {}


class ToolResultBlock(Frame):
    """What a tool answered; `content` is text or a list of blocks."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str | list[Any] | None = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """All text of the result, blocks joined by a newline."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(part["text"]) for part in _objects(self.content) if "text" in part)


class OtherBlock(Frame):
    """A block of a type that this version does not know."""

    type: str = ""


_KNOWN = ("text", "thinking", "tool_use", "tool_result")


def _kind(value: dict[str, Any]) -> str:
    kind = value.get("type")
    return kind if kind in _KNOWN else "other"


Block = Annotated[
    Annotated[TextBlock, Tag("text")]
    | Annotated[ThinkingBlock, Tag("thinking")]
    | Annotated[ToolUseBlock, Tag("tool_use")]
    | Annotated[ToolResultBlock, Tag("tool_result")]
    | Annotated[OtherBlock, Tag("other")],
    Discriminator(_kind),
]


def _as_blocks(value: Any) -> Any:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    items = cast("list[Any]", value) if isinstance(value, list) else []
    # One block for each item, so that an error names the place of the item itself.
    return [item if isinstance(item, dict) else {} for item in items]


Content = Annotated[tuple[Block, ...], BeforeValidator(_as_blocks)]
"""A message's content: a bare string is the same as one text block."""
