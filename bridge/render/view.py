"""What of a reply a thread wants to see: only words, one line for each call, or outputs, too."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bridge.render.checklist import TOOLS, Items, is_open, played
from bridge.render.segments import Break, Checklist, Item, Note, Part, Text, Tool
from bridge.render.tools import briefly, is_agent, tells_by_output

Verbosity = Literal["quiet", "normal", "full"]

_LONG = 400
_LONG_LINES = 5
_UNDISPUTED = ("running", "ok")


def _nothing() -> Mapping[str, Item]:
    return {}


@dataclass(frozen=True)
class View:
    """How a thread wants its replies; `items` is Claude's list as it was before this one."""

    verbosity: Verbosity = "normal"
    items: Items = field(default_factory=_nothing)

    def of(self, segments: Sequence[Part]) -> list[Part]:
        """The segments that are shown, each as it is to be shown."""
        if self.verbosity == "quiet":
            return [segment for segment in segments if _matters(segment)]
        full = self.verbosity == "full"
        shown = _with_list(_with_progress(segments, full=full), self.items)
        return [_as_shown(segment, full=full) for segment in shown]

    def after(self, segments: Sequence[Part]) -> dict[str, Item]:
        """Claude's list as it is behind these segments; nothing once all of it is done."""
        items = played(_list_calls(segments), self.items)
        return items if is_open(items) else {}

    def leaves_out(self, segments: Sequence[Part]) -> bool:
        """Whether there is more to read of the tools' outputs than is shown."""
        return self.verbosity != "quiet" and has_long_output(segments)


def has_long_output(segments: Iterable[Part]) -> bool:
    """Whether a tool said more than its line can tell."""
    return any(
        len(segment.output) > _LONG or segment.output.count("\n") >= _LONG_LINES
        for segment in segments
        if isinstance(segment, Tool) and not segment.parent and tells_by_output(segment.name)
    )


def _matters(segment: Part) -> bool:
    """Whether a quiet thread shows it: words and errors."""
    match segment:
        case Text() | Break():
            return True
        case Note():
            return not segment.minor
        case Tool():
            return segment.state == "error" and not segment.parent
        case Checklist():
            return False


def _as_shown(segment: Part, *, full: bool) -> Part:
    """A call without its output, unless all is shown and the output is what it was made for."""
    if not isinstance(segment, Tool) or (full and tells_by_output(segment.name)):
        return segment
    return replace(segment, output="")


def _with_progress(segments: Sequence[Part], *, full: bool) -> Iterator[Part]:
    """Subagents tell in their own line what they do; all of it is there only if `full`."""
    calls: dict[str, list[Tool]] = {}
    for segment in segments:
        if isinstance(segment, Tool) and segment.parent:
            calls.setdefault(segment.parent, []).append(segment)
    known = {segment.id for segment in segments if isinstance(segment, Tool)}
    for segment in segments:
        if isinstance(segment, Tool) and is_agent(segment.name) and segment.id in calls:
            yield replace(segment, progress=_progress(calls[segment.id]))
        elif full or not (isinstance(segment, Tool) and segment.parent in known):
            yield segment


def _progress(calls: Sequence[Tool]) -> str:
    """How many calls a subagent has made, and which one it makes now."""
    count = f"{len(calls)} call{'s' if len(calls) > 1 else ''}"
    now = next((call for call in reversed(calls) if call.state == "running"), None)
    return f"{count} · {briefly(now)}" if now else count


def _list_calls(segments: Iterable[Part]) -> list[Tool]:
    """The calls by which Claude keeps its own list; a subagent has one of its own."""
    return [
        segment
        for segment in segments
        if isinstance(segment, Tool) and segment.name in TOOLS and not segment.parent
    ]


def _with_list(segments: Iterable[Part], before: Items) -> Iterator[Part]:
    """One list takes the place of all calls that keep it, where the first of them stood."""
    segments = list(segments)
    calls = _list_calls(segments)
    items = tuple(played(calls, before).values())
    shown = False
    for segment in segments:
        keeps = isinstance(segment, Tool) and segment in calls and segment.state in _UNDISPUTED
        if not keeps or not items:
            yield segment
        elif not shown:
            shown = True
            yield Checklist(items)
