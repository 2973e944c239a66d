"""GitHub tables for a screen that knows none: aligned columns, or a list where too wide.

The columns are measured on the first rows only and then stay, so that what a growing table
already shows does not move. A row that does not fit begins a new block with new columns.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge.render.inline import broken_fences, inline, unmarked
from bridge.render.lines import Frame, Line, fence
from bridge.render.measure import width

_WIDEST = 60
"""Columns of a monospaced line that a phone shows without breaking it."""

_MEASURED_ROWS = 20
_GAP = "  "
_DELIMITER = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?|\s*\|(\s*:?-+:?\s*)")
_PIPE = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as Markdown; each row has at least as many as the header."""

    header: tuple[str, ...]
    aligns: tuple[str, ...]  # "<", ">" or "^" for each column
    rows: tuple[tuple[str, ...], ...]


def is_delimiter(line: str) -> bool:
    """Whether the line can be the second of a table."""
    return "|" in line and "-" in line and _DELIMITER.fullmatch(line) is not None


def cells(line: str) -> tuple[str, ...]:
    """The cells of one row; an escaped pipe belongs to its cell."""
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in _PIPE.split(inner))


def starts_table(header: str, delimiter: str) -> bool:
    """Whether two lines that follow each other are the head of a table."""
    return "|" in header and is_delimiter(delimiter) and len(cells(header)) == len(cells(delimiter))


def parse(header: str, delimiter: str, rows: Sequence[str]) -> Table:
    """The table of these source lines, which `starts_table` accepted."""
    names = cells(header)
    aligns = tuple(_align(cell) for cell in cells(delimiter))
    return Table(names, aligns, tuple(_padded(cells(row), len(names)) for row in rows))


def _align(cell: str) -> str:
    return {(True, True): "^", (False, True): ">"}.get(
        (cell.startswith(":"), cell.endswith(":")), "<"
    )


def _padded(row: tuple[str, ...], count: int) -> tuple[str, ...]:
    return row + ("",) * (count - len(row))


def laid_out(table: Table) -> Iterator[Line]:
    """The lines that show a table: blocks of aligned columns while they fit, then a list."""
    texts = [tuple(_text(cell) for cell in row) for row in table.rows]
    header = tuple(_text(cell) for cell in table.header)
    widths = tuple(map(width, header))
    start = 0
    while start < len(texts) or start == 0:
        end = min(start + _MEASURED_ROWS, len(texts))
        widths = _widths((widths, *(tuple(map(width, row)) for row in texts[start:end])))
        if not _fits(widths, len(header)):
            yield from _listed(table, start)
            return
        while end < len(texts) and _within(texts[end], widths):
            end += 1
        yield from _aligned(header, table.aligns, texts[start:end], widths)
        if end == start:
            return
        start = end


def _text(cell: str) -> str:
    return broken_fences(unmarked(_BREAK.sub(" / ", cell)))


def _widths(rows: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    count = max(map(len, rows))
    return tuple(max(row[i] if i < len(row) else 0 for row in rows) for i in range(count))


def _fits(widths: tuple[int, ...], columns: int) -> bool:
    return len(widths) == columns and sum(widths) + len(_GAP) * (len(widths) - 1) <= _WIDEST


def _within(row: tuple[str, ...], widths: tuple[int, ...]) -> bool:
    return len(row) <= len(widths) and all(
        width(cell) <= most for cell, most in zip(row, widths, strict=False)
    )


def _aligned(
    header: tuple[str, ...],
    aligns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    widths: tuple[int, ...],
) -> Iterator[Line]:
    head = (_row(header, aligns, widths), _GAP.join("─" * max(most, 1) for most in widths))
    frame: Frame = fence(repeated=head)
    yield Line(head[0], frame)
    yield Line(head[1], frame, glued=True)
    for row in rows:
        yield Line(_row(row, aligns, widths), frame)


def _row(row: tuple[str, ...], aligns: tuple[str, ...], widths: tuple[int, ...]) -> str:
    return _GAP.join(map(_cell, row, aligns, widths)).rstrip()


def _cell(text: str, align: str, columns: int) -> str:
    spare = columns - width(text)
    before = {"<": 0, ">": spare, "^": spare // 2}[align]
    return " " * before + text + " " * (spare - before)


def _listed(table: Table, start: int) -> Iterator[Line]:
    """One entry per row from `start` on, each cell named by its column."""
    names = [_text(cell).strip("*: ") for cell in table.header]
    if start == len(table.rows):
        yield Line(f"**{inline(' · '.join(filter(None, names)))}**")
    for row in table.rows[start:]:
        bullet = "- "
        for index, cell in enumerate(row):
            if cell:
                name = names[index] if index < len(names) else ""
                value = inline(_BREAK.sub(" / ", cell))
                text = f"**{inline(name)}:** {value}" if name else value
                yield Line(bullet + text, glued=bullet != "- ")
                bullet = "  "
