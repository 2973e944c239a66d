"""The request of the Messages API, as far as the scripted model reads it; the rest is tolerated."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Lenient(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Source(Lenient):
    """Where an image comes from; `data` is base64."""

    type: str
    media_type: str | None = None
    data: str | None = None


class ContentBlock(Lenient):
    """A content block of any type; which fields it must have is a matter of `rules`."""

    type: str
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: "str | list[ContentBlock] | dict[str, Any] | None" = None
    source: Source | None = None
    cache_control: dict[str, Any] | None = None


class Message(Lenient):
    role: Literal["user", "assistant", "system"]
    content: str | list[ContentBlock]

    @property
    def blocks(self) -> list[ContentBlock]:
        if isinstance(self.content, str):
            return [ContentBlock(type="text", text=self.content)]
        return self.content


class ToolDefinition(Lenient):
    name: str
    cache_control: dict[str, Any] | None = None


class ThinkingMode(Lenient):
    type: str


class MessagesRequest(Lenient):
    model: str = Field(min_length=1)
    messages: list[Message] = Field(min_length=1)
    system: str | list[ContentBlock] | None = None
    tools: list[ToolDefinition] = []
    thinking: ThinkingMode | None = None
    metadata: dict[str, Any] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    stream: bool = False

    @property
    def thinks(self) -> bool:
        return self.thinking is not None and self.thinking.type != "disabled"

    @property
    def session(self) -> str | None:
        """The CLI's session id, which it sends inside `metadata.user_id`."""
        try:
            found = json.loads((self.metadata or {}).get("user_id", ""))["session_id"]
        except (ValueError, KeyError, TypeError):
            return None
        return str(found)


def first_complaint(error: ValidationError) -> str:
    """Pydantic's first finding the way the API words it: `messages.0.role: Field required`."""
    finding = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, finding['loc']))}: {finding['msg']}"
