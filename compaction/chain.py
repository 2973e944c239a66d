"""The conversation that the CLI would resume, out of all the records of a file.

Records form a tree: the results of parallel calls hang each on its own call, abandoned branches
stay in the file, and parents may be missing. The leaf is the last record in the file that has no
children; the way from it to the root is the conversation, completed by the calls and results of the
same API messages.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.records import (
    Json,
    Source,
    anchor,
    is_boundary,
    is_chain,
    is_shown,
    is_side,
    message,
    preserved_uuids,
    results,
    text_of,
    uses,
)

Kind = Literal["assistant", "results", "user", "other"]


@dataclass(frozen=True, slots=True)
class Unit:
    """Neighbouring records that belong together: those of one API message, or one that is none."""

    kind: Kind
    records: tuple[Json, ...]
    preserved: bool = False
    """Whether an earlier compaction preserved it; it is kept as it is."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The conversation in order, and what was odd on the way."""

    units: tuple[Unit, ...]
    flags: tuple[str, ...]


def chain(source: Source) -> Chain:
    """The conversation of a file; empty where it has none."""
    flags: list[str] = []
    records = _main_records(source.records, flags)
    leaves = _leaves(records)
    path = _path(leaves[-1] if leaves else None, records, flags)
    members = _with_parallel(path, list(records.values()))
    if not {*leaves} <= {record["uuid"] for record in members}:
        flags.append("branches that were left")
    preserved = {record["uuid"] for record in source.preserved}
    members = _with_preserved(members, source.preserved, flags)
    told = [record for record in members if record["type"] != "progress"]
    return Chain(
        units=tuple(_units(told, preserved)),
        flags=tuple(dict.fromkeys(flags)),
    )


def _main_records(records: Iterable[Json], flags: list[str]) -> dict[str, Json]:
    """The records of the session's own tree by uuid, in file order."""
    found: dict[str, Json] = {}
    for record in records:
        if not is_chain(record) or is_side(record):
            continue
        if record["uuid"] in found:
            flags.append("a uuid twice")
            continue
        found[record["uuid"]] = record
    return found


def _leaves(records: Mapping[str, Json]) -> list[str]:
    """The records that are nobody's parent and have a message on their way up, in file order."""
    parents = {text_of(record.get("parentUuid")) for record in records.values()}
    ends = [uuid for uuid in records if uuid not in parents]
    # Where every record is somebody's parent there is a cycle, and the last record must do.
    return [uuid for uuid in ends if _speaks(uuid, records)] or list(records)[-1:]


def _speaks(uuid: str, records: Mapping[str, Json]) -> bool:
    seen: set[str] = set()
    at = uuid
    while at in records and at not in seen:
        seen.add(at)
        record = records[at]
        if record.get("type") in ("user", "assistant"):
            return not record.get("isMeta")
        at = text_of(record.get("parentUuid"))
    return False


def _path(leaf: str | None, records: Mapping[str, Json], flags: list[str]) -> list[Json]:
    """The way from the root to a leaf; a missing parent is bridged by the record before it."""
    order = list(records)
    place = {uuid: at for at, uuid in enumerate(order)}
    seen: set[str] = set()
    path: list[Json] = []
    at = leaf
    while at is not None:
        seen.add(at)
        record = records[at]
        path.append(record)
        parent = record.get("parentUuid")
        if parent is None or is_boundary(record):
            break
        if text_of(parent) in seen:
            flags.append("a cycle")
            break
        if text_of(parent) in records:
            at = text_of(parent)
            continue
        flags.append("a parent that is missing")
        before = order[place[at] - 1] if place[at] else None
        at = None if before in seen else before
    path.reverse()
    return path


def _with_parallel(path: Sequence[Json], records: Sequence[Json]) -> list[Json]:
    """The path, with the calls and results that its API messages have on side branches.

    Calls of one message stand together, and their results right behind them.
    """
    on_path = {record["uuid"] for record in path}
    ids = {_message_id(record) for record in path} - {""}
    groups: dict[str, list[Json]] = {}
    for record in records:
        if (name := _message_id(record)) in ids:
            groups.setdefault(name, []).append(record)
    answers = _answers(records, on_path)
    out: list[Json] = []
    emitted: set[str] = set()

    def emit(record: Json) -> None:
        if record["uuid"] not in emitted:
            emitted.add(record["uuid"])
            out.append(record)

    for record in path:
        if record["uuid"] in emitted:
            continue
        group = groups.get(_message_id(record), [record])
        for member in group:
            emit(member)
        calls = {use["id"] for member in group for use in uses(member)}
        for answer in _ordered(answers.get(call) for call in calls):
            emit(answer[1])
    return out


def _ordered(answers: Iterable[tuple[int, Json] | None]) -> list[tuple[int, Json]]:
    """Answers in file order, each record once."""
    found = {answer[0]: answer for answer in answers if answer is not None}
    return [found[at] for at in sorted(found)]


def _answers(records: Sequence[Json], on_path: set[str]) -> dict[str, tuple[int, Json]]:
    """The record that answers each call: the one on the path, else the first in the file."""
    found: dict[str, tuple[int, Json]] = {}
    for at, record in enumerate(records):
        for result in results(record):
            name = text_of(result["tool_use_id"])
            before = found.get(name)
            if before is None or (record["uuid"] in on_path and before[1]["uuid"] not in on_path):
                found[name] = (at, record)
    return found


def _message_id(record: Json) -> str:
    return text_of(message(record).get("id")) if record.get("type") == "assistant" else ""


def _with_preserved(members: list[Json], preserved: Sequence[Json], flags: list[str]) -> list[Json]:
    """The members with what a boundary preserves put behind its anchor, as the CLI does."""
    boundary = next((record for record in members if is_boundary(record)), None)
    if boundary is None:
        return members
    names, segment = preserved_uuids(boundary)
    inside = {record["uuid"] for record in members}
    kept = [record for record in preserved if record["uuid"] not in inside]
    if (names and not names <= inside | {r["uuid"] for r in kept}) or (segment and not kept):
        flags.append("a preserved segment that is missing")
    if not kept:
        return members
    behind = {anchor(boundary), boundary["uuid"]}
    at = max(i for i, record in enumerate(members) if record["uuid"] in behind)
    return [*members[: at + 1], *kept, *members[at + 1 :]]


def _units(members: Sequence[Json], preserved: set[str]) -> Iterator[Unit]:
    group: list[Json] = []
    kind: Kind = "other"
    name = ""
    for record in members:
        its_kind, its_name = _kind(record)
        joins = its_kind == kind and (
            kind == "results" or (kind == "assistant" and its_name == name != "")
        )
        if group and not joins:
            yield _unit(kind, group, preserved)
            group = []
        kind, name = its_kind, its_name
        group.append(record)
    if group:
        yield _unit(kind, group, preserved)


def _unit(kind: Kind, group: list[Json], preserved: set[str]) -> Unit:
    return Unit(kind, tuple(group), any(record["uuid"] in preserved for record in group))


def _kind(record: Json) -> tuple[Kind, str]:
    if not is_shown(record):
        return "other", ""
    if record["type"] == "assistant":
        return "assistant", _message_id(record)
    return ("results" if results(record) else "user"), ""
