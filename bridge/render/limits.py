"""Usage limits of the model's side, read from the texts of errors."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bridge.render.inline import one_line

_EPOCH = re.compile(r"Claude(?: AI)? usage limit reached\|(?P<epoch>\d{9,11})\b")
_HIT = re.compile(
    r"You['\u2019](?:ve hit your (?P<which>[\w .'-]{0,40}?\blimit)\b|re out of usage credits)"
    r"(?P<rest>.{0,200})",
    re.DOTALL,
)
_RESETS = re.compile(
    r"resets\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]*\s+(?P<day>\d{1,2}),?\s+(?:\d{4},?\s+)?(?:at\s+)?)?"
    r"(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>\d\d))?\s?(?P<half>[ap]m)(?:\s+\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """A limit that was hit; `reset` is in seconds since the epoch, None where it is not said."""

    what: str
    reset: int | None

    @property
    def text(self) -> str:
        """One sentence in which Discord shows the time in its reader's own zone."""
        if self.reset is None:
            return f"{self.what}."
        return f"{self.what}; it resets <t:{self.reset}:R> (<t:{self.reset}:f>)."


def usage_limit(error: str, *, now: float) -> UsageLimit | None:
    """The limit that an error names, None for every other error.

    Only for texts of errors: an answer in which Claude explains such a message is no limit.
    `now` (seconds since the epoch) decides which day a bare clock time means.
    """
    error = error.strip()
    if found := _EPOCH.match(error):
        return UsageLimit("The usage limit is reached", int(found["epoch"]))
    if found := _HIT.match(error):
        which = found["which"]
        what = f"The {one_line(which)} is reached" if which else "The usage credits are used up"
        return UsageLimit(what, _reset(found["rest"], now))
    return None


def _reset(text: str, now: float) -> int | None:
    found = _RESETS.search(text)
    if not found:
        return None
    try:
        zone = ZoneInfo(found["zone"]) if found["zone"] else None
        here = datetime.fromtimestamp(now, zone).astimezone(zone)
        moment = here.replace(
            hour=int(found["hour"]) % 12 + (12 if found["half"].lower() == "pm" else 0),
            minute=int(found["minute"] or 0),
            second=0,
            microsecond=0,
        )
        if found["month"]:
            month = _MONTHS.index(found["month"].lower()) + 1
            moment = moment.replace(month=month, day=int(found["day"]))
            later = moment if moment > here - timedelta(days=31) else _next_year(moment)
        else:
            later = moment if moment > here else moment + timedelta(days=1)
    except (ValueError, OSError, OverflowError, LookupError):  # no such zone, no such date
        return None
    return int(later.timestamp())


def _next_year(moment: datetime) -> datetime:
    return moment.replace(year=moment.year + 1)
