"""Opening whatever lies in the state folder: the file, else its backup, else its readable lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from state.document import Decoded, Document, Unreadable, decode, salvage
from state.files import StateFile, corrupt_mark
from state.migrations import MIGRATIONS, VERSION, Migrations

_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read, what the operator must know, and whether the disk does not yet hold it."""

    document: Document
    notices: tuple[str, ...] = ()
    changed: bool = False


def load(files: StateFile, migrations: Migrations = MIGRATIONS) -> Loaded:
    """Read the state; no content of the files makes this fail, and none is lost.

    Raises OSError where the disk or its permissions do not let the files be read at all.
    """
    files.remove_leftovers()
    notices: list[str] = []
    damaged: list[bytes] = []
    for path in (files.path, files.backup):
        raw = _read(path)
        if raw is None:
            continue
        try:
            found = decode(raw, migrations)
        except Unreadable as error:
            aside = files.set_aside(path, mark=corrupt_mark(), keep=False)
            notices.append(f"{path.name} cannot be read: {error}. It is kept as {aside.name}.")
            damaged.append(raw)
            continue
        if path == files.backup:
            missing = "" if damaged else f"{files.path.name} is missing. "
            notices.append(f"{missing}The backup {path.name} of the state before it was used.")
        notices += _keep_original(files, path, found)
        return Loaded(found.document, tuple(notices), changed=bool(notices))
    return _rescued(damaged, notices)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _keep_original(files: StateFile, path: Path, found: Decoded) -> Iterator[str]:
    """Keep a file that the next write would not reproduce, and say why."""
    if found.version not in (None, VERSION):
        aside = files.set_aside(path, mark=f"v{found.version}", keep=True)
        yield (
            f"{path.name} is of version {found.version}, this program's is {VERSION}: "
            f"what it understands is kept. The file as it was is kept as {aside.name}."
        )
    if found.faults:
        aside = files.set_aside(path, mark=corrupt_mark(), keep=True)
        yield f"Parts of {path.name} are invalid. The file as it was is kept as {aside.name}."
        yield from found.faults[:_FAULTS_SHOWN]
        if (more := len(found.faults) - _FAULTS_SHOWN) > 0:
            yield f"... and {more} more."


def _rescued(damaged: Sequence[bytes], notices: Sequence[str]) -> Loaded:
    for raw in damaged:
        if (document := salvage(raw)).lines:
            notice = f"{len(document.lines)} threads could still be read from the damaged file."
            return Loaded(document, (*notices, notice), changed=True)
    if damaged:
        return Loaded(Document(), (*notices, "The bot starts with an empty state."), changed=True)
    return Loaded(Document())
