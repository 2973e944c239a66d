"""What turns cost, by thread and by day, and the budget that ends a day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bridge.protocol import Result
from bridge.render.footer import tokens
from state import Channel, Day, Record

DAYS_OF_A_THREAD = 7
DAYS_OF_A_CHANNEL = 31
"""How many days are kept; older ones are only part of a thread's totals."""

WARN_AT = 0.8
"""Share of the budget at which people are warned."""

_THREADS_SHOWN = 8


@dataclass(frozen=True)
class Budget:
    """What may be spent on one day, in US dollars, and what was."""

    limit: float
    spent: float
    ends: int
    """When the day ends, in seconds of the epoch."""

    @property
    def over(self) -> bool:
        """Nothing more may be spent today."""
        return self.spent >= self.limit

    @property
    def refusal(self) -> tuple[str, str]:
        """What happened, and what to do, once it is over."""
        what = f"Today's budget of ${self.limit:.2f} is used up (${self.spent:.2f})."
        todo = (
            f"Nothing was sent to Claude. Send it again <t:{self.ends}:R>, "
            "or have the operator raise BRIDGE_DAILY_BUDGET."
        )
        return what, todo

    def warning(self, before: float) -> str:
        """A line for the turn that came from `before` to what is spent now; "" if it needs none."""
        if self.over and before < self.limit:
            return f"-# 🛑 today's budget of ${self.limit:.2f} is used up now"
        if before < WARN_AT * self.limit <= self.spent:
            return f"-# ⚠️ {self.spent / self.limit:.0%} of today's budget of ${self.limit:.2f}"
        return ""


def today(now: float) -> str:
    """The date where the bot runs."""
    return datetime.fromtimestamp(now).astimezone().date().isoformat()


def day_ends(now: float) -> int:
    """When the present day ends, where the bot runs."""
    here = datetime.fromtimestamp(now).astimezone()
    morning = datetime(here.year, here.month, here.day) + timedelta(days=1)
    return int(morning.timestamp())


def spent_in(result: Result | None, cost: float | None, now: float) -> Day:
    """What one turn spent."""
    usage = result.usage if result else None
    return Day(
        date=today(now),
        turns=1,
        cost_usd=cost or 0.0,
        input_tokens=usage.context_tokens - usage.output_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
    )


def added(days: Sequence[Day], more: Day, keep: int) -> tuple[Day, ...]:
    """The days with one more turn, or day, among them; the newest `keep` of them."""
    by_date = {day.date: day for day in days}
    old = by_date.get(more.date)
    by_date[more.date] = more if old is None else _sum(more.date, (old, more))
    return tuple(by_date[date] for date in sorted(by_date))[-keep:]


def in_thread(record: Record, more: Day) -> Record:
    """A thread has spent something."""
    return record.model_copy(update={"days": added(record.days, more, DAYS_OF_A_THREAD)})


def in_channel(channel: Channel, more: Day) -> Channel:
    """A thread of the channel has spent something."""
    return channel.model_copy(update={"days": added(channel.days, more, DAYS_OF_A_CHANNEL)})


def total(days: Iterable[Day], date: str) -> Day:
    """All that was spent on a date."""
    return _sum(date, [day for day in days if day.date == date])


def budget(limit: float, channels: Iterable[Channel], now: float) -> Budget | None:
    """How far today's budget is used; None if there is none."""
    if not limit:
        return None
    spent = total((day for channel in channels for day in channel.days), today(now))
    return Budget(limit, spent.cost_usd, day_ends(now))


def usage_text(
    here: Record | None,
    threads: Mapping[int, Record],
    channels: Iterable[Channel],
    *,
    limit: float,
    now: float,
) -> str:
    """The words of /usage: today against the budget, the last days, this thread, the dearest."""
    channels = tuple(channels)
    days = [day for channel in channels for day in channel.days]
    date = today(now)
    lines = [f"**Today** {_line(total(days, date))}"]
    if found := budget(limit, channels, now):
        share = f"{found.spent / found.limit:.0%} of ${found.limit:.2f}"
        lines.append(f"**Budget** {share}, begins anew <t:{found.ends}:R>")
    else:
        lines.append("**Budget** none (BRIDGE_DAILY_BUDGET sets one)")
    if here is not None:
        usage = here.usage
        lines.append(f"**This thread** {usage.turns} turns · ${usage.cost_usd:.2f} in all")
        lines.append(f"**This thread today** {_line(total(here.days, date))}")
    if earlier := sorted({day.date for day in days} - {date}, reverse=True)[:6]:
        lines.append("**Before**")
        lines += [f"`{past}` {_line(total(days, past))}" for past in earlier]
    dear = sorted(threads.items(), key=lambda item: -item[1].usage.cost_usd)[:_THREADS_SHOWN]
    if dear := [(thread, record) for thread, record in dear if record.usage.turns]:
        lines.append("**Threads by cost**")
        lines += [
            f"<#{thread}> {record.usage.turns} turns · ${record.usage.cost_usd:.2f}"
            for thread, record in dear
        ]
    return "\n".join(lines)


def _line(day: Day) -> str:
    counted = f"{tokens(day.input_tokens)} tokens in · {tokens(day.output_tokens)} out"
    return f"{day.turns} turns · ${day.cost_usd:.2f} · {counted}"


def _sum(date: str, days: Sequence[Day]) -> Day:
    return Day(
        date=date,
        turns=sum(day.turns for day in days),
        cost_usd=sum(day.cost_usd for day in days),
        input_tokens=sum(day.input_tokens for day in days),
        output_tokens=sum(day.output_tokens for day in days),
    )
