"""Lengths and cuts of texts in UTF-16 units, in which OpenClaw counts, and their weight.

A character beyond the basic plane is two units. No cut separates them: a pair that stands on the
edge is left out.
"""

import re

CJK_WEIGHT = 4
"""What a character of these scripts weighs, being about a token, where others are four a token."""

_CJK = re.compile(
    "[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6"
    "\U00020000-\U0002fa1f]"
)
"""Han, kana, Hangul, Yi and full-width forms."""


def length(text: str) -> int:
    """The units of a text."""
    return len(text) if text.isascii() else len(_units(text)) // 2


def head(text: str, units: int) -> str:
    """The first units of a text."""
    if text.isascii():
        return text[:units]
    data = _units(text)
    return _text(data[: 2 * _whole(data, units)])


def tail(text: str, units: int) -> str:
    """The last units of a text."""
    if text.isascii():
        return text[max(len(text) - units, 0) :]
    data = _units(text)
    start = max(len(data) // 2 - units, 0)
    return _text(data[2 * (start + (_whole(data, start) != start)) :])


def weight(text: str) -> int:
    """The units of a text, but `CJK_WEIGHT` for each character of those scripts."""
    if text.isascii():
        return len(text)
    wide = _CJK.findall(text)
    return length(text) + CJK_WEIGHT * len(wide) - length("".join(wide))


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-16-le", "surrogatepass")


def _whole(data: bytes, units: int) -> int:
    """The units before a cut, one less where the cut is within a pair."""
    inside = 0 < 2 * units < len(data)
    split = inside and _is(data, units - 1, 0xD8) and _is(data, units, 0xDC)
    return units - 1 if split else units


def _is(data: bytes, unit: int, half: int) -> bool:
    """Whether a unit is a high (0xD8) or a low (0xDC) half of a pair."""
    return data[2 * unit + 1] & 0xFC == half
