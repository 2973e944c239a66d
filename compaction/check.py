"""The rules that a compacted session keeps, each looked for in the file itself.

The checks compare the records of both files and know nothing of how the new one was made, except
for which calls and images were meant to change.
"""

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, cast

from compaction import images
from compaction.chain import Unit
from compaction.decisions import new_text
from compaction.records import (
    Json,
    as_dict,
    blocks,
    dicts,
    is_boundary,
    is_chain,
    is_side,
    message,
    results,
    text_of,
    uses,
)
from compaction.rewrite import LONG, SINGLES, THINKING, Plan, new_uuid
from compaction.transcript import Transcript, replacements

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_THE_FILE = frozenset(
    {"uuid", "parentUuid", "logicalParentUuid", "sessionId", "isSidechain", "timestamp"}
    | {"sourceToolAssistantUUID", "requestRef", "compactMetadata", "message"}
)
"""Keys that a new file may have with other values; the message is compared block by block."""


@dataclass(frozen=True, slots=True)
class Case:
    """A session and what it became."""

    old: Transcript
    new: Transcript
    plan: Plan
    sid: str
    pairs: tuple[tuple[Json, Json | None], ...]
    """Each record of the old conversation with the one that it became."""


def refusals(transcript: Transcript, *, repair: bool = False) -> list[str]:
    """Why a transcript may not be compacted at all.

    A `repair` may touch a session that ends within a tool loop: what the API refused is often the
    image that a tool has just read.
    """
    shown = [unit for unit in transcript.units if unit.kind != "other"]
    if not any(unit.kind == "assistant" for unit in shown):
        return ["there is no conversation yet"]
    calls = [use["id"] for unit in shown for r in unit.records for use in uses(r)]
    answers = [text_of(a["tool_use_id"]) for u in shown for r in u.records for a in results(r)]
    reasons: list[str] = []
    if _twice(calls):
        reasons.append("a tool id is used twice")
    if _twice(answers):
        reasons.append("a call has two results")
    pending = {use["id"] for record in shown[-1].records for use in uses(record)} - {*answers}
    if pending:
        reasons.append("the session ends with a call that has no result")
    elif shown[-1].kind == "results" and not repair:
        reasons.append("the session ends within a tool loop")
    if "a preserved segment that is missing" in transcript.flags:
        reasons.append("an earlier compaction preserved messages that are missing")
    return reasons


def check(old: Transcript, new: Transcript, plan: Plan, sid: str) -> list[str]:
    """Every rule that the new file breaks, in words; an empty list is a file to resume."""
    became = {record["uuid"]: record for record in new.source.records if is_chain(record)}
    session = uuid.UUID(sid)
    pairs = tuple((record, became.get(new_uuid(session, record["uuid"]))) for record in old.records)
    case = Case(old, new, plan, sid, pairs)
    return [complaint for rule in RULES for complaint in rule(case)]


# --- the file as a whole --------------------------------------------------------------------------
def _readable(case: Case) -> Iterator[str]:
    yield from (f"the new file has {flag}" for flag in case.new.flags)


def _tree(case: Case) -> Iterator[str]:
    tree = [record for record in case.new.source.records if is_chain(record)]
    names = [record["uuid"] for record in tree]
    parents = [record.get("parentUuid") for record in tree]
    if _twice(names):
        yield "a uuid is used twice"
    if not all(map(_UUID.fullmatch, names)):
        yield "a uuid is none"
    if parents.count(None) != 1:
        yield "there is not one root"
    if not {parent for parent in parents if parent is not None} <= {*names}:
        yield "a parent is missing"
    if (leaves := {*names} - {*parents}) != {*names[-1:]}:
        yield f"there are {len(leaves)} leaves, or the last record is none"
    if len(case.new.records) != len(tree):
        yield f"of {len(tree)} records {len(case.new.records)} can be reached"
    times = [text_of(record.get("timestamp")) for record in tree]
    if times and max(times) != times[-1]:
        yield "the leaf is not the newest record"


def _alone(case: Case) -> Iterator[str]:
    found = case.new.source.records
    if any(is_side(record) for record in found):
        yield "a record of a subagent came along"
    if any(record.get("sessionId", case.sid) != case.sid for record in found):
        yield "a record names another session"
    if any(is_boundary(r) and r is not case.new.records[0] for r in case.new.records):
        yield "there is a compact boundary in the middle"


