"""How long a text is for Discord, how wide for an eye, and where it may be cut."""

import unicodedata

_JOINER = "\u200d"
_LONGEST_CLUSTER = 32


def units(text: str) -> int:
    """Length in UTF-16 units: the strictest of the ways in which Discord's clients count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def width(text: str) -> int:
    """Columns of a monospaced font: wide East Asian letters and emoji take two, marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def visible(text: str) -> bool:
    """Whether anything would be left to see after Discord has trimmed the text."""
    return any(
        not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc") for char in text
    )


def fitting(text: str, room: int) -> int:
    """Largest index so that the text before it has at most `room` UTF-16 units."""
    index = max(0, min(len(text), room))
    while (excess := units(text[:index]) - room) > 0 and index > 0:
        index -= max(1, excess // 2)
    while index < len(text) and units(text[: index + 1]) <= room:
        index += 1
    return index


def whole(text: str, index: int) -> int:
    """The next index at or before `index` that does not cut a composed character in two.

    A text that offers none within one cluster's length is cut at `index` itself.
    """
    for start in range(index, max(0, index - _LONGEST_CLUSTER), -1):
        if start == len(text) or not (_continues(text[start]) or text[start - 1] == _JOINER):
            return start
    return index


def _continues(char: str) -> bool:
    if char.isascii():
        return False
    return (
        char == _JOINER
        or unicodedata.category(char) in ("Mn", "Mc", "Me")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of flag sequences
    )


def clip(text: str, columns: int) -> str:
    """The text in at most `columns` columns, an ellipsis where its end was left out."""
    if width(text) <= columns:
        return text
    return text[: whole(text, _within(text, columns - 1))].rstrip() + "…"


def clip_start(text: str, columns: int) -> str:
    """The text in at most `columns` columns, an ellipsis where its start was left out."""
    if width(text) <= columns:
        return text
    kept = _within(text[::-1], columns - 1)
    return "…" + text[len(text) - kept :]


def _within(text: str, columns: int) -> int:
    used = 0
    for index, char in enumerate(text):
        used += _columns(char)
        if used > columns:
            return index
    return len(text)
