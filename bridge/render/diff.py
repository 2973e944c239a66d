"""What an edit changes, as the lines that go and the lines that come."""

import difflib

_CONTEXT = 3
_NO_END = "(no line end)"
_LONGEST = 2000
"""Lines up to which the two sides are compared; the time for it grows with the square."""


def diff(old: str, new: str) -> str:
    """The change in the form of `diff -u`, without the names of files; nothing if there is none.

    What both sides have in common, far from a change, is passed over.
    """
    before, after = _lines(old), _lines(new)
    if old and new and old.endswith("\n") != new.endswith("\n"):
        (after if old.endswith("\n") else before).append(_NO_END)
    if len(before) + len(after) > _LONGEST:
        return "\n".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    lines = list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT))[2:]
    if sum(line.startswith("@@") for line in lines) < 2:
        lines = [line for line in lines if not line.startswith("@@")]
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
