"""What the models find in a recording, in words that do not differ from run to run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.narration import Narration
from bridge.protocol import (
    CancelRequest,
    CommandLifecycle,
    ControlReply,
    ControlRequest,
    Delta,
    Event,
    Malformed,
    Result,
    System,
    Unknown,
    parse,
)
from bridge.render import Note, Text, Tool
from bridge.render.segments import Part


@dataclass
class Turn:
    """One turn as a person sees it, and what its result says."""

    shown: list[str] = field(default_factory=list[str])
    error: str = ""
    interrupted: bool = False
    unknown_session: bool = False
    priced: bool = False
    windowed: bool = False
    model: str | None = None


@dataclass
class Facts:
    """A whole recording."""

    turns: list[Turn] = field(default_factory=list[Turn])
    lifecycles: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    void: int = 0
    replies: list[str] = field(default_factory=list[str])
    retries: int = 0
    compacted: list[bool] = field(default_factory=list[bool])
    streamed: bool = False
    not_understood: set[str] = field(default_factory=set[str])


def events(recorded: Sequence[dict[str, Any]]) -> list[Event]:
    """The recorded lines as the bot reads them."""
    return [parse(json.dumps(event).encode()) for event in recorded]


def facts(recorded: Sequence[dict[str, Any]]) -> Facts:
    """Read a recording as the bot does."""
    found, narration = Facts(), Narration()
    for event in events(recorded):
        narration.feed(event)
        match event:
            case Result():
                found.turns.append(_turn(event, narration))
                narration = Narration()
            case CommandLifecycle():
                found.lifecycles.append(event.state)
            case ControlRequest():
                asked = event.permission
                found.asked.append(asked.tool_name if asked else f"? {event.subtype}")
            case CancelRequest():
                found.void += 1
            case ControlReply():
                reply = event.response
                found.replies.append(reply.error_code or reply.subtype)
            case System():
                found.retries += event.subtype == "api_retry"
                if event.subtype == "compact_boundary":
                    found.compacted.append(
                        {"pre_tokens", "post_tokens"} <= {*event.compact_metadata}
                    )
            case Delta():
                found.streamed = True
            case Unknown() | Malformed():
                found.not_understood.add(repr(event))
            case _:
                pass
    return found


def _turn(result: Result, narration: Narration) -> Turn:
    return Turn(
        shown=[_words(segment) for segment in narration.segments],
        error=result.trouble,
        interrupted=result.interrupted,
        unknown_session=result.unknown_session,
        priced=result.total_cost_usd is not None,
        windowed=result.context_window is not None,
        model=narration.model,
    )


def _words(segment: Part) -> str:
    match segment:
        case Text():
            return segment.markdown
        case Note():
            return f"({segment.text})"
        case Tool():
            of = f" of {segment.agent}" if segment.agent else ""
            what = segment.input.get("command") or segment.input.get("description")
            return f"[{segment.name}{of}: {what}: {segment.state} {segment.detail}]"
        case _:
            return ""
