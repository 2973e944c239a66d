"""How old tool results are pruned: OpenClaw's settings, with its defaults."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from compaction.decisions import CLEARED

FIVE_MINUTES = 300.0
ONE_HOUR = 3600.0
"""How long the API keeps a prompt cached, in seconds."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_BARE = re.compile(r"\d+(?:\.\d+)?")


def smart_ttl(one_hour: bool) -> float:
    """The seconds after which a session's cache has expired; `one_hour` as its usage shows."""
    return ONE_HOUR if one_hour else FIVE_MINUTES


def duration(text: str) -> float:
    """The seconds of `5m`, `1h30m`, `500ms`; a bare number is minutes. Raises `ValueError`."""
    given = text.strip().lower()
    if _BARE.fullmatch(given):
        return 60 * float(given)
    if not _DURATION.fullmatch(given):
        raise ValueError(f"no duration: {text!r}")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(given))


# --- what is taken from outside -------------------------------------------------------------------
def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("no number")
    return float(value)


def _seconds(value: object) -> float:
    if isinstance(value, str):
        return duration(value)
    minutes = _number(value)
    if minutes < 0:
        raise ValueError("no time goes backwards")
    return 60 * minutes


def _count(value: object) -> int:
    return max(math.floor(_number(value)), 0)


def _share(value: object) -> float:
    return min(max(_number(value), 0.0), 1.0)


def _words(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("no words")
    return value.strip()


Seconds = Annotated[float, BeforeValidator(_seconds)]
Count = Annotated[int, BeforeValidator(_count)]
Share = Annotated[float, BeforeValidator(_share)]
Words = Annotated[str, BeforeValidator(_words)]


@dataclass(frozen=True, slots=True)
class SoftTrim:
    """Results over `max_chars` keep so many characters of their head and of their tail."""

    max_chars: Count = 4000
    head_chars: Count = 1500
    tail_chars: Count = 1500


@dataclass(frozen=True, slots=True)
class HardClear:
    """Whether results may be replaced as a whole, and by what."""

    enabled: bool = True
    placeholder: Words = CLEARED


@dataclass(frozen=True, slots=True)
class ToolPatterns:
    """Which tools' results may be pruned: patterns in which `*` stands for any characters."""

    allow: tuple[str, ...] = ()
    """Empty = all."""
    deny: tuple[str, ...] = ()
    """These never, whatever is allowed."""

    def admit(self, tool: str) -> bool:
        """Whether results of a tool may be pruned; case does not matter."""
        allowed = [pattern for pattern in self.allow if pattern.strip()]
        return not _any(self.deny, tool) and (not allowed or _any(allowed, tool))


def _any(patterns: Iterable[str], tool: str) -> bool:
    name = tool.strip().lower()
    return any(_matches(wanted, name) for p in patterns if (wanted := p.strip().lower()))


def _matches(pattern: str, name: str) -> bool:
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch(".*".join(parts), name, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class PruningSettings:
    """When and how far results are pruned; ratios are shares of the model's window."""

    mode: Literal["cache-ttl"] = "cache-ttl"
    ttl: Seconds = FIVE_MINUTES
    """Seconds since the last request after which its cache is gone; 0 = never prune."""
    keep_last_assistants: Count = 3
    """So many of the last answers, and all after the first of them, are protected."""
    soft_trim_ratio: Share = 0.3
    hard_clear_ratio: Share = 0.5
    min_prunable_tool_chars: Count = 50_000
    """With less than that in all prunable results together, none is cleared."""
    soft_trim: SoftTrim = field(default_factory=SoftTrim)
    hard_clear: HardClear = field(default_factory=HardClear)
    tools: ToolPatterns = field(default_factory=ToolPatterns)

    @classmethod
    def parse(cls, given: object) -> Self | None:
        """The settings of a mapping; None where its mode is not `cache-ttl`: pruning is off.

        A value that makes no sense is as good as absent: its default holds.
        """
        if not isinstance(given, Mapping):
            return None
        data: Any = cast(Mapping[str, Any], given)
        if data.get("mode") != "cache-ttl":
            return None
        adapter = TypeAdapter(cls)
        while True:
            try:
                return adapter.validate_python(data)
            except ValidationError as error:
                # From the back, so that the places within a list still hold.
                places = reversed(dict.fromkeys(problem["loc"] for problem in error.errors()))
                before = data
                for place in places:
                    data = _without(data, place)
                if data == before:
                    return cls()

    def expired(self, last_touch: float | None, now: float) -> bool:
        """Whether the cache of the last request is gone; without a last request nothing is."""
        return bool(last_touch) and self.ttl > 0 and now - (last_touch or 0) >= self.ttl


def _without(data: Any, place: tuple[int | str, ...]) -> Any:
    """The data without what stands at a place."""
    if isinstance(data, Mapping):
        found = dict(cast(Mapping[Any, Any], data))
        inner = found.pop(place[0], None)
        if len(place) > 1:
            found[place[0]] = _without(inner, place[1:])
        return found
    if isinstance(data, list | tuple):
        return [item for at, item in enumerate(cast(list[Any], data)) if at != place[0]]
    return data
