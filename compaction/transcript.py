"""A session's transcript as it stands on disk, and the conversation that the CLI would resume."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

from compaction import records
from compaction.chain import Unit, chain
from compaction.estimate import message_tokens
from compaction.messages import Message, ToolResult, ToolUse
from compaction.records import Json, Source, as_dict, dicts, message, text_of

MOST_A_TOKEN = 12
"""No text has more characters for each of its tokens, so that a count below that is of another."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the last answer's usage says about the context and about the prompt cache."""

    tokens: int
    """In the context after that answer, by the API's own count."""
    at: float | None
    """When the cache was last written or read, in seconds of the epoch."""
    one_hour: bool
    """Whether the session has its cache kept for an hour instead of five minutes."""


@dataclass(frozen=True)
class Transcript:
    """One session file, read once; what is worked out from it is worked out once, too."""

    path: Path
    source: Source
    units: tuple[Unit, ...]
    """The conversation's records, grouped; also those that the model is not shown."""
    messages: tuple[Message, ...]
    """One for each unit that the model is shown, in the same order."""
    usage: Usage | None
    model: str | None
    flags: tuple[str, ...]
    """What was odd about the file, in words; none of it stopped the reading."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; raises `OSError` where it cannot be opened, and nothing else."""
        source = records.read(path)
        found = chain(source)
        stubs = replacements(source.records)
        return cls(
            path=path,
            source=source,
            units=found.units,
            messages=tuple(to_message(unit, stubs) for unit in found.units if unit.kind != "other"),
            usage=_usage(found.units),
            model=_model(found.units),
            flags=(*source.flags, *found.flags),
        )

    @property
    def sid(self) -> str:
        """The session's id."""
        return self.path.stem

    @cached_property
    def records(self) -> tuple[Json, ...]:
        """The records of the conversation, in order."""
        return tuple(record for unit in self.units for record in unit.records)

    @cached_property
    def counted(self) -> bool:
        """Whether the API's own count of the context fits what is there."""
        return self.usage is not None and self._characters <= self.usage.tokens * MOST_A_TOKEN

    @cached_property
    def tokens(self) -> int:
        """The size of the context: by the API's own count if it fits, else by our estimate."""
        if self.usage is not None and self.counted:
            return self.usage.tokens
        return sum(map(message_tokens, self.messages))

    @property
    def _characters(self) -> int:
        texts = sum(len(message.text) for message in self.messages)
        return texts + sum(len(res.text) for m in self.messages for res in m.tool_results)


def to_message(unit: Unit, stubs: Mapping[str, str]) -> Message:
    """What the model is shown of a unit; `stubs` are the texts it sees for oversized results."""
    return Message(
        role="assistant" if unit.kind == "assistant" else "user",
        text="\n".join(_texts(unit.records)),
        tool_uses=tuple(
            ToolUse(use["id"], text_of(use.get("name")), as_dict(use.get("input")))
            for record in unit.records
            for use in records.uses(record)
        ),
        tool_results=tuple(
            _result(result, stubs) for record in unit.records for result in records.results(record)
        ),
    )


def replacements(found: Sequence[Json]) -> dict[str, str]:
    """The texts that the model sees instead of oversized results, by the id of the call."""
    return {
        text_of(entry.get("toolUseId")): text_of(entry.get("replacement"))
        for record in found
        if record.get("type") == "content-replacement" and not record.get("agentId")
        for entry in dicts(record.get("replacements"))
        if isinstance(entry.get("replacement"), str)
    }


def result_text(block: Mapping[str, Any]) -> str:
    """The text of a tool_result block: its text parts, joined by newlines."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text_of(p.get("text")) for p in dicts(content) if p.get("type") == "text")


def _texts(found: Sequence[Json]) -> Iterator[str]:
    for record in found:
        for block in records.blocks(record):
            if block.get("type") == "text":
                yield text_of(block.get("text"))


def _result(block: Json, stubs: Mapping[str, str]) -> ToolResult:
    name = text_of(block["tool_use_id"])
    return ToolResult(
        tool_use_id=name,
        text=stubs[name] if name in stubs else result_text(block),
        is_error=block.get("is_error") is True,
        images=sum(1 for part in dicts(block.get("content")) if part.get("type") == "image"),
    )


# --- usage ----------------------------------------------------------------------------------------
def _answers(units: Sequence[Unit]) -> Iterator[Json]:
    """The records of the model's own answers, newest first."""
    for unit in reversed(units):
        if unit.kind == "assistant":
            yield from reversed(unit.records)


def _model(units: Sequence[Unit]) -> str | None:
    return next(filter(None, (text_of(message(r).get("model")) for r in _answers(units))), None)


def _usage(units: Sequence[Unit]) -> Usage | None:
    found = [(r, as_dict(message(r).get("usage"))) for r in _answers(units)]
    last = next(((record, usage) for record, usage in found if _tokens(usage)), None)
    if last is None:
        return None
    return Usage(
        tokens=_tokens(last[1]),
        at=_seconds(last[0].get("timestamp")),
        one_hour=any(_number(_hour(usage)) > 0 for _, usage in found),
    )


def _hour(usage: Json) -> object:
    return as_dict(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")


def _tokens(usage: Json) -> int:
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(_number(usage.get(kind)) for kind in (*kinds, "output_tokens"))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _seconds(timestamp: object) -> float | None:
    try:
        return datetime.fromisoformat(cast(str, timestamp)).timestamp()
    except (TypeError, ValueError):
        return None
