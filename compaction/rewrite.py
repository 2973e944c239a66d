"""The records of a new session: those of the old one after a strategy's decisions.

Nothing here touches a file. The old records are never changed; the same decisions and the same new
session id give the same bytes.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from compaction import images as pictures
from compaction.chain import Unit
from compaction.decisions import CLEARED, Decision, apply, new_input, new_text
from compaction.estimate import IMAGE_TOKENS, message_tokens, tokens
from compaction.images import Images
from compaction.messages import Message
from compaction.records import (
    Json,
    as_dict,
    blocks,
    dicts,
    is_boundary,
    message,
    results,
    text_of,
    uses,
)
from compaction.transcript import Transcript, replacements

LONG = 200
"""Strings of a host-side copy that are longer go when the result they copy goes."""

MANY = 20
"""Lists of a host-side copy that are longer go, too."""

EXACT = 0.9
"""The API's own count over the estimate, which is a little too high."""

_CONTEXT = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")

SINGLES = frozenset(
    {"custom-title", "ai-title", "tag", "agent-name", "agent-color", "agent-setting", "mode"}
    | {"permission-mode", "pr-link", "worktree-state", "relocated", "last-prompt", "summary"}
    | {"cost-state"}
)
"""Metadata of which the last record of a kind holds, and which belongs to the conversation."""

THINKING = ("thinking", "redacted_thinking")
"""Blocks that are signed for the conversation before them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done to which unit: the decisions that hold, and what is left out."""

    decisions: Mapping[str, Decision]
    unpaired: frozenset[str]
    """Calls without a result and results without a call, which the CLI never sends."""
    before_tokens: int
    """In the context, by the API's own count where there is one."""
    after_tokens: int
    images: frozenset[str] = frozenset()
    """The uuids of the records whose images go, those in results included."""

    def __bool__(self) -> bool:
        return bool(self.decisions or self.images)


def plan(transcript: Transcript, decisions: Mapping[str, Decision], images: Images = False) -> Plan:
    """The decisions that hold: they change something, and what they change may be changed.

    `images` of old turns go if they may be changed, too; only "all" knows no such bounds.
    """
    calls = {use["id"]: (unit, use) for unit, record in _walk(transcript) for use in uses(record)}
    answers = {
        text_of(result["tool_use_id"]): result
        for _, record in _walk(transcript)
        for result in results(record)
    }
    unpaired = frozenset(answers.keys() ^ calls.keys())
    pinned = pinned_ids(transcript.units) | unpaired
    stubs = replacements(transcript.source.records)
    held: dict[str, Decision] = {}
    for name, wanted in decisions.items():
        if name not in calls or name in pinned:
            continue
        unit, use = calls[name]
        decision = _traced(wanted, unit)
        if _changes(decision, use, answers[name], stubs.get(name)):
            held[name] = decision
    planned = Plan(held, unpaired, 0, 0)
    gone = _images(transcript, planned, images) if images else {}
    before, after = _sizes(transcript, held, sum(gone.values()))
    return replace(planned, before_tokens=before, after_tokens=after, images=frozenset(gone))


def _images(transcript: Transcript, planned: Plan, images: Images) -> dict[str, int]:
    """How many images go from which record, of those that the decisions leave."""
    every, pinned = transcript.records, frozenset[str]()
    if images != "all":
        pinned = {r["uuid"] for unit in _pinned_units(transcript.units) for r in unit.records}
        every = pictures.of_old_turns(every)
    return {
        record["uuid"]: found
        for record in every
        if record.get("type") == "user" and record["uuid"] not in pinned
        if (found := pictures.count(_edit(record, planned) or {}))
    }


def _walk(transcript: Transcript) -> Iterator[tuple[Unit, Json]]:
    return ((unit, record) for unit in transcript.units for record in unit.records)


def _traced(decision: Decision, unit: Unit) -> Decision:
    """The decision, but a stub where words would tell of a call that is not there."""
    if decision.action == "drop_call" and _speaks(unit):
        return replace(decision, action="stub")
    return decision


def _speaks(unit: Unit) -> bool:
    silent = ("tool_use", *THINKING)
    return any(b.get("type") not in silent for record in unit.records for b in blocks(record))


def _changes(decision: Decision, use: Json, result: Json, stub: str | None) -> bool:
    if decision.action in ("keep", "drop_call"):
        return decision.action == "drop_call"
    old = as_dict(use.get("input"))
    if new_input(decision, old) is not old:
        return True
    text = new_text(decision)
    if text is None:
        return False
    seen = result.get("content") if stub is None else stub
    return seen != (text if text.strip() else CLEARED)


