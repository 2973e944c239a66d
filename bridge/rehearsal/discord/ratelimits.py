"""Rate limits: per-route buckets with Discord's headers, and the global one.

The numbers are what bots observe in practice; Discord documents the headers only.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from bridge.rehearsal.discord.document import Json

Mode = Literal["real", "off"]


@dataclass(frozen=True)
class Rule:
    """`limit` requests in a window of `seconds`, which opens with its first request."""

    limit: int
    seconds: float


_DEFAULT = Rule(10, 5)
_AMPLE = Rule(1000, 1)
_GLOBAL = Rule(50, 1)
_REACTIONS = "reactions"

_CHANNEL = "/channels/{channel_id}"
_MESSAGE = _CHANNEL + "/messages/{message_id}"
_REACTION = _MESSAGE + "/reactions/{emoji_name}"

_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        f"POST {_CHANNEL}/messages": Rule(5, 5),
        f"PATCH {_MESSAGE}": Rule(5, 5),
        f"DELETE {_MESSAGE}": Rule(5, 1),
        f"POST {_CHANNEL}/typing": Rule(5, 5),
        f"GET {_CHANNEL}/messages": Rule(5, 5),
        f"PATCH {_CHANNEL}": Rule(5, 15),
        f"POST {_CHANNEL}/threads": Rule(50, 300),
        f"POST {_MESSAGE}/threads": Rule(50, 300),
        "POST /webhooks/{webhook_id}/{webhook_token}": Rule(5, 2),
        "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original": Rule(5, 2),
        "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}": Rule(5, 2),
        _REACTIONS: Rule(1, 0.25),
    }
)

# Routes that share one bucket.
_SHARED: Mapping[str, str] = MappingProxyType(
    {
        f"{method} {_REACTION}/{who}": _REACTIONS
        for method in ("PUT", "DELETE")
        for who in ("@me", "{user_id}")
    }
)

# Renaming a channel or changing its topic has a bucket of its own beside the route's.
_RENAMES = Rule(2, 600)
_MAJOR = ("channel_id", "guild_id", "webhook_id", "webhook_token", "interaction_token")


@dataclass(frozen=True)
class Verdict:
    """Whether a request may pass, the headers of its answer, and a refusal's body."""

    headers: Mapping[str, str]
    refusal: Json | None = None


@dataclass
class _Window:
    opened: float
    used: int = 0


class RateLimits:
    def __init__(self, mode: Mode, clock: Callable[[], float] = time.monotonic) -> None:
        self._off = mode == "off"
        self._clock = clock
        self._windows: dict[tuple[str, ...], _Window] = {}

    def check(self, route: str, params: Mapping[str, str], *, counts_globally: bool) -> Verdict:
        """Count a request to a route (`METHOD /template`) and judge it."""
        name = _SHARED.get(route, route)
        rule = _AMPLE if self._off else _RULES.get(name, _DEFAULT)
        major = tuple(params[key] for key in _MAJOR if key in params)
        if counts_globally and not self._off:
            wait = self._take(_GLOBAL, ("global",))[1]
            if wait:
                headers = {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
                return _refused(headers, wait, everywhere=True)
        left, wait, reset = self._take(rule, (name, *major))
        headers = {
            "X-RateLimit-Limit": str(rule.limit),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": f"{time.time() + reset:.3f}",
            "X-RateLimit-Reset-After": f"{reset:.3f}",
            "X-RateLimit-Bucket": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
        }
        if wait and not self._off:
            return _refused(headers | {"X-RateLimit-Scope": "user"}, wait)
        return Verdict(headers)

    def check_rename(self, channel: str, headers: Mapping[str, str]) -> Verdict:
        """The sub-limit on names and topics: a 429 although the route's bucket has room."""
        wait = 0.0 if self._off else self._take(_RENAMES, ("rename", channel))[1]
        if wait:
            return _refused(dict(headers) | {"X-RateLimit-Scope": "shared"}, wait)
        return Verdict(headers)

    def _take(self, rule: Rule, key: tuple[str, ...]) -> tuple[int, float, float]:
        """Use one request of a window: what is left, seconds to wait (0: passed) and to reset."""
        now = self._clock()
        window = self._windows.get(key)
        if window is None or now >= window.opened + rule.seconds:
            window = self._windows[key] = _Window(now)
        reset = window.opened + rule.seconds - now
        if window.used >= rule.limit:
            return 0, reset, reset
        window.used += 1
        return rule.limit - window.used, 0.0, reset


def _refused(headers: Mapping[str, str], wait: float, *, everywhere: bool = False) -> Verdict:
    body: Json = {
        "message": "You are being rate limited.",
        "code": 0,
        "retry_after": round(wait, 3),
        "global": everywhere,
    }
    return Verdict(dict(headers) | {"Retry-After": str(int(wait) + 1)}, body)
