"""What turns spend, written down where it outlives their threads, and held against the budget."""

import time

from bridge import ledger, usage
from bridge.outcome import Refused
from bridge.protocol import Result
from state import Record, Store


class Spending:
    """The spending of the whole bot. `limit` is for one day, in US dollars; 0 is none."""

    def __init__(self, store: Store, limit: float) -> None:
        """What was spent before is in the store."""
        self._store = store
        self._limit = limit

    def refusal(self) -> Refused | None:
        """Why no turn may start now; None if one may."""
        now = self._budget()
        return Refused(*now.refusal) if now is not None and now.over else None

    def turn(self, record: Record, result: Result | None) -> str:
        """Count a turn of the thread of this record; returns a warning, or ""."""
        cost = ledger.cost_of(record, result)
        more = usage.spent_in(result, cost, time.time())
        before = self._budget()
        # A thread without a channel is kept under its server, which has an id of the same kind.
        self._store.update_channel(
            record.parent or record.guild, lambda channel: usage.in_channel(channel, more)
        )
        after = self._budget()
        return f"\n{words}" if before and after and (words := after.warning(before.spent)) else ""

    def _budget(self) -> usage.Budget | None:
        return usage.budget(self._limit, self._store.channels().values(), time.time())
