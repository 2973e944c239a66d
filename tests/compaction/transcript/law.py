"""The writer's rules once more, written from the files alone: what `compaction.check` is held to.

It shares no code with the package: a mistake there must not hide itself here.
"""

import json
import stat
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]
CHAIN = ("user", "assistant", "system", "attachment")


def content(record: Json) -> list[Json]:
    found = record.get("message", {}).get("content")
    return [{"type": "text", "text": found}] if isinstance(found, str) else found or []


def violations(path: Path) -> list[str]:
    """What is wrong with a new file, whatever it was made of."""
    data = path.read_bytes()
    broken: list[str] = []
    if stat.S_IMODE(path.stat().st_mode) != 0o600:
        broken.append("mode")
    if not data.endswith(b"\n"):
        broken.append("no newline")
    records: list[Json] = [json.loads(line) for line in data.splitlines()]
    tree = [record for record in records if record["type"] in CHAIN]
    broken += _tree(tree)
    if any(record.get("sessionId") != path.stem for record in records):
        broken.append("session id")
    if any(record.get("isSidechain") or record.get("teamName") for record in records):
        broken.append("sidechain")
    if {r.get("leafUuid") for r in records if "leafUuid" in r} - {r["uuid"] for r in tree}:
        broken.append("leafUuid")
    return broken + _conversation(tree)


def _tree(tree: Sequence[Json]) -> list[str]:
    broken: list[str] = []
    names = [record["uuid"] for record in tree]
    if len({*names}) != len(names):
        broken.append("uuid twice")
    if any(str(uuid.UUID(name)) != name for name in names):
        broken.append("no uuid")
    if [record["parentUuid"] for record in tree].count(None) != 1:
        broken.append("roots")
    parents = {record["uuid"]: record["parentUuid"] for record in tree}
    for name in names:
        steps = 0
        at: str | None = name
        while at is not None and steps <= len(names):
            if at not in parents:
                broken.append("parent missing")
                break
            at, steps = parents[at], steps + 1
        if steps > len(names):
            broken.append("cycle")
    leaves = {*names} - {*parents.values()}
    if leaves != {names[-1]}:
        broken.append("leaves")
    if tree[-1]["timestamp"] != max(record["timestamp"] for record in tree):
        broken.append("newest")
    return broken


def _conversation(tree: Sequence[Json]) -> list[str]:
    """Pairs, adjacency, contents, in the messages as the API would get them."""
    messages: list[tuple[str, str, list[Json]]] = []
    for record in tree:
        if record["type"] not in ("user", "assistant") or record.get("isApiErrorMessage"):
            continue
        role, name = record["message"]["role"], record["message"].get("id", "")
        if content(record) == []:
            return ["empty content"]
        last = messages[-1] if messages else None
        if last and last[0] == role and (role == "user" or last[1] == name):
            last[2].extend(content(record))
        else:
            messages.append((role, name, list(content(record))))
    broken: list[str] = []
    seen: set[str] = set()
    for at, (role, _, blocks) in enumerate(messages):
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        following = messages[at + 1][2] if at + 1 < len(messages) else []
        answers = [b["tool_use_id"] for b in following if b["type"] == "tool_result"]
        if role == "assistant" and sorted(calls) != sorted(answers):
            broken.append("pairs")
        if seen & {*calls}:
            broken.append("id twice")
        seen |= {*calls}
    return broken


def texts(records: Sequence[Json], role: str) -> list[str]:
    """All words of a role, in order."""
    return [
        block["text"]
        for record in records
        if record["type"] == role
        for block in content(record)
        if block["type"] == "text"
    ]


def errors(records: Sequence[Json]) -> dict[str, bool]:
    """Which results are marked as errors."""
    return {
        block["tool_use_id"]: block.get("is_error", False)
        for record in records
        if record["type"] == "user"
        for block in content(record)
        if block["type"] == "tool_result"
    }


def images(records: Sequence[Json]) -> list[Json]:
    """All images of users, in their words and in results."""
    blocks = [block for record in records if record["type"] == "user" for block in content(record)]
    inner = [b["content"] for b in blocks if isinstance(b.get("content"), list)]
    return [b for part in [blocks, *inner] for b in part if b.get("type") == "image"]
