"""The model's messages as the API sends them: server-sent events, or one JSON object."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from bridge.rehearsal.model.blocks import Block, Text, Thinking, Tool
from bridge.rehearsal.model.cache import BYTES_PER_TOKEN, Usage
from bridge.rehearsal.model.signing import sign

CHUNK = 400
"""Characters of a delta when nothing is to be slow."""
SLOW_CHUNKS = 20


@dataclass(frozen=True)
class Chunk:
    """Bytes of the stream, due `pause` seconds after those before."""

    data: bytes
    pause: float = 0.0


def fresh_id(prefix: str) -> str:
    return f"{prefix}_01{uuid.uuid4().hex[:22]}"


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def begin(model: str, usage: Usage) -> Chunk:
    """The event that opens a message."""
    return Chunk(event("message_start", message=_envelope(model, [], None, usage, 1)))


def block_events(index: int, block: Block) -> Iterator[Chunk]:
    """One content block: its start, its deltas at its pace, its end."""
    match block:
        case Text(text, seconds):
            yield _start(index, {"type": "text", "text": ""})
            yield from _paced(index, "text_delta", "text", text, seconds)
        case Thinking(text, seconds):
            yield _start(index, {"type": "thinking", "thinking": "", "signature": ""})
            yield from _paced(index, "thinking_delta", "thinking", text, seconds)
            yield _delta(index, {"type": "signature_delta", "signature": sign(text)})
        case Tool(name, arguments):
            yield _start(index, _call(name, {}))
            partial = json.dumps(dict(arguments))
            yield _delta(index, {"type": "input_json_delta", "partial_json": ""})
            yield from _paced(index, "input_json_delta", "partial_json", partial, 0)
        case _:
            return
    yield Chunk(event("content_block_stop", index=index))


def end(blocks: Sequence[Block]) -> Chunk:
    """The events that close a message."""
    delta = {"stop_reason": stop_reason(blocks), "stop_sequence": None}
    usage = {"output_tokens": output_tokens(blocks)}
    return Chunk(event("message_delta", delta=delta, usage=usage) + event("message_stop"))


def whole(model: str, blocks: Sequence[Block], usage: Usage) -> dict[str, Any]:
    """The same message without streaming."""
    content = [wire for block in blocks if (wire := _wire(block)) is not None]
    return _envelope(model, content, stop_reason(blocks), usage, output_tokens(blocks))


def stop_reason(blocks: Sequence[Block]) -> str:
    return "tool_use" if any(isinstance(block, Tool) for block in blocks) else "end_turn"


def output_tokens(blocks: Sequence[Block]) -> int:
    content = [wire for block in blocks if (wire := _wire(block)) is not None]
    return max(1, len(json.dumps(content)) // BYTES_PER_TOKEN)


def _envelope(
    model: str, content: list[dict[str, Any]], stop: str | None, usage: Usage, tokens: int
) -> dict[str, Any]:
    return {
        "id": fresh_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage.wire(tokens),
    }


def _wire(block: Block) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text):
            return {"type": "thinking", "thinking": text, "signature": sign(text)}
        case Tool(name, arguments):
            return _call(name, arguments)
        case _:
            return None


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": fresh_id("toolu"), "name": name, "input": dict(arguments)}


def _start(index: int, block: dict[str, Any]) -> Chunk:
    start = event("content_block_start", index=index, content_block=block)
    return Chunk(start + event("ping") if index == 0 else start)


def _delta(index: int, delta: dict[str, Any], pause: float = 0.0) -> Chunk:
    return Chunk(event("content_block_delta", index=index, delta=delta), pause)


def _paced(index: int, kind: str, field: str, text: str, seconds: float) -> Iterator[Chunk]:
    """Deltas of a text; the pauses add up to `seconds` and each stands before its delta."""
    size = max(1, ceil(len(text) / SLOW_CHUNKS)) if seconds else CHUNK
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    for piece in pieces:
        yield _delta(index, {"type": kind, field: piece}, seconds / len(pieces))
