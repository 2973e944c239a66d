"""Which session a compacted one came from: a manifest beside it, and the way back.

`<session>/compaction.json` in the project's folder is written before the session itself, so that
no compacted session lacks it; what a crash leaves without its session is swept away later.
"""

import json
import os
import shutil
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from compaction.archive import FOLDER
from compaction.rewrite import new_uuid
from compaction.sibling import Refused, attached
from compaction.transcript import Transcript

NAME = "compaction.json"
ABANDONED = 3600.0
"""Seconds after which a folder whose session never came is a crash's."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a compacted session; `source` is the id of the one that it was made of."""

    sid: str
    source: str
    at: float
    strategy: str
    before_tokens: int
    after_tokens: int
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of the files in the archive, by the ids of their calls."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The session to go back to, and how many of a person's prompts since it does not know."""

    sid: str
    path: Path
    since: int
    removed: bool
    """The compacted session had nothing of its own and is gone."""


class NotCompacted(Exception):
    """A session was not made by a compaction, or what it was made of is gone."""


@contextmanager
def beside(source: Path, manifest: Manifest, contents: Mapping[str, str]) -> Generator[None]:
    """Write archive and manifest of a session that the block writes; no trace stays if it fails."""
    folder = source.parent / manifest.sid
    draft = source.parent / f".{manifest.sid}.{FOLDER}.draft"
    try:
        draft.mkdir(mode=0o700)
        if contents:
            archive = draft / FOLDER
            archive.mkdir(mode=0o700)
            for name, text in contents.items():
                _put(archive / name, text)
        _put(draft / NAME, json.dumps({"version": 1, **asdict(manifest)}, indent=1) + "\n")
        # A folder is whole or not there, so that a crash leaves none that nobody knows to be ours.
        draft.rename(folder)
        yield
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        raise


def manifest_of(path: Path) -> Manifest | None:
    """The manifest of a session, by the path of its transcript; None if it was not compacted."""
    return _read(path.with_suffix("") / NAME)


def origin(path: Path) -> list[Path]:
    """The sessions that a session was made of, the nearest first, as far as they are there."""
    found: list[Path] = []
    while (manifest := manifest_of(path)) is not None:
        path = path.with_name(f"{manifest.source}.jsonl")
        if path in found or not path.is_file():
            break
        found.append(path)
    return found


def undo(path: Path) -> Undone:
    """Go back from a compacted session to the one that it was made of, which is as it was.

    A compacted session in which nothing was said since is removed with its archive: it can be made
    again at any time. One in which something was said stays, and so does one from which a later
    session came, whose stubs may name its files. Raises `NotCompacted`, and `Refused` while a
    process has the session open.
    """
    manifest = manifest_of(path)
    if manifest is None:
        raise NotCompacted(f"session {path.stem} was not made by a compaction")
    source = path.with_name(f"{manifest.source}.jsonl")
    if not source.is_file():
        raise NotCompacted(f"session {manifest.source}, which it was made of, is gone")
    if (pid := attached(path)) is not None:
        raise Refused(f"process {pid} has the session open")
    since = said_since(path, source)
    removed = not since and not _has_heirs(path)
    if removed:
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    return Undone(manifest.source, source, since, removed)


def is_fresh(path: Path, strategy: str) -> bool:
    """Whether a session was made by this strategy and nothing was said in it since."""
    manifest = manifest_of(path)
    if manifest is None or manifest.strategy != strategy:
        return False
    source = path.with_name(f"{manifest.source}.jsonl")
    return source.is_file() and not said_since(path, source)


def said_since(path: Path, source: Path) -> int:
    """How many prompts a compacted session has that the one it was made of does not have."""
    session = uuid.UUID(path.stem)
    old = {new_uuid(session, str(record["uuid"])) for record in Transcript.read(source).records}
    new = Transcript.read(path)
    return sum(
        unit.kind == "user" and any(record["uuid"] not in old for record in unit.records)
        for unit in new.units
    )


def sweep(project: Path, *, retention_days: float, now: float | None = None) -> list[Path]:
    """Remove archives that nobody needs any more; returns the folders that lost theirs.

    That is: those of a crashed compaction, those of sessions that are gone together with all that
    came of them, and, with a retention, those of sessions that were not used for so long. One that
    any other session's file names, a fork's for example, counts as used with that session.
    """
    now = time.time() if now is None else now
    _sweep_drafts(project, now)
    manifests = {
        found.sid: (entry.parent, found)
        for entry in project.glob(f"*/{NAME}")
        if (found := _read(entry)) is not None
    }
    used = {sid: _used(project / f"{sid}.jsonl") for sid in manifests}
    # A stub outlives the session in which it was made: it may stand in every later one.
    for sid, (_, found) in sorted(manifests.items(), key=lambda item: -item[1][1].at):
        if found.source in used:
            used[found.source] = max(used[found.source], used[sid])
    gone: list[Path] = []
    for sid, (folder, found) in manifests.items():
        last = used[sid]
        old = retention_days > 0 and last and now - last > retention_days * 86400
        if old or (not last and now - found.at > ABANDONED):
            named = _named_last(project, sid)
            if named and not (retention_days > 0 and now - named > retention_days * 86400):
                continue
            shutil.rmtree(folder / FOLDER, ignore_errors=True)
            if not last:
                (folder / NAME).unlink(missing_ok=True)
                with suppress(OSError):
                    folder.rmdir()
            gone.append(folder)
    return gone


def _sweep_drafts(project: Path, now: float) -> None:
    """Remove what crashed compactions were about to write."""
    for entry in project.glob(".*.draft"):
        if now - _used(entry) > ABANDONED:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _named_last(project: Path, sid: str) -> float:
    """When a session was last used whose file names the archive of another; 0 = there is none."""
    words = f"{sid}/{FOLDER}/".encode()
    others = (path for path in project.glob("*.jsonl") if path.stem != sid)
    return max((_used(path) for path in others if _holds(path, words)), default=0.0)


def _holds(path: Path, words: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return any(words in line for line in file)
    except OSError:
        return False


def _has_heirs(path: Path) -> bool:
    """Whether another session there was made of this one."""
    entries = path.parent.glob(f"*/{NAME}")
    return any((found := _read(entry)) and found.source == path.stem for entry in entries)


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> Manifest | None:
    try:
        data = cast("dict[str, Any]", json.loads(path.read_bytes()))
        return Manifest(
            sid=path.parent.name,
            source=str(data["source"]),
            at=float(data["at"]),
            strategy=str(data["strategy"]),
            before_tokens=int(data["before_tokens"]),
            after_tokens=int(data["after_tokens"]),
            files=dict(data.get("files") or {}),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _put(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(text)
