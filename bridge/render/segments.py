"""What a reply is made of, in the order in which it happened."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["running", "ok", "error", "denied"]


@dataclass(frozen=True)
class Text:
    """What Claude said, in its own Markdown."""

    markdown: str


@dataclass(frozen=True)
class Tool:
    """One tool call; `agent` is the description of the subagent that made it, if one did."""

    id: str
    name: str
    input: Mapping[str, object]
    state: State
    detail: str = ""
    agent: str = ""


@dataclass(frozen=True)
class Note:
    """A line of the bot itself."""

    text: str


@dataclass(frozen=True)
class Break:
    """A person was asked something here: what follows stands below that."""


Segment = Text | Tool | Note
Part = Segment | Break
