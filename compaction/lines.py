"""Which lines of a text stay, and the text with the others left out.

Nothing is rewritten: what stays is verbatim, and each gap says how many lines it held. Where asked
for, the line numbers of a file view stay on the first line after a gap only, the others follow.
"""

import re
from collections.abc import Sequence

GAP_TOKENS = 4.5
"""What a gap costs, in estimated tokens, beside the lines that it saves."""

_GAP = re.compile(r"^\[… \d+(?: lines? omitted …)?\]$", re.MULTILINE)
_NUMBER = re.compile(r"\s*\d+(?:→|\t)")


def without_number(line: str) -> str:
    """A line of a file view without its number, and without the white space at both ends."""
    number = _NUMBER.match(line)
    return (line[number.end() :] if number else line).strip()


def has_gaps(text: str) -> bool:
    """Whether lines of the text were left out before: such a text is final."""
    return "[… " in text and _GAP.search(text) is not None


def choose(worths: Sequence[float], costs: Sequence[float], price: float) -> list[bool]:
    """The lines to keep: those that bring the most worth, less `price` for each token they cost.

    Every gap costs tokens too, so a short dull stretch between two good lines stays. The choice is
    the exact optimum, found in one pass over the lines with two states (kept, left out).
    """
    gap = price * GAP_TOKENS
    kept, out = 0.0, -gap
    from_kept: list[tuple[bool, bool]] = []
    for worth, cost in zip(worths, costs, strict=True):
        from_kept.append((kept >= out, kept - gap > out))
        kept, out = max(kept, out) + worth - price * cost, max(out, kept - gap)
    keep: list[bool] = []
    state = kept >= out
    for if_kept, if_out in reversed(from_kept):
        keep.append(state)
        state = if_kept if state else if_out
    keep.reverse()
    return keep


def elide(lines: Sequence[str], keep: Sequence[bool], *, renumber: bool = False) -> str:
    """The kept lines with a mark for each gap; the first mark is spelled out, the others short.

    With `renumber`, the lines of a file view have their number only at the start and after a gap.
    """
    parts: list[str] = []
    omitted = 0
    marked = False
    follows = False
    for line, kept in zip(lines, keep, strict=True):
        if not kept:
            omitted += 1
            follows = False
            continue
        if omitted:
            parts.append(_mark(omitted, brief=marked))
            omitted, marked = 0, True
        number = _NUMBER.match(line) if renumber and follows else None
        parts.append(line[number.end() :] if number else line)
        follows = True
    if omitted:
        parts.append(_mark(omitted, brief=marked))
    return "\n".join(parts)


def _mark(count: int, *, brief: bool) -> str:
    if brief:
        return f"[… {count}]"
    return f"[… {count} line{'s' if count > 1 else ''} omitted …]"
