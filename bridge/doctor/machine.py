"""What the bot needs of the machine: folders, room on the disk, Linux's ways with processes."""

import ctypes
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridge.doctor.finding import Finding

__all__ = ["claude_folder", "disk", "linux", "project_folder", "state_folder", "user"]

_ROOM = 1 << 30
_PR_GET_CHILD_SUBREAPER = 37


def state_folder(folder: Path) -> Finding:
    """The bot's own folder can be written, is private, and is not in another program's way."""
    name = "state folder"
    if (fault := _unwritable(folder)) is not None:
        return Finding(name, False, fault, (_give(folder), "or name another: BRIDGE_STATE_DIR"))
    if not folder.exists():
        return Finding(name, True, f"{folder} (will be made)")
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        detail = f"{folder} is open to other users ({mode:04o}); it holds what people wrote"
        return Finding(name, None, detail, (f"chmod 700 '{folder}'",))
    holder = _holder(folder / "lock")
    return Finding(name, True, f"{folder}, {holder}" if holder else str(folder))


def project_folder(folder: Path) -> Finding:
    """Sessions can work in their folder, and what they change there can be taken back."""
    name = "project folder"
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        return Finding(
            name, False, f"{folder} {what}", ("name an existing folder: BRIDGE_PROJECT_DIR",)
        )
    if (fault := _unwritable(folder)) is not None:
        return Finding(name, False, fault, (_give(folder), "or name another: BRIDGE_PROJECT_DIR"))
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return Finding(
            name,
            None,
            f"{folder} is no git repository; changes cannot be seen or undone with git",
            (f"git init '{folder}', if it is worth keeping",),
        )
    return Finding(name, True, str(folder))


def claude_folder(environ: Mapping[str, str]) -> Finding:
    """The CLI can keep its transcripts; `environ` is what it will see."""
    name = "Claude's folder"
    home = Path(environ.get("HOME") or Path.home())
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if (fault := _unwritable(folder)) is not None:
        todo = (_give(folder), "or name another: CLAUDE_CONFIG_DIR")
        return Finding(name, False, f"{fault}; sessions cannot be kept", todo)
    return Finding(name, True, str(folder) if folder.exists() else f"{folder} (will be made)")


def disk(folders: Sequence[Path]) -> Finding:
    """Each of the disks that grow has some room left."""
    usage = {
        place.stat().st_dev: (shutil.disk_usage(place).free, place)
        for place in map(_nearest, folders)
    }
    free, place = min(usage.values())
    detail = f"{free / (1 << 30):.1f} GB free at {place}"
    if free < _ROOM:
        return Finding("disk", None, detail, ("make room: transcripts and projects grow",))
    return Finding("disk", True, detail)


def linux() -> Finding:
    """The kernel has what processes are held and ended with."""
    missing: list[str] = []
    if not Path("/proc/self/stat").exists():
        missing.append("/proc is not mounted")
    if (fault := _pidfd_fault()) is not None:
        missing.append(f"pidfd_open does not work ({fault})")
    state = ctypes.c_int()
    if ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(state), 0, 0, 0) != 0:
        missing.append("no sub-reapers (prctl)")
    if missing:
        return Finding("linux", False, "; ".join(missing), ("Linux 5.4 or newer, with /proc",))
    return Finding("linux", True, f"{os.uname().release}: pidfd, sub-reaper, /proc")


def user(permission_mode: str, environ: Mapping[str, str], uid: int) -> Finding:
    """As root the CLI refuses to go without permission checks, unless it is told of a sandbox."""
    if uid != 0:
        return Finding("user", True, f"uid {uid}")
    if permission_mode != "bypassPermissions":
        todo = ("better: a user of its own for the bot",)
        return Finding("user", None, "root: what a session breaks, it breaks for all", todo)
    if environ.get("IS_SANDBOX") == "1":
        return Finding("user", True, "root in a sandbox (IS_SANDBOX=1), no permission checks")
    return Finding(
        "user",
        False,
        "root with BRIDGE_PERMISSION_MODE=bypassPermissions: the CLI refuses to start",
        ("run the bot as an ordinary user", "or, in a throw-away machine only: IS_SANDBOX=1"),
    )


def _give(folder: Path) -> str:
    return f"give the bot's user the right to write {folder}"


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())


def _unwritable(folder: Path) -> str | None:
    """Why no file can be made in `folder`, tried for real: rights alone say too little (root,
    read-only mounts). Nothing is left behind.
    """
    place = _nearest(folder)
    if not place.is_dir():
        return f"{place} is not a folder"
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return f"{place} cannot be written ({error.strerror})"


def _holder(lock: Path) -> str | None:
    """Who holds the state's lock, if anybody does."""
    try:
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return f"held by a running bot (pid {file.read(32).strip() or 'unknown'})"
    except OSError:  # no lock yet
        pass
    return None


def _pidfd_fault() -> str | None:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return error.strerror
    return None
