"""One gateway session: its numbered events, kept for a while so that RESUME can replay them."""

import asyncio
import json
from collections import deque
from typing import Any

# How many events a session keeps for a replay.
BUFFER = 5000


def encode(payload: Any) -> str:
    return json.dumps(payload, separators=(",", ":"))


class Session:
    """Outlives its connections; `outgoing` is the attached connection's queue, or None."""

    def __init__(self, id: str, intents: int) -> None:
        self.id = id
        self.intents = intents
        self.sequence = 0
        self.outgoing: asyncio.Queue[str] | None = None
        self.detached_at: float | None = None
        self._sent: deque[tuple[int, str]] = deque(maxlen=BUFFER)

    def send(self, name: str, payload: Any) -> None:
        """Number an event, keep it, and pass it on if somebody is connected."""
        self.sequence += 1
        frame = encode({"op": 0, "t": name, "s": self.sequence, "d": payload})
        self._sent.append((self.sequence, frame))
        if self.outgoing is not None:
            self.outgoing.put_nowait(frame)

    def can_replay_after(self, sequence: int) -> bool:
        oldest = self._sent[0][0] if self._sent else self.sequence + 1
        return oldest - 1 <= sequence <= self.sequence

    def attach(self, outgoing: asyncio.Queue[str], *, after: int | None = None) -> None:
        """Send to a new connection from now on; first, everything after the event `after`."""
        if after is not None:
            for sequence, frame in self._sent:
                if sequence > after:
                    outgoing.put_nowait(frame)
        self.outgoing = outgoing
        self.detached_at = None

    def detach(self, outgoing: asyncio.Queue[str], now: float) -> None:
        """Forget a connection that ended, unless another one has taken its place."""
        if self.outgoing is outgoing:
            self.outgoing = None
            self.detached_at = now
