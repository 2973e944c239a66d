"""A session as it was before one of its prompts, in a file of its own."""

import json
import os
import uuid
from pathlib import Path
from typing import Any, cast


class NothingBefore(Exception):
    """The prompt is the first of its session."""


def before(path: Path, prompt_id: str) -> Path:
    """Write a sibling that ends before the prompt; the file itself if the prompt is not in it.

    Blocks. A crash leaves no sibling or a whole one. Raises `NothingBefore`, and `OSError`.
    """
    end = _place(path, prompt_id)
    if end is None:
        return path
    sid = str(uuid.uuid4())
    draft = path.with_name(f".{sid}.draft")
    old, new = (f'"sessionId":"{each}"'.encode() for each in (path.stem, sid))
    spoken = False
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with path.open("rb") as source, os.fdopen(handle, "wb") as target:
            while source.tell() < end:
                line = source.readline()
                spoken = spoken or b'"type":"assistant"' in line
                target.write(line.replace(old, new))
            target.flush()
            os.fsync(target.fileno())
        if not spoken:
            raise NothingBefore
        sibling = path.with_name(f"{sid}.jsonl")
        draft.rename(sibling)
    finally:
        draft.unlink(missing_ok=True)
    return sibling


def _place(path: Path, prompt_id: str) -> int | None:
    """Where the line of the prompt begins, in bytes."""
    needle = prompt_id.encode()
    with path.open("rb") as source:
        start = 0
        for line in source:
            if needle in line and _is(line, prompt_id):
                return start
            start += len(line)
    return None


def _is(line: bytes, prompt_id: str) -> bool:
    try:
        record: object = json.loads(line)
    except ValueError:
        return False
    if not isinstance(record, dict):
        return False
    found = cast("dict[str, Any]", record)
    return found.get("type") == "user" and found.get("uuid") == prompt_id
