"""One reply of Claude as the contents of the thread's messages."""

from collections.abc import Iterator, Sequence

from bridge.render.blocks import blocks
from bridge.render.inline import escaped
from bridge.render.lines import Line
from bridge.render.secrets import mask
from bridge.render.segments import Note, Segment, Text, Tool
from bridge.render.split import split
from bridge.render.tools import tool_line

__all__ = ["Note", "Segment", "Text", "Tool", "render"]

MESSAGE_LIMIT = 2000


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
    return split(_lines(segments, footer, streaming=streaming, cwd=cwd), limit)


def _lines(
    segments: Sequence[Segment], footer: str, *, streaming: bool, cwd: str
) -> Iterator[Line]:
    before: Segment | None = None
    for index, segment in enumerate(segments):
        if isinstance(segment, Text) and not segment.markdown.strip():
            continue
        if before and (isinstance(before, Text) or isinstance(segment, Text)):
            yield Line("")
        before = segment
        match segment:
            case Text(markdown):
                growing = streaming and index == len(segments) - 1
                yield from blocks(clean(markdown), growing=growing)
            case Tool():
                yield Line(clean(tool_line(segment, cwd=cwd)))
            case Note(text):
                yield Line(f"-# {clean(escaped(text))}")
    if footer:
        yield Line(footer, glued=True)


def clean(text: str) -> str:
    """The text as UTF-8 can carry it, with plain line ends and without secrets."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return mask(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "␀"))
