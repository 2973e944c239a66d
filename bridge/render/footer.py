"""The small line below a finished reply: how long, how full, how much."""

from bridge.render.inline import escaped


def footer(
    *,
    seconds: float,
    context_tokens: int | None,
    context_window: int | None,
    cost_usd: float | None,
    note: str = "",
) -> str:
    """One line of subtext, such as `-# 12 s · 34k / 200k context (17 %) · $0.02`.

    Figures that are not known are left out; `note` stands at the end.
    """
    parts = [duration(seconds), _context(context_tokens, context_window), _cost(cost_usd)]
    return "-# " + " · ".join(part for part in (*parts, escaped(note)) if part)


def duration(seconds: float) -> str:
    """A time for people: two units at most, tenths only below ten seconds."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def tokens(count: int) -> str:
    """A number of tokens in at most four characters."""
    if count < 1000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}".removesuffix(".0") + "k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def _context(used: int | None, window: int | None) -> str:
    if used is None:
        return ""
    if not window:
        return f"{tokens(used)} context"
    return f"{tokens(used)} / {tokens(window)} context ({round(100 * used / window)} %)"


def _cost(usd: float | None) -> str:
    if usd is None:
        return ""
    return "<$0.01" if 0 < usd < 0.005 else f"${usd:.2f}"