def _metadata(case: Case) -> Iterator[str]:
    names = {record["uuid"] for record in case.new.records}
    before, after = _singles(case.old), _singles(case.new)
    if before.keys() != after.keys():
        yield f"metadata came or went: {sorted(before.keys() ^ after.keys())}"
    for kind, record in after.items():
        if "leafUuid" in record and record["leafUuid"] not in names:
            yield f"the leaf of {kind} is missing"
        if _but(record, "sessionId", "leafUuid") != _but(
            before.get(kind, {}), "sessionId", "leafUuid"
        ):
            yield f"{kind} has changed"


def _replacements(case: Case) -> Iterator[str]:
    changed = {name for name, d in case.plan.decisions.items() if new_text(d) is not None}
    there = {name for name, _ in _answers(case.new)}
    before = replacements(case.old.source.records)
    expected = {name: text for name, text in before.items() if name in there - changed}
    if replacements(case.new.source.records) != expected:
        yield "the replacements of oversized results are not those of the results that stay"


# --- the conversation -----------------------------------------------------------------------------
def _calls(case: Case) -> Iterator[str]:
    shown = [unit for unit in case.new.units if unit.kind != "other"]
    called = [name for unit in shown for name in _called(unit)]
    if _twice(called):
        yield "a tool id is used twice"
    for at, unit in enumerate(shown):
        after = shown[at + 1] if at + 1 < len(shown) else None
        before = shown[at - 1] if at else None
        answers = _answered(after) if after is not None else []
        if (names := _called(unit)) and sorted(names) != sorted(answers):
            yield "a call has not one result in the next message"
        if _answered(unit) and (before is None or not _called(before)):
            yield "a result has no call in the message before"


def _roles(case: Case) -> Iterator[str]:
    if _neighbours(case.new) > _neighbours(case.old):
        yield "two answers stand next to each other"


def _texts(case: Case) -> Iterator[str]:
    for role in ("user", "assistant"):
        if list(_said(case.old, role, case.plan.images)) != list(_said(case.new, role)):
            yield f"the text of the {role} is not what it was"


def _thinking(case: Case) -> Iterator[str]:
    edited = False
    every = iter(case.pairs)
    for unit in case.old.units:
        pairs = list(islice(every, len(unit.records)))
        edited = edited or any(_edited(a, b) for a, b in pairs)
        for before, after in pairs:
            kept = [b for b in blocks(after or {}) if b.get("type") in THINKING]
            if edited and kept and unit.kind == "assistant":
                yield "thinking stands behind an edit"
            if not edited and (after is None or _told(before) != _told(after)):
                yield "a message before the first edit has changed"


def _untouched(case: Case) -> Iterator[str]:
    """Records of which no call was meant to change, among them the first and the last ones."""
    meant = case.plan.decisions.keys() | case.plan.unpaired
    for before, after in case.pairs:
        names = {use["id"] for use in uses(before)} | {*_ids(before)}
        if names & meant:
            continue
        if after is None:
            if _spoken(before) or before.get("isCompactSummary"):
                yield "a record that nothing was to change is missing"
        elif before["uuid"] in case.plan.images:
            if _edited(_imaged(before), after) or _constant(before, "toolUseResult") != _constant(
                after, "toolUseResult"
            ):
                yield "of a record more than its images has changed"
        elif _edited(before, after) or _constant(before) != _constant(after):
            yield "a record that nothing was to change has changed"


def _images(case: Case) -> Iterator[str]:
    for before, after in case.pairs:
        if before["uuid"] in case.plan.images and images.count(after or {}):
            yield "an image that was to go is still there"


def _results(case: Case) -> Iterator[str]:
    answers = dict(_answers(case.old))
    for name, block in _answers(case.new):
        if block.get("is_error") != answers.get(name, {}).get("is_error"):
            yield "an error is no longer marked as one, or the other way round"
    changed = {name for name, d in case.plan.decisions.items() if new_text(d) is not None}
    for before, after in case.pairs:
        if after is None:
            continue
        if changed.intersection(_ids(after)) or before["uuid"] in case.plan.images:
            copies = _strings(after.get("toolUseResult"))
            if any(len(text) > LONG for text in copies):
                yield "the host's copy of a changed result is as long as before"


