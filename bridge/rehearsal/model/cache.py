"""The prompt cache, simulated: what a request reads from it and what it writes."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FIVE_MINUTES, ONE_HOUR = 300.0, 3600.0
BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Usage:
    """Input tokens of one request, split as the API splits them."""

    uncached: int
    read: int
    written_5m: int
    written_1h: int

    @property
    def total(self) -> int:
        return self.uncached + self.read + self.written_5m + self.written_1h

    def wire(self, output_tokens: int) -> dict[str, Any]:
        return {
            "input_tokens": self.uncached,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
            "output_tokens": output_tokens,
            "service_tier": "standard",
        }


@dataclass(frozen=True)
class _Prefix:
    """Everything up to and including one block: its hash, its size, and how long it is kept."""

    digest: bytes
    tokens: int
    kept_for: float | None


class PromptCache:
    """Prefixes that earlier requests marked with `cache_control`, until they expire."""

    def __init__(self) -> None:
        self._expiry: dict[bytes, float] = {}

    def use(self, body: Mapping[str, Any], now: float) -> Usage:
        """Account for one request that arrives at `now` (seconds of any steady clock)."""
        prefixes = list(_prefixes(body))
        total = prefixes[-1].tokens if prefixes else 0
        marked = [prefix for prefix in prefixes if prefix.kept_for is not None]
        end = marked[-1].tokens if marked else 0
        known = [p for p in prefixes if p.tokens <= end and self._expiry.get(p.digest, now) > now]
        read = known[-1].tokens if known else 0
        for prefix in marked:
            expiry = now + (prefix.kept_for or 0.0)
            self._expiry[prefix.digest] = max(expiry, self._expiry.get(prefix.digest, 0.0))
        written = max(0, end - read)
        hour = bool(marked) and marked[-1].kept_for == ONE_HOUR
        return Usage(total - max(read, end), read, 0 if hour else written, written if hour else 0)


def _prefixes(body: Mapping[str, Any]) -> Iterator[_Prefix]:
    digest = hashlib.blake2b(str(body.get("model")).encode(), digest_size=16)
    size = 0
    for where, part in _parts(body):
        mark = part.get("cache_control")
        content = {key: value for key, value in part.items() if key != "cache_control"}
        data = json.dumps(content, separators=(",", ":")).encode()
        digest.update(where.encode() + data)
        size += len(data)
        kept_for = (ONE_HOUR if mark.get("ttl") == "1h" else FIVE_MINUTES) if mark else None
        yield _Prefix(digest.digest(), size // BYTES_PER_TOKEN, kept_for)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The blocks in the order in which the cache sees them; a string is one text block."""
    yield from (("tools", tool) for tool in body.get("tools") or ())
    yield from (("system", block) for block in _as_blocks(body.get("system")))
    for message in body.get("messages") or ():
        yield from ((message["role"], block) for block in _as_blocks(message["content"]))


def _as_blocks(content: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []
