"""What a person is shown of an outcome in a terminal: pure text, as wide as there is room."""

import unicodedata
from collections.abc import Iterator, Sequence

from compaction.report import Call, Outcome

COLOURS = {"keep": "32", "trim": "33", "trim_input": "33"}
REMOVED = "31"
SHOWN = 15


def plain(text: str) -> str:
    """A text on one line that cannot steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """A text of at most that many columns."""
    return text if columns(text) <= width else "".join(_within(text, width - 1)) + "…"


def padded(text: str, width: int) -> str:
    """A text cut or filled to that many columns."""
    short = cut(text, width)
    return short + " " * (width - columns(short))


def _within(text: str, width: int) -> Iterator[str]:
    for char in text:
        width -= _columns(char)
        if width < 0:
            return
        yield char


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def duration(seconds: float) -> str:
    """An age in its largest unit."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def decisions(calls: Sequence[Call], width: int, *, every: bool, colour: bool) -> list[str]:
    """The calls by what they save, largest first; without `every` the first few that save."""
    ranked = sorted(calls, key=lambda call: call.after_tokens - call.before_tokens)
    shown = ranked if every else [call for call in ranked if call.action != "keep"][:SHOWN]
    if not shown:
        return []
    tool_width = min(max(columns(plain(call.tool)) for call in shown), 16)
    rest = max(width - 9 - 2 - 11 - 2 - tool_width - 2, 16)
    title_width = rest // 2
    lines = [
        f"{'tokens':>9}  {'decision':<11}  {'tool':<{tool_width}}  "
        + cut(f"{'about':<{title_width}}  reason", rest)
    ]
    for call in shown:
        saved = call.before_tokens - call.after_tokens
        action = f"{call.action:<11}"
        if colour:
            action = f"\x1b[{COLOURS.get(call.action, REMOVED)}m{action}\x1b[0m"
        about = padded(plain(call.title), title_width)
        tail = cut(f"{about}  {plain(call.reason)}", rest).rstrip()
        lines.append(f"{-saved:>9,}  {action}  {padded(plain(call.tool), tool_width)}  {tail}")
    left = len(calls) - len(shown)
    if left:
        lines.append(f"{'':9}  and {left:,} more (--all shows them)")
    return lines


def summary(outcome: Outcome) -> str:
    """One line: how much smaller, what of, how fast."""
    return (
        f"{outcome.before_tokens:,} → {outcome.after_tokens:,} tokens (-{outcome.reduction:.0%}): "
        f"{outcome.kept:,} kept, {outcome.trimmed:,} trimmed, {outcome.removed:,} removed, "
        f"{outcome.seconds:.2f} s"
    )
