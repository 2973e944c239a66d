"""The sessions of a project folder as they lie on disk, those of the terminal included.

Of each file only its beginning and its end are read: a list must be there within the three seconds
that Discord gives a completion, however long the sessions are. Everything here blocks.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bridge import history
from bridge.render.footer import duration
from bridge.render.inline import one_line
from bridge.render.measure import clip
from compaction.sibling import attached

ENDS = 64 << 10
"""Bytes at either end of a file in which its title is looked for."""

MOST = 200
"""Newest sessions that are looked at."""

LONGEST_CHOICE = 100
"""Characters that Discord takes for one completion."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>")
_NOT_SAID = ("<local-command-", "<command-", "<system-reminder", "Caveat: ", "[Request interrupt")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listed:
    """One session: `at` is when it was last written (epoch seconds), `size` in bytes."""

    sid: str
    path: Path
    title: str
    at: float
    size: int
    cwd: str = ""
    cost_usd: float = 0.0
    """What the session has cost so far, by the CLI's own record at its end."""

    def choice(self, now: float) -> str:
        """The session on one line of a completion."""
        age = "just now" if now - self.at < 60 else f"{_age(now - self.at)} ago"
        facts = f" · {age} · {_size(self.size)}"
        room = LONGEST_CHOICE - len(facts)  # in characters; a column may take several
        return f"{clip(self.title, room)[:room]}{facts}"


def is_sid(text: str) -> bool:
    """Whether this can be a session's id, and nothing else."""
    return _UUID.fullmatch(text) is not None


def sessions(projects: Path, cwd: str) -> list[Listed]:
    """The sessions of a folder, newest first; those in which nothing was said are left out."""
    folder = projects / history.project_folder_name(cwd)
    dated: list[tuple[float, Path]] = []
    for path in folder.glob("*.jsonl"):
        try:
            dated.append((path.stat().st_mtime, path))
        except OSError:
            continue
    newest = (path for _, path in sorted(dated, reverse=True)[:MOST] if is_sid(path.stem))
    return [found for found in map(look, newest) if found is not None]


def find(projects: Path, sid: str, cwd: str) -> Listed | None:
    """One session by its id, of this folder or of any other."""
    path = history.find_transcript(projects, sid, cwd) if is_sid(sid) else None
    return look(path) if path else None


def look(path: Path) -> Listed | None:
    """What there is to say of one file; None if it is no session with words in it."""
    try:
        with path.open("rb") as file:
            status = path.stat()
            head = file.read(ENDS)
            file.seek(max(0, status.st_size - ENDS))
            tail = file.read(ENDS) if status.st_size > ENDS else head
    except OSError:
        return None
    first, last = list(_records(head)), list(_records(tail))
    if not first or first[0].get("isSidechain"):
        return None
    title = _title(first, last)
    if not title:
        return None
    return Listed(
        sid=path.stem,
        path=path,
        title=one_line(title),
        at=status.st_mtime,
        size=status.st_size,
        cwd=next((text for r in first if (text := _text(r.get("cwd")))), ""),
        cost_usd=_cost(last),
    )


def holder(path: Path) -> int | None:
    """The process that has a session open; one that has ended and was not collected has not."""
    pid = attached(path)
    return pid if pid is not None and not _is_zombie(pid) else None


def held(projects: Path, sid: str, cwd: str) -> int | None:
    """The process that has a session open, by the session's id."""
    path = history.find_transcript(projects, sid, cwd)
    return holder(path) if path else None


def _is_zombie(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]


def matching(found: list[Listed], typed: str) -> list[Listed]:
    """Those whose title or id has all the words that somebody typed."""
    words = typed.casefold().split()
    return [s for s in found if all(w in f"{s.title} {s.sid}".casefold() for w in words)]


def _title(first: list[Json], last: list[Json]) -> str:
    """The title that a person gave, else the CLI's, else a summary, else what was asked first."""
    for key in ("customTitle", "aiTitle", "summary"):
        for found in (reversed(last), reversed(first)):
            text = next((t for record in found if (t := _text(record.get(key)))), "")
            if text:
                return text
    said = next(_said(first), "")
    return said or next((t for r in reversed(last) if (t := _text(r.get("lastPrompt")))), "")


def _said(records: list[Json]) -> Iterator[str]:
    """What the person said, oldest first; the name of a command only if there is nothing else."""
    commands: list[str] = []
    for record in records:
        if record.get("type") != "user" or record.get("isMeta") or record.get("isCompactSummary"):
            continue
        for text in _texts(record):
            if command := _COMMAND.search(text):
                commands.append(command[1])
            elif text.strip() and not text.strip().startswith(_NOT_SAID):
                yield text
    yield from commands


def _texts(record: Json) -> Iterator[str]:
    message: object = record.get("message")
    content: object = cast("Json", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in cast("list[object]", content):
            if isinstance(block, dict) and cast("Json", block).get("type") == "text":
                yield _text(cast("Json", block).get("text"))


def _records(block: bytes) -> Iterator[Json]:
    """The whole lines of a part of a file; a torn one is passed over."""
    for line in block.split(b"\n"):
        try:
            record: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield cast("Json", record)


def _cost(last: list[Json]) -> float:
    for record in reversed(last):
        cost: object = record.get("totalCostUSD")
        if record.get("type") == "cost-state" and isinstance(cost, int | float):
            return max(0.0, float(cost))
    return 0.0


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _age(seconds: float) -> str:
    return f"{seconds / 86400:.0f} days" if seconds >= 2 * 86400 else duration(seconds)


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
