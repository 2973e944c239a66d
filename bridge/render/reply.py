"""One reply of Claude as the contents of the thread's messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.render.blocks import blocks
from bridge.render.checklist import checklist_lines
from bridge.render.inline import broken_fences, escaped
from bridge.render.lines import Line, fence
from bridge.render.measure import visible
from bridge.render.secrets import mask
from bridge.render.segments import Checklist, Note, Segment, Text, Tool
from bridge.render.split import Splitter
from bridge.render.tools import tool_block, tool_line

__all__ = ["MESSAGE_LIMIT", "Note", "Renderer", "Segment", "Text", "Tool", "clean", "render"]

MESSAGE_LIMIT = 2000
"""Characters that Discord takes from a bot in one message."""


def render(
    segments: Sequence[Segment],
    *,
    footer: str = "",
    limit: int = MESSAGE_LIMIT,
    streaming: bool = False,
    cwd: str = "",
) -> list[str]:
    """The messages that show these segments, none empty or above `limit` UTF-16 units.

    While the segments grow, all messages but the last two stay as they are. `footer` is one
    line of Discord Markdown for the end; `streaming` leaves the last text's unsettled end out;
    paths below `cwd` are shown relative to it. Secrets are masked.
    """
    renderer = Renderer(limit=limit, cwd=cwd)
    return renderer.render(segments, footer=footer, streaming=streaming)


@dataclass(frozen=True, slots=True)
class _Settled:
    """The part of a reply that growth no longer changes, and the splitter at its end."""

    segments: tuple[Segment, ...]
    text: str  # the beginning of the segment behind those
    splitter: Splitter


class Renderer:
    """Renders one growing reply again and again; what has settled is not read a second time.

    Its answers are those of `render`, also where the segments have not just grown.
    """

    def __init__(self, *, limit: int = MESSAGE_LIMIT, cwd: str = "") -> None:
        self._cwd = cwd
        self._fresh = _Settled((), "", Splitter(limit))
        self._settled = self._fresh

    def render(
        self, segments: Sequence[Segment], *, footer: str = "", streaming: bool = False
    ) -> list[str]:
        """The messages of these segments; see the function `render`."""
        shown = tuple(segment for segment in segments if _shows(segment))
        start = self._settled if _continues(shown, self._settled) else self._fresh
        splitter, known = start.splitter.copy(), start.text
        for index in range(len(start.segments), len(shown)):
            segment, last = shown[index], index == len(shown) - 1
            if last and not known:
                self._settled = _Settled(shown[:index], "", splitter.copy())
            if index and not known and _apart(shown[index - 1], segment):
                splitter.push([Line("")])
            if isinstance(segment, Text):
                rest = clean(segment.markdown)[len(known) :]
                if last:
                    read = _push_settled(splitter, rest)
                    known, rest = known + rest[:read], rest[read:]
                    self._settled = _Settled(shown[:index], known, splitter.copy())
                for block in blocks(rest, growing=last and streaming):
                    splitter.push(block.lines)
            else:
                splitter.push(_lines(segment, self._cwd))
            known = ""
        if footer:
            splitter.push([Line(footer, glued=True)])
        return splitter.messages()


def _shows(segment: Segment) -> bool:
    return not isinstance(segment, Text) or visible(segment.markdown)


def _apart(before: Segment, after: Segment) -> bool:
    """Whether a blank line stands between the two; lines of tools and notes stand together."""
    return isinstance(before, Text) or isinstance(after, Text)


def _continues(shown: tuple[Segment, ...], settled: _Settled) -> bool:
    count = len(settled.segments)
    if shown[:count] != settled.segments:
        return False
    if not settled.text:
        return True
    growing = shown[count] if count < len(shown) else None
    return isinstance(growing, Text) and clean(growing.markdown).startswith(settled.text)


def _lines(segment: Tool | Note | Checklist, cwd: str) -> list[Line]:
    match segment:
        case Note():
            return [Line(f"-# {clean(escaped(segment.text))}")]
        case Checklist():
            return [Line(clean(line)) for line in checklist_lines(segment.items)]
        case Tool():
            line = Line(clean(tool_line(segment, cwd=cwd)))
            language, text = tool_block(segment)
            frame = fence(language)
            below = broken_fences(clean(text)).split("\n") if visible(text) else []
            return [line, *(Line(part, frame, glued=True) for part in below)]


def _push_settled(splitter: Splitter, text: str) -> int:
    """Push the blocks of a growing text that have settled; how many characters they are."""
    read = list(blocks(text))
    complete = text.count("\n")
    count = max((i for i, b in enumerate(read, 1) if b.settled and b.end <= complete), default=0)
    for block in read[:count]:
        splitter.push(block.lines)
    return _behind(text, read[count - 1].end) if count else 0


def _behind(text: str, lines: int) -> int:
    """The index behind so many lines."""
    index = 0
    for _ in range(lines):
        index = text.index("\n", index) + 1
    return index


def clean(text: str) -> str:
    """The text as UTF-8 can carry it, with plain line ends and without secrets."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return mask(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "␀"))