def pinned_ids(units: Sequence[Unit]) -> frozenset[str]:
    """Calls that are never edited: of the first message, of the last answer, of a preserved one."""
    return frozenset(
        name
        for unit in _pinned_units(units)
        for record in unit.records
        for name in (
            *(use["id"] for use in uses(record)),
            *(text_of(result["tool_use_id"]) for result in results(record)),
        )
    )


def _pinned_units(units: Sequence[Unit]) -> list[Unit]:
    shown = [unit for unit in units if unit.kind != "other"]
    last = max((i for i, unit in enumerate(shown) if unit.kind == "assistant"), default=0)
    return [*shown[:1], *shown[last:], *(unit for unit in shown if unit.preserved)]


def rewrite(transcript: Transcript, planned: Plan, sid: str) -> list[Json]:
    """The records of the session `sid`, conversation first, metadata last."""
    out: list[Json] = []
    names: dict[str, str] = {}
    session = uuid.UUID(sid)
    edited = False
    for unit in transcript.units:
        kept: list[Json] = []
        for record in unit.records:
            after = _edit(record, planned)
            edited = edited or after is not record
            if after is not None:
                kept.append(after)
        if edited and unit.kind == "assistant":
            kept = _without_thinking(kept)
        for record in kept:
            copy = _renamed(record, session, out[-1]["uuid"] if out else None, names)
            out.append(copy)
    _finish(out)
    if transcript.counted:
        _lower_usage(out, planned.before_tokens - planned.after_tokens)
    return [*out, *_metadata(transcript, planned, sid, names, out)]


# --- one record -----------------------------------------------------------------------------------
def _edit(record: Json, planned: Plan) -> Json | None:
    """The record after the plan: itself if untouched, None if nothing of it is left."""
    content = message(record).get("content")
    if not isinstance(content, list):
        return record
    before = cast(list[Any], content)
    after = [block for old in before if (block := _edit_block(old, planned)) is not None]
    if record["uuid"] in planned.images:
        after = pictures.without_images(after)
    if len(after) == len(before) and all(a is b for a, b in zip(after, before, strict=True)):
        return record
    if not after:
        return None
    copy = {**record, "message": {**message(record), "content": after}}
    if "toolUseResult" in record:
        copy["toolUseResult"] = shrunk(record["toolUseResult"])
    return copy


def _edit_block(block: Any, planned: Plan) -> Any:
    found = as_dict(block)
    kind = found.get("type")
    name = text_of(found.get("id" if kind == "tool_use" else "tool_use_id"))
    if kind not in ("tool_use", "tool_result") or not name:
        return block
    if name in planned.unpaired:
        return None
    decision = planned.decisions.get(name)
    if decision is None:
        return block
    if decision.action == "drop_call":
        return None
    if kind == "tool_use":
        old = as_dict(found.get("input"))
        new = new_input(decision, old)
        return block if new is old else {**found, "input": dict(new)}
    text = new_text(decision)
    if text is None:
        return block
    return {**found, "content": text if text.strip() else CLEARED}


def shrunk(value: Any) -> Any:
    """A host-side copy of a result in its own shape, without what made it large."""
    if isinstance(value, str):
        return value if len(value) <= LONG else CLEARED
    if isinstance(value, list):
        items = cast(list[Any], value)
        return [shrunk(item) for item in items] if len(items) <= MANY else []
    if isinstance(value, dict):
        return {key: shrunk(item) for key, item in cast(Json, value).items()}
    return value


def _without_thinking(kept: Sequence[Json]) -> list[Json]:
    """The records of a message without its thinking; without the message if it only thought."""
    out: list[Json] = []
    for record in kept:
        content = message(record).get("content")
        if not isinstance(content, list):
            out.append(record)
            continue
        before = cast(list[Any], content)
        after = [block for block in before if as_dict(block).get("type") not in THINKING]
        if len(after) == len(before):
            out.append(record)
        elif after:
            out.append({**record, "message": {**message(record), "content": after}})
    return out


