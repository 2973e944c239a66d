"""Messages of OpenClaw's content model, as its own tests build them."""

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.pruning import prune_context
from compaction.pruning_settings import PruningSettings

Json = Mapping[str, Any]
NOW = 1_000_000.0
CLEARED = "[Old tool result content cleared]"


def user(content: Any = "prompt") -> Json:
    return {"role": "user", "content": content}


def assistant(*blocks: Any) -> Json:
    return {"role": "assistant", "content": [*blocks] or [text("answer")]}


def text(words: Any) -> Json:
    return {"type": "text", "text": words}


IMAGE: Json = {"type": "image", "data": "AA==", "mimeType": "image/png"}


def result(name: str, *content: Any, tool: str = "read", **more: Any) -> Json:
    """A result; strings stand for text blocks."""
    return {
        "role": "toolResult",
        "toolCallId": name,
        "toolName": tool,
        "content": [text(block) if isinstance(block, str) else block for block in content],
        "isError": False,
        "timestamp": 42,
        **more,
    }


def history(*old: Json, recent: Sequence[Json] = ()) -> list[Json]:
    """A conversation in which the results `old` may be pruned, and `recent` are protected."""
    return [
        *(user(), assistant(), *old, user(), assistant(), *recent),
        *(user(), assistant(), user(), assistant()),
    ]


def settings(**given: Any) -> PruningSettings:
    parsed = PruningSettings.parse({"mode": "cache-ttl", **given})
    assert parsed is not None
    return parsed


def prune(messages: list[Json], window: float | None = 1000, **given: Any) -> Sequence[Json]:
    """Pruned with an expired cache, by the default settings but for those given."""
    return prune_context(messages, settings(**given), window=window, last_touch=NOW - 300, now=NOW)


def said(messages: Sequence[Json], name: str) -> str:
    """The text of a result."""
    found = next(m for m in messages if m.get("toolCallId") == name)
    return "\n".join(block["text"] for block in found["content"])


def note(head: int, tail: int, units: int) -> str:
    return (
        f"\n\n[Tool result trimmed: kept first {head} chars and last {tail} chars"
        f" of {units} chars.]"
    )
