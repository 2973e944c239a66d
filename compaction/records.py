"""The lines of a transcript file as records, read so that no line can make the reading fail.

A record is the plain dictionary of its line. What stands before the last compact boundary is not
parsed, except for metadata and for the messages that the boundary preserves.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

Json = dict[str, Any]

CHAIN_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""The types of records that form the tree of the conversation."""

_NEVER_NEEDED = (
    b'{"type":"api-request',
    b'{"type":"queue-operation"',
    b'{"type":"file-history-snapshot"',
)
"""Lines that no new file carries on, and that need not be parsed."""

_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]+)"')


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what a change of a file is noticed."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: records from the last boundary on, and the metadata of the whole file."""

    records: tuple[Json, ...]
    preserved: tuple[Json, ...]
    """The records before the boundary that it preserves, in file order."""
    stamp: Stamp
    flags: tuple[str, ...]


def stamp(path: Path) -> Stamp:
    """The present stamp of a file."""
    status = path.stat()
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


def read(path: Path) -> Source:
    """Read a file; raises only what opening and reading it raises."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        lines = file.readlines()
    flags: list[str] = []
    if lines and not lines[-1].endswith(b"\n"):
        flags.append("a last line without its end")
        if not isinstance(parse(lines[-1]), dict):
            flags.append("a torn last line")
            lines.pop()
    start, boundary = _last_boundary(lines)
    head: list[Json] = []
    preserved: list[Json] = []
    if boundary is not None:
        preserved = list(_preserved(lines[:start], boundary))
        head = [r for r in _parsed(_metadata_lines(lines[:start]), []) if not is_chain(r)]
    del lines[:start]
    return Source(
        records=(*head, *_parsed(_drain(lines), flags)),
        preserved=tuple(preserved),
        stamp=Stamp(status.st_size, status.st_mtime_ns, status.st_ino),
        flags=tuple(dict.fromkeys(flags)),
    )


def parse(line: bytes) -> object:
    """The JSON value of a line, or None where there is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def dump(record: Mapping[str, Any]) -> bytes:
    """A record as its line, compact like the CLI's own."""
    try:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can hold
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


# --- what a record says ---------------------------------------------------------------------------
def is_chain(record: Mapping[str, Any]) -> bool:
    """Whether a record belongs to the tree of the conversation."""
    return record.get("type") in CHAIN_TYPES and isinstance(record.get("uuid"), str)


def is_side(record: Mapping[str, Any]) -> bool:
    """Whether a record belongs to a subagent or to a team-mate, not to the session itself."""
    return bool(record.get("isSidechain") or record.get("teamName"))


def is_boundary(record: Mapping[str, Any]) -> bool:
    """Whether a record marks a compaction by the CLI."""
    return (
        record.get("type") == "system"
        and record.get("subtype") == "compact_boundary"
        and is_chain(record)
        and not is_side(record)
    )


def is_shown(record: Mapping[str, Any]) -> bool:
    """Whether the model is shown a record as a message of the conversation."""
    return (
        record.get("type") in ("user", "assistant")
        and not record.get("isApiErrorMessage")
        and not (record.get("type") == "assistant" and message(record).get("model") == SYNTHETIC)
    )


SYNTHETIC = "<synthetic>"
"""The model that the CLI names where it speaks itself."""


def message(record: Mapping[str, Any]) -> Json:
    """The API message of a record; empty where it has none."""
    found: Json | None = record.get("message")
    return found if isinstance(found, dict) else {}


def blocks(record: Mapping[str, Any]) -> list[Json]:
    """The content blocks of a record; a plain string is one text block."""
    content = message(record).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return dicts(content)


def uses(record: Mapping[str, Any]) -> list[Json]:
    """The tool calls of a record."""
    return _named(record, "assistant", "tool_use", "id")


def results(record: Mapping[str, Any]) -> list[Json]:
    """The tool results of a record."""
    return _named(record, "user", "tool_result", "tool_use_id")


