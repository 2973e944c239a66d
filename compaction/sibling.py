"""The file of a compacted session beside the original: whole and checked, or not there at all."""

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from compaction import records
from compaction.check import check, refusals
from compaction.decisions import Decision
from compaction.images import Images
from compaction.records import Json, as_dict
from compaction.rewrite import Plan, plan, rewrite
from compaction.transcript import Transcript


class Refused(Exception):
    """Nothing was written, and these are the reasons."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class NothingToDo(Refused):
    """No decision changes anything that may be changed."""


@dataclass(frozen=True, slots=True)
class Written:
    """A new session, ready to be resumed; sizes in tokens of the context and in bytes."""

    path: Path
    sid: str
    before_tokens: int
    after_tokens: int
    before_bytes: int
    after_bytes: int
    applied: Mapping[str, Decision]
    """The decisions that held, as they were applied."""


def write(
    transcript: Transcript,
    decisions: Mapping[str, Decision],
    *,
    folder: Path | None = None,
    sid: str | None = None,
    images: Images = False,
    planned: Plan | None = None,
) -> Written:
    """Write the session as decided into a new file; raises `Refused` if it may not be.

    `folder` is that of the original unless named. `images` lets those of old turns go, too, or
    "all" of them: the repair of a session that the API refuses because of an image. `planned` is
    the plan for just these, if the caller has made it. A crash at any point leaves no new session
    or a whole one; at most a hidden file that is no session is left.
    """
    sid = sid or str(uuid.uuid4())
    planned = planned or plan(transcript, decisions, images)
    if reasons := [*_in_use(transcript), *refusals(transcript, repair=images == "all")]:
        raise Refused(*reasons)
    if not planned:
        raise NothingToDo("no decision changes anything")
    path = (folder or transcript.path.parent) / f"{sid}.jsonl"
    if path.exists():
        raise Refused(f"there is a session {sid} already")
    draft = path.with_name(f".{sid}.draft")
    draft.unlink(missing_ok=True)
    try:
        _put(draft, rewrite(transcript, planned, sid))
        new = Transcript.read(draft)
        if broken := check(transcript, new, planned, sid):
            raise Refused(*broken)
        if reasons := _in_use(transcript):
            raise Refused(*reasons)
        try:
            # Unlike a rename, a link never replaces what came there meanwhile.
            os.link(draft, path)
        except FileExistsError:
            raise Refused(f"there is a session {sid} already") from None
    finally:
        draft.unlink(missing_ok=True)
    _sync(path.parent)
    return Written(
        path=path,
        sid=sid,
        before_tokens=planned.before_tokens,
        after_tokens=planned.after_tokens,
        before_bytes=transcript.source.stamp.size,
        after_bytes=new.source.stamp.size,
        applied=planned.decisions,
    )


def attached(path: Path) -> int | None:
    """The process that has a session open, by the CLI's own register of running processes."""
    register = path.parent.parent.parent / "sessions"
    for entry in sorted(register.glob("*.json")) if register.is_dir() else ():
        try:
            data = as_dict(json.loads(entry.read_bytes()))
            pid = int(data.get("pid") or entry.stem)
            if data.get("sessionId") == path.stem and _alive(pid, data.get("procStart")):
                return pid
        except (OSError, ValueError, TypeError):
            continue
    return None


def _in_use(transcript: Transcript) -> list[str]:
    """Why a transcript may not be compacted just now."""
    try:
        changed = records.stamp(transcript.path) != transcript.source.stamp
    except OSError:
        changed = True
    pid = attached(transcript.path)
    return [
        *(["the file has changed since it was read"] if changed else []),
        *([f"process {pid} has the session open"] if pid is not None else []),
    ]


def _put(path: Path, found: Iterable[Json]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.writelines(map(records.dump, found))
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the folder's new entry last over a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _alive(pid: int, started: object) -> bool:
    """Whether a process runs that is the registered one, and no later one with its number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    # The name in parentheses may hold anything; the start is the 20th field behind it.
    return not isinstance(started, str) or status.rpartition(")")[2].split()[19] == started