def _renamed(record: Json, session: uuid.UUID, parent: str | None, names: dict[str, str]) -> Json:
    """A copy that belongs to the new session; `names` learns its new uuid."""
    name = names[record["uuid"]] = new_uuid(session, record["uuid"])
    copy = {**record, "parentUuid": parent, "uuid": name, "isSidechain": False}
    copy["sessionId"] = str(session)
    if "logicalParentUuid" in record:
        copy["logicalParentUuid"] = names.get(text_of(record["logicalParentUuid"]))
    if "sourceToolAssistantUUID" in record:
        source = names.get(text_of(copy.pop("sourceToolAssistantUUID")))
        if source is not None:
            copy["sourceToolAssistantUUID"] = source
    # It names a log record of the old file that does not come along.
    copy.pop("requestRef", None)
    if is_boundary(record):
        # What it preserved stands behind it in the new file.
        metadata = dict(as_dict(record.get("compactMetadata")))
        for key in ("preservedSegment", "preservedMessages"):
            metadata.pop(key, None)
        copy["compactMetadata"] = metadata
    return copy


def new_uuid(session: uuid.UUID, old: str) -> str:
    """The uuid of an old record in the new session, always the same."""
    return str(uuid.uuid5(session, old))


def _finish(out: list[Json]) -> None:
    """Give the last record the newest timestamp: by it some versions find the leaf."""
    times = [time for record in out if (time := text_of(record.get("timestamp")))]
    if times and text_of(out[-1].get("timestamp")) != max(times):
        out[-1] = {**out[-1], "timestamp": max(times)}


def _sizes(transcript: Transcript, held: Mapping[str, Decision], images: int) -> tuple[int, int]:
    """The tokens in the context before and after: the API's count, less what goes."""
    touched = [m for m in transcript.messages if not held.keys().isdisjoint(_names(m))]
    saved = sum(map(message_tokens, touched))
    saved -= sum(map(message_tokens, apply(touched, held)))
    saved += images * (IMAGE_TOKENS - tokens(pictures.IMAGE_REMOVED))
    before = transcript.tokens
    if transcript.counted:
        saved = round(saved * EXACT)
    else:  # the messages tell only of the images in results
        shown = (r for unit in transcript.units if unit.kind == "user" for r in unit.records)
        before += IMAGE_TOKENS * sum(map(pictures.count, shown))
    return before, max(before - saved, before // 50)


def _names(said: Message) -> list[str]:
    return [part.tool_use_id for part in (*said.tool_uses, *said.tool_results)]


def _lower_usage(out: list[Json], saved: int) -> None:
    """Let the last answer tell of the context as it is now.

    The CLI adds the next prompt to these numbers: left as they were, they would make it compact
    the session by itself right after the resume.
    """
    last = next((r for r in reversed(out) if as_dict(message(r).get("usage"))), None)
    name = message(last).get("id") if last else None
    for at, record in enumerate(out):
        told = message(record)
        usage = as_dict(told.get("usage"))
        if saved > 0 and usage and (record is last or (name and told.get("id") == name)):
            lowered = {key: value for key, value in usage.items() if key != "iterations"}
            excess = saved
            for kind in _CONTEXT:
                value = lowered.get(kind)
                if isinstance(value, int):
                    lowered[kind] = max(value - excess, 0)
                    excess -= value - lowered[kind]
            out[at] = {**record, "message": {**told, "usage": lowered}}


# --- metadata -------------------------------------------------------------------------------------
def _metadata(
    transcript: Transcript, planned: Plan, sid: str, names: Mapping[str, str], out: list[Json]
) -> Iterator[Json]:
    last: dict[str, Json] = {}
    for record in transcript.source.records:
        kind = text_of(record.get("type"))
        if kind in SINGLES and "uuid" not in record:
            last.pop(kind, None)
            last[kind] = record
    leaf = out[-1]["uuid"] if out else None
    for record in last.values():
        copy = dict(record)
        if "sessionId" in copy:
            copy["sessionId"] = sid
        if "leafUuid" in copy:
            copy["leafUuid"] = names.get(text_of(copy["leafUuid"]), leaf)
        yield copy
    kept = _kept_replacements(transcript, planned, out)
    if kept:
        yield {"type": "content-replacement", "sessionId": sid, "replacements": kept}


def _kept_replacements(transcript: Transcript, planned: Plan, out: Sequence[Json]) -> list[Json]:
    """The replacements of results that are there and that no decision has changed."""
    present = {text_of(result["tool_use_id"]) for record in out for result in results(record)}
    found: dict[str, Json] = {}
    for record in transcript.source.records:
        if record.get("type") == "content-replacement" and not record.get("agentId"):
            for entry in dicts(record.get("replacements")):
                found[text_of(entry.get("toolUseId"))] = entry
    changed = {name for name, d in planned.decisions.items() if new_text(d) is not None}
    return [entry for name, entry in found.items() if name in present and name not in changed]
