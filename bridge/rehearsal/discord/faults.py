"""Troubles on order: what the loopback Discord is told to do wrong, and for how many requests."""

import re
from dataclasses import dataclass, field
from typing import Literal

from bridge.rehearsal.discord.document import Json

When = Literal["before", "after"]


@dataclass
class Fault:
    """One order. It applies to requests of `method` whose whole path matches, `times` times."""

    method: str
    path: re.Pattern[str]
    times: int

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method == method and bool(self.path.fullmatch(path))


@dataclass
class Failure(Fault):
    """Answer with an error and do nothing else."""

    status: int = 500
    body: Json = field(default_factory=dict[str, object])
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Drop(Fault):
    """Abort the connection, before or after the request took effect."""

    when: When = "before"


@dataclass
class Delay(Fault):
    """Wait before the request is looked at."""

    seconds: float = 0.0


class Faults:
    """Orders wait here until a request or an event meets them; each is used up by its `times`."""

    def __init__(self) -> None:
        self.duplicate = False
        self.refuse_gateway = False
        self.ignore_heartbeats = False
        self._orders: list[Fault] = []
        self._lost: dict[str, int] = {}

    def fail(
        self,
        method: str,
        path: str,
        *,
        status: int = 500,
        code: int = 0,
        times: int = 1,
        retry_after: float = 1.0,
        scope: str = "user",
        global_: bool = False,
    ) -> None:
        """Answer matching requests with `status` and Discord's error `code`.

        A 429 carries what Discord's own would.
        """
        pattern = re.compile(path)
        if status != 429:
            body: Json = {"message": f"{status}: rehearsed failure", "code": code}
            self._orders.append(Failure(method, pattern, times, status, body))
            return
        body = {
            "message": "You are being rate limited.",
            "code": 0,
            "retry_after": retry_after,
            "global": global_,
        }
        headers = {"X-RateLimit-Scope": "global" if global_ else scope}
        if global_:
            headers["X-RateLimit-Global"] = "true"
        self._orders.append(Failure(method, pattern, times, 429, body, headers))

    def drop(self, method: str, path: str, when: When = "before", times: int = 1) -> None:
        self._orders.append(Drop(method, re.compile(path), times, when))

    def delay(self, method: str, path: str, seconds: float, times: int = 1) -> None:
        self._orders.append(Delay(method, re.compile(path), times, seconds))

    def lose(self, event: str, times: int = 1) -> None:
        """Never send the next events of this name."""
        self._lost[event] = self._lost.get(event, 0) + times

    def clear(self) -> None:
        """Take back every order that is still open."""
        self._orders.clear()
        self._lost.clear()
        self.duplicate = self.refuse_gateway = self.ignore_heartbeats = False

    @property
    def pending(self) -> bool:
        """Whether an order for a request is still open."""
        return any(order.times > 0 for order in self._orders)

    def take(self, method: str, path: str) -> list[Fault]:
        """The orders that this request meets: at most one of each kind, oldest first."""
        met: dict[type[Fault], Fault] = {}
        for order in self._orders:
            if order.matches(method, path):
                met.setdefault(type(order), order)
        for order in met.values():
            order.times -= 1
        self._orders = [order for order in self._orders if order.times > 0]
        return list(met.values())

    def copies(self, event: str) -> int:
        """How often an event is to be sent: 0 for a lost one, 2 for a duplicated one."""
        if self._lost.get(event, 0) > 0:
            self._lost[event] -= 1
            return 0
        return 2 if self.duplicate else 1
