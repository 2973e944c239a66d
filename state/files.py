"""The state file on disk: replaced as a whole or not at all, and never thrown away unread."""

import contextlib
import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path


class StateFile:
    """`state.json` in one folder, its `.bak`, and the copies that were set aside.

    All methods block on the disk and raise OSError. The caller holds the folder's lock.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "state.json"
        self.backup = folder / "state.json.bak"
        self._temporary = folder / "state.json.tmp"
        self._next_backup = folder / "state.json.bak.tmp"

    def remove_leftovers(self) -> None:
        """Remove what a write that was killed half-way has left."""
        self._temporary.unlink(missing_ok=True)
        self._next_backup.unlink(missing_ok=True)

    def replace(self, content: Iterable[bytes]) -> None:
        """Make `content` the file, durably; the file that was there becomes the backup.

        `state.json` itself exists at every moment: a kill leaves the old one or the new one.
        """
        descriptor = os.open(
            self._temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            for piece in content:
                left = memoryview(piece)
                while left:
                    left = left[file.write(left) :]
            os.fsync(file.fileno())
        self._keep_backup()
        self._temporary.replace(self.path)
        self._sync_folder()

    def set_aside(self, path: Path, *, mark: str, keep: bool) -> Path:
        """Give `path` a second name that says what it is; the first one goes unless `keep`.

        The file must not be written in place afterwards: both names may be the same file.
        """
        endings = (f"{mark}-{number}" if number > 1 else mark for number in count(1))
        names = (path.with_name(f"{path.name}.{ending}") for ending in endings)
        aside = next(name for name in names if _duplicated(path, name))
        if not keep:
            path.unlink()
        return aside

    def _keep_backup(self) -> None:
        # After a kill between the two renames both names are one file, and renaming a file to
        # itself does nothing: the second name would stay and be in the way of the next write.
        self._next_backup.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            duplicate(self.path, self._next_backup)
            self._next_backup.replace(self.backup)
        self._next_backup.unlink(missing_ok=True)

    def _sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def corrupt_mark() -> str:
    """The ending under which an unreadable file is kept."""
    return f"corrupt-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def duplicate(source: Path, target: Path) -> None:
    """Let `target` be `source` by a hard link, or by a copy where the file system has none.

    Raises FileExistsError rather than overwrite.
    """
    try:
        os.link(source, target)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        with source.open("rb") as old, target.open("xb") as new:
            os.fchmod(new.fileno(), 0o600)
            shutil.copyfileobj(old, new)
            new.flush()
            os.fsync(new.fileno())


def _duplicated(source: Path, target: Path) -> bool:
    try:
        duplicate(source, target)
    except FileExistsError:
        return False
    return True
