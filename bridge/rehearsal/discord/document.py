"""What all of Discord's objects are here: JSON documents that are replaced, never changed in place.

A document that was handed out (to a gateway session's replay buffer, to a test, to the web page)
therefore stays what it was at that moment; the world holds the newest version of each.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

_EPOCH_MS = 1_420_070_400_000


class Snowflakes:
    """Ids as Discord makes them: milliseconds since 2015 in the high bits, strictly increasing."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> str:
        tick = (int(self._clock() * 1000) - _EPOCH_MS) << 22
        self._last = max(tick, self._last + 1)
        return str(self._last)


def created_at(snowflake: str) -> float:
    """The Unix time, in seconds, at which an id was made."""
    return ((int(snowflake) >> 22) + _EPOCH_MS) / 1000


def timestamp() -> str:
    """The present moment as Discord writes it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def part(document: Json, key: str) -> Json:
    """A nested document; an empty one where it is absent or null."""
    return document.get(key) or {}


def without_nulls(document: Json) -> Json:
    """The document's keys that carry a value; Discord leaves most absent fields out."""
    return {key: value for key, value in document.items() if value is not None}
