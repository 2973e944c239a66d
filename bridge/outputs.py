"""What the tools of one turn said, whole, as a text to read."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from bridge import history
from bridge.protocol import Assistant, ToolResultBlock, ToolResults, ToolUseBlock
from bridge.protocol.events import parse_object
from bridge.render.reply import clean
from state import Record

LONGEST = 8_000_000
"""Characters at most, for Discord takes files up to a limit only."""

Json = dict[str, Any]


def read(projects: Path, record: Record, prompt_id: str) -> str:
    """The calls and outputs of a turn; "" if no transcript has it any more. Blocks.

    The oldest session that knows the turn has it as it was: later ones may have been made smaller.
    """
    sids = [former.sid for former in record.lineage]
    sids += [sid for sid in (record.sid, record.process and record.process.sid) if sid]
    for sid in dict.fromkeys(sids):
        path = history.find_transcript(projects, sid, record.cwd)
        records = history.read_turn(path, prompt_id).records if path else []
        if records:
            return listed(_whole(projects, records))
    return ""


def listed(records: Iterable[Json]) -> str:
    """Each call with what it was given and what came of it, without secrets."""
    calls: dict[str, str] = {}
    parts: list[str] = []
    for event in map(parse_object, records):
        if not isinstance(event, Assistant | ToolResults):
            continue
        for block in event.message.content:
            if isinstance(block, ToolUseBlock):
                calls[block.id] = f"{block.name} {_given(block)}"
            elif isinstance(block, ToolResultBlock):
                failed = " (failed)" if block.is_error else ""
                head = f"=== {calls.get(block.tool_use_id, 'A tool')}{failed} ==="
                parts.append(f"{head}\n{block.text.rstrip() or '(no output)'}\n")
    text = clean("\n".join(parts))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… and more\n"


def _given(call: ToolUseBlock) -> str:
    """What a call was given: its one text where it has a name for it, else all of it."""
    command = call.input.get("command")
    return command if isinstance(command, str) else json.dumps(call.input, ensure_ascii=False)


def _whole(projects: Path, records: Iterable[Json]) -> Iterator[Json]:
    """The records, with the long outputs that the CLI keeps in files of their own put back."""
    for record in records:
        text = _persisted(projects, record)
        message = cast("Json", record.get("message") or {})
        match message.get("content"):
            case [{"type": "tool_result", **block}] if text is not None:
                whole = {**cast("Json", block), "type": "tool_result", "content": text}
                yield {**record, "message": {**message, "content": [whole]}}
            case _:
                yield record


def _persisted(projects: Path, record: Json) -> str | None:
    result = record.get("toolUseResult")
    if not isinstance(result, dict):
        return None
    name = cast("Json", result).get("persistedOutputPath")
    if not isinstance(name, str):
        return None
    path = Path(name)
    try:
        if not path.resolve().is_relative_to(projects.resolve()):
            return None
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST)
    except OSError:
        return None