def _named(record: Mapping[str, Any], role: str, kind: str, key: str) -> list[Json]:
    """The blocks of a kind that name a call."""
    if record.get("type") != role:
        return []
    content: list[Json | None] | None = message(record).get("content")
    if not isinstance(content, list):
        return []
    return [
        block
        for block in content
        if isinstance(block, dict) and block.get("type") == kind and isinstance(block.get(key), str)
    ]


def text_of(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> Json:
    """The value if it is a dictionary, else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def dicts(value: object) -> list[Json]:
    """Those elements of a list that are dictionaries; none where it is no list."""
    if not isinstance(value, list):
        return []
    return [cast(Json, x) for x in cast(list[object], value) if isinstance(x, dict)]


# --- reading --------------------------------------------------------------------------------------
def _drain(lines: list[bytes]) -> Iterator[bytes]:
    """The lines, each released once it is taken: parsed and raw at once would be twice the file."""
    for at in range(len(lines)):
        line, lines[at] = lines[at], b""
        yield line


def _parsed(lines: Iterable[bytes], flags: list[str]) -> Iterator[Json]:
    for line in lines:
        if line.startswith(_NEVER_NEEDED) or not line.strip():
            continue
        record = parse(line)
        if isinstance(record, dict):
            yield cast(Json, record)
        else:
            flags.append("a line that is no record")


def _last_boundary(lines: Sequence[bytes]) -> tuple[int, Json | None]:
    """Where the last compact boundary stands, and its record; 0 and None where there is none."""
    for at in range(len(lines) - 1, -1, -1):
        if b"compact_boundary" in lines[at]:
            record = parse(lines[at])
            if isinstance(record, dict) and is_boundary(cast(Json, record)):
                return at, cast(Json, record)
    return 0, None


def _metadata_lines(lines: Sequence[bytes]) -> Iterator[bytes]:
    # In a string the quotes would be escaped, so that this is the key itself.
    return (line for line in lines if b'"parentUuid":' not in line)


def preserved_uuids(boundary: Mapping[str, Any]) -> tuple[set[str], tuple[str, str] | None]:
    """What a boundary preserves: the uuids that it lists, or the head and the tail of a segment."""
    metadata = as_dict(boundary.get("compactMetadata"))
    listed = as_dict(metadata.get("preservedMessages"))
    names: object = listed.get("allUuids") or listed.get("uuids")
    if isinstance(names, list):
        return {text_of(name) for name in cast(list[object], names)} - {""}, None
    segment = as_dict(metadata.get("preservedSegment"))
    head, tail = text_of(segment.get("headUuid")), text_of(segment.get("tailUuid"))
    return set(), (head, tail) if head and tail else None


def anchor(boundary: Mapping[str, Any]) -> str:
    """The uuid behind which a boundary puts what it preserves; empty where it names none."""
    metadata = as_dict(boundary.get("compactMetadata"))
    for key in ("preservedMessages", "preservedSegment"):
        if name := text_of(as_dict(metadata.get(key)).get("anchorUuid")):
            return name
    return ""


def _preserved(lines: Sequence[bytes], boundary: Json) -> Iterator[Json]:
    names, segment = preserved_uuids(boundary)
    if segment is not None:
        records = [r for r in _parsed(lines, []) if is_chain(r) and not is_side(r)]
        names = _between(records, *segment)
        yield from (record for record in records if record["uuid"] in names)
        return
    wanted = {name.encode() for name in names}
    for line in lines if wanted else ():
        if not wanted.isdisjoint(_UUID.findall(line)):
            record = parse(line)
            if isinstance(record, dict) and cast(Json, record).get("uuid") in names:
                yield cast(Json, record)


def _between(records: Sequence[Json], head: str, tail: str) -> set[str]:
    """The uuids from the tail up to the head; empty where the way is broken."""
    parents = {record["uuid"]: record.get("parentUuid") for record in records}
    names: set[str] = set()
    at: object = tail
    while isinstance(at, str) and at in parents and at not in names:
        names.add(at)
        if at == head:
            return names
        at = parents[at]
    return set()
