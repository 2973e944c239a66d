"""What a script is made of, and how its turns become the model's messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Text:
    """Words of the answer, streamed over `seconds`."""

    text: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Thinking:
    """A signed thinking block, streamed over `seconds`; left out where no thinking is asked for."""

    text: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Tool:
    """A tool call that the CLI really runs."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Error:
    """The message fails: `kind` is a key of `faults.FAULTS`; after `times` failures it succeeds."""

    kind: str | int
    times: int | None = None


@dataclass(frozen=True)
class Hang:
    """The connection stays open and nothing more comes."""


Block: TypeAlias = Text | Thinking | Tool | Error | Hang
Turn: TypeAlias = Block | tuple[Block, ...]
"""One step of a script; a tuple keeps its blocks in one message (so: parallel tool calls)."""

Message: TypeAlias = tuple[Block, ...]


def compose(turns: Sequence[Turn], failed: int = 0) -> list[Message]:
    """Fold turns into the model's messages: a tool call or an error ends its message.

    After a break in mid-stream the CLI asks for the rest, so that this is a message of its own.
    `failed` is how often this very request has failed before; an error that is used up falls out.
    """
    return list(_messages(turns, failed))


def _messages(turns: Sequence[Turn], failed: int) -> Iterator[Message]:
    message: list[Block] = []
    for turn in turns:
        blocks = turn if isinstance(turn, tuple) else (turn,)
        kept = [block for block in blocks if not _used_up(block, failed)]
        message += kept
        if any(isinstance(block, Tool | Error) for block in kept):
            yield tuple(message)
            message = []
    if message:
        yield tuple(message)


def _used_up(block: Block, failed: int) -> bool:
    return isinstance(block, Error) and block.times is not None and failed >= block.times
