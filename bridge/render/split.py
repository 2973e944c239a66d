"""Lines become messages: each within the limit, each with its code blocks closed.

The splitter is greedy and looks no further than the line that overflows. Messages that are
already behind it therefore stay the same however long the reply still grows.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from bridge.render.inline import ZERO_WIDTH, atoms
from bridge.render.lines import SMALLEST_LIMIT, Frame, Line
from bridge.render.measure import fitting, units, visible, whole

_SENTENCE = re.compile(r"[.!?…][\"')\]*_]{0,4}\s+|[\u3002\uff01\uff1f]")
_SPACE = re.compile(r"\s+")
_LOOK_AHEAD = 500
_REPEATED_PREFIX = re.compile(r"> |-# ")
_MARKERS = re.compile(r"(?:\s*(?:>|-#|[-*]|#{1,3}|\d{1,9}[.)])\s+)*")


@dataclass(slots=True)
class _Page:
    """The message that is being filled; `began` is the frame it has to open again."""

    began: Frame | None = None
    lines: list[Line] = field(default_factory=list[Line])
    sizes: list[int] = field(default_factory=list[int])  # when it ended after that line
    opened: int = 0  # size so far without the closing of an open frame

    def push(self, line: Line) -> None:
        if line.frame is None and line.blank and self._ends_blank():
            return
        before = self.lines[-1].frame if self.lines else None
        self.opened += self._turn(before, line.frame) + units(line.text) + bool(self.lines)
        self.lines.append(line)
        self.sizes.append(self.opened + _closing(line.frame))

    def copy(self) -> "_Page":
        return _Page(self.began, self.lines.copy(), self.sizes.copy(), self.opened)

    @property
    def size(self) -> int:
        """UTF-16 units of the whole message."""
        return self.sizes[-1] if self.sizes else 0

    def _ends_blank(self) -> bool:
        last = self.lines[-1] if self.lines else None
        return last is None or (last.frame is None and last.blank)

    def _turn(self, before: Frame | None, after: Frame | None) -> int:
        """What it costs to go from one frame to the next: a closing and an opening."""
        if before is after:
            return 0
        opening = units(self.top(after)) + 1 if after else 0
        return _closing(before) + opening

    def top(self, frame: Frame) -> str:
        return frame.reopening if frame is self.began else frame.opening


def _closing(frame: Frame | None) -> int:
    """Units that the closing line takes; one is spare for a block that shows nothing else."""
    return units(frame.closing) + 2 if frame else 0


class Splitter:
    """Takes lines one by one; each message it has left behind is final."""

    def __init__(self, limit: int) -> None:
        if limit < SMALLEST_LIMIT:
            raise ValueError(f"a message needs room for {SMALLEST_LIMIT} characters, not {limit}")
        self._limit = limit
        self._messages: list[str] = []
        self._page = _Page()

    def copy(self) -> "Splitter":
        """An independent splitter that goes on from here."""
        other = Splitter(self._limit)
        other._messages = self._messages.copy()
        other._page = self._page.copy()
        return other

    def push(self, lines: Iterable[Line]) -> None:
        """Add lines to the end."""
        for line in lines:
            todo = [line]
            while todo:
                self._page.push(todo.pop())
                if self._page.size > self._limit:
                    text, self._page, rest = _turned(self._page, self._limit)
                    self._messages += [text] if visible(text) else []
                    todo += reversed(rest)

    def messages(self) -> list[str]:
        """All messages so far, none above the limit in UTF-16 units, none without content."""
        last = _assembled(self._page, self._page.lines)
        return [*self._messages, last] if visible(last) else self._messages.copy()


def _turned(page: _Page, limit: int) -> tuple[str, _Page, Sequence[Line]]:
    """The message that an overfull page makes, the next page, and the lines to put there."""
    index, cut = _place(page, limit)
    kept, rest = page.lines[:index], page.lines[index:]
    if cut:
        head, tail = _cut_line(rest[0], cut)
        kept, rest = [*kept, head], [tail]
    inner = kept[-1].frame
    return _assembled(page, kept), _Page(inner if rest[0].frame is inner else None), rest


def _place(page: _Page, limit: int) -> tuple[int, int]:
    """The best place to end the page: before line `index`, or within the last at `cut`.

    All lines but the last fit. Each step of the search accepts a worse kind of place, and
    only in the last part of the message, so that messages are neither ragged nor tiny.
    """
    full = len(page.lines) - 1
    edges = [i for i in range(1, full + 1) if not page.lines[i].glued]
    last = page.lines[-1]
    room = _room(page, limit)
    movable = _alone(last) <= limit

    def edge(least: float, *, paragraph: bool = False) -> int:
        for i in reversed(edges):
            if page.sizes[i - 1] < least * limit:
                break
            if not paragraph or _parts(page.lines[i - 1], page.lines[i]):
                return i
        return 0

    def inside(pattern: re.Pattern[str], least: float) -> int:
        return _cut_at(last, room, pattern, room - int(limit * (1 - least)))

    if index := edge(1 / 2, paragraph=True) or edge(2 / 3):
        return index, 0
    if cut := inside(_SENTENCE, 2 / 3):
        return full, cut
    if movable and (index := edge(1 / 3)):
        return index, 0
    if cut := inside(_SPACE, 1 / 2):
        return full, cut
    if movable and full:
        return edge(0) or full, 0
    if room > limit // 8 and (cut := _hard_cut(last.text, room)):
        return full, cut
    return full, 0


def _alone(line: Line) -> int:
    """UTF-16 units of a message that has this line only."""
    opening = units(line.frame.reopening) + 1 if line.frame else 0
    return opening + units(line.text) + _closing(line.frame)


def _parts(before: Line, after: Line) -> bool:
    """Whether a paragraph or a block ends between these two lines."""
    return before.frame is not after.frame or (
        before.frame is None and (before.blank or after.blank)
    )


def _room(page: _Page, limit: int) -> int:
    """UTF-16 units that the last line may have without the page overflowing."""
    return limit - (page.sizes[-1] - units(page.lines[-1].text))


def _cut_at(line: Line, room: int, pattern: re.Pattern[str], least: int) -> int:
    """The last end of `pattern` within `room`, at `least` or after, outside of every atom."""
    if room <= 0:
        return 0
    text = line.text
    end = fitting(text, room)
    markers = _MARKERS.match(text)  # a bullet alone at the end of a message helps nobody
    start = min(max(least, markers.end() if markers and not line.frame else 0), end)
    spans = atoms(text[: end + _LOOK_AHEAD])
    places = [found.end() for found in pattern.finditer(text, start, end)]
    return next((at for at in reversed(places) if at < len(text) and not _within(at, spans)), 0)


def _hard_cut(text: str, room: int) -> int:
    end = whole(text, fitting(text, room))
    for start, stop in atoms(text[: end + _LOOK_AHEAD]):
        if start < end < stop and start > end // 2:
            return start
    return end


def _within(index: int, spans: list[tuple[int, int]]) -> bool:
    return any(start < index < stop for start, stop in spans)


def _cut_line(line: Line, index: int) -> tuple[Line, Line]:
    prefix = _REPEATED_PREFIX.match(line.text) if line.frame is None else None
    again = prefix[0] if prefix and prefix.end() < index else ""
    return Line(line.text[:index], line.frame), Line(again + line.text[index:], line.frame)


def _assembled(page: _Page, lines: list[Line]) -> str:
    while lines and lines[-1].frame is None and lines[-1].blank:
        lines = lines[:-1]
    out: list[str] = []
    for _, group in groupby(lines, key=lambda line: id(line.frame)):
        out.extend(_framed(page, list(group)))
    return "\n".join(out).strip()


def _framed(page: _Page, lines: list[Line]) -> list[str]:
    frame = lines[0].frame
    texts = [line.text for line in lines]
    if not frame:
        return texts
    if not any(map(visible, texts)):
        texts[-1] += ZERO_WIDTH  # Discord would take the fences of an empty block for text
    return [page.top(frame), *texts, frame.closing]