def _inputs(case: Case) -> Iterator[str]:
    for before, after in case.pairs:
        new = {use["id"]: use for use in uses(after or {})}
        for use in uses(before):
            if use["id"] in new and not _shortened(use.get("input"), new[use["id"]].get("input")):
                yield "the input of a call is not the old one with shorter strings"


def _contents(case: Case) -> Iterator[str]:
    for before, after in case.pairs:
        if _is_empty(after) and not _is_empty(before):
            yield "a record has lost its content"


RULES: tuple[Callable[[Case], Iterable[str]], ...] = (
    *(_readable, _tree, _alone, _metadata, _replacements, _calls, _roles, _texts),
    *(_thinking, _untouched, _images, _results, _inputs, _contents),
)


# --- what the rules look at -----------------------------------------------------------------------
def _twice(names: Iterable[str]) -> bool:
    return any(count > 1 for count in Counter(names).values())


def _singles(transcript: Transcript) -> dict[str, Json]:
    """The metadata that holds, by kind."""
    found = [r for r in transcript.source.records if "uuid" not in r]
    return {str(r["type"]): r for r in found if text_of(r.get("type")) in SINGLES}


def _but(record: Mapping[str, Any], *keys: str) -> Json:
    """A record without these keys."""
    return {key: value for key, value in record.items() if key not in keys}


def _constant(record: Json, *besides: str) -> tuple[Json, Json]:
    """What a record says besides its content and its place in the file."""
    return _but(record, *_OF_THE_FILE, *besides), _but(message(record), "content", "usage")


def _told(record: Json) -> Json:
    """The message of a record as the model is shown it."""
    return _but(message(record), "usage")


def _imaged(record: Json) -> Json:
    """A record as it is to be without its images."""
    told = message(record)
    content = images.without_images(told.get("content", []))
    return {**record, "message": {**told, "content": content}}


def _called(unit: Unit) -> list[str]:
    return [use["id"] for record in unit.records for use in uses(record)]


def _answered(unit: Unit) -> list[str]:
    return [name for record in unit.records for name in _ids(record)]


def _ids(record: Json) -> list[str]:
    return [text_of(result["tool_use_id"]) for result in results(record)]


def _answers(transcript: Transcript) -> Iterator[tuple[str, Json]]:
    for record in transcript.records:
        for result in results(record):
            yield text_of(result["tool_use_id"]), result


def _neighbours(transcript: Transcript) -> int:
    """How often an answer follows an answer."""
    kinds = [unit.kind for unit in transcript.units if unit.kind != "other"]
    return sum(a == b == "assistant" for a, b in pairwise(kinds))


def _said(transcript: Transcript, role: str, imaged: frozenset[str] = frozenset()) -> Iterator[str]:
    """The texts of a role; of the `imaged` records also what is to stand for their images."""
    for record in transcript.records:
        if record.get("type") == role:
            for block in blocks(record):
                if block.get("type") == "text":
                    yield text_of(block.get("text"))
                elif block.get("type") == "image" and record["uuid"] in imaged:
                    yield images.IMAGE_REMOVED


def _spoken(record: Json) -> list[Any]:
    """The content of a record without its thinking."""
    content = message(record).get("content")
    if isinstance(content, list):
        return [b for b in cast(list[Any], content) if as_dict(b).get("type") not in THINKING]
    return [content]


def _edited(before: Json, after: Json | None) -> bool:
    """Whether more than thinking has changed."""
    return _spoken(before) != ([] if after is None else _spoken(after))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast(Json, value).values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _strings(item)


def _shortened(before: Any, after: Any) -> bool:
    if isinstance(before, str) and isinstance(after, str):
        return before == after or len(after) < len(before)
    if isinstance(before, dict) and isinstance(after, dict):
        a, b = cast(Json, before), cast(Json, after)
        return a.keys() == b.keys() and all(_shortened(a[key], b[key]) for key in a)
    if isinstance(before, list) and isinstance(after, list):
        c, d = cast(list[Any], before), cast(list[Any], after)
        return len(c) == len(d) and all(map(_shortened, c, d))
    return bool(before == after)


def _is_empty(record: Json | None) -> bool:
    """Whether a record has content, and the content is nothing."""
    if record is None:
        return False
    content = message(record).get("content")
    return content in ("", []) or any(
        block.get("type") == "tool_result" and block.get("content") in ("", [])
        for block in dicts(content)
    )
