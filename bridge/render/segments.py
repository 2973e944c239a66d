"""What a reply is made of, in the order in which it happened."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["running", "ok", "error", "denied"]
Progress = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True)
class Text:
    """What Claude said, in its own Markdown."""

    markdown: str


@dataclass(frozen=True)
class Tool:
    """One tool call.

    `agent` is the description of the subagent that made it, if one did, and `parent` the id of the
    call that the subagent is. `detail` is a word on an error. `output` is the beginning of what
    the tool answered. `progress` is what a subagent has done so far.
    """

    id: str
    name: str
    input: Mapping[str, object]
    state: State
    detail: str = ""
    agent: str = ""
    parent: str = ""
    output: str = ""
    progress: str = ""


@dataclass(frozen=True)
class Note:
    """A line of the bot itself; a `minor` one is not worth a quiet thread."""

    text: str
    minor: bool = False


@dataclass(frozen=True)
class Break:
    """A person was asked something here: what follows stands below that."""


@dataclass(frozen=True)
class Item:
    """One thing on Claude's own list of things to do."""

    text: str
    progress: Progress


@dataclass(frozen=True)
class Checklist:
    """The list as it is now."""

    items: tuple[Item, ...]


Segment = Text | Tool | Note | Checklist
Part = Segment | Break
