"""Files on their way to Discord: which may leave, and the folder from which they are sent.

Claude writes into the thread's outbox, `inbox/<thread>/outbox`. At the end of a turn all that is
there moves to a parcel beside it, `inbox/<thread>/parcel-<id>`, which stays until Discord has its
files: a bot that goes away in between finds it again. Everything here blocks, for moments.
"""

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridge.discord_io.outbox import File
from bridge.prompt import as_text, safe_name
from bridge.render.secrets import mask

PER_MESSAGE = 10
"""Files; Discord takes no more in one message."""
_PARCEL = "parcel-"
_ID = re.compile(rf"{_PARCEL}[0-9a-f]{{12}}")
_UNSENT = "unsent"

_CREDENTIALS = re.compile(
    r"\.env(\..*)?|\.?credentials(\..*)?|\.git-credentials|\.netrc|_netrc|\.pgpass|\.npmrc|\.pypirc"
    r"|\.htpasswd|\.claude\.json|\.dockercfg|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|.*\.(pem|key|p12|pfx)"
    r"|.*\.(jks|keystore|kdbx|ppk|ovpn)|(client_)?secrets?(\..*)?|service[-_]account.*\.json",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\.env\.(example|sample|template|dist)|.*\.pub\.pem", re.IGNORECASE)
_PRIVATE = {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".claude", ".gcloud", ".git"}
"""Folders in which nothing is meant for others."""


class Refused(Exception):
    """A file does not leave; the message says why, for Claude and for people."""


def outbox(files: Path) -> Path:
    """Where Claude puts what is to be sent; `files` is the thread's folder."""
    return files / "outbox"


def read(path: Path, roots: Sequence[Path], limit: int) -> File:
    """A file that may leave: within one of `roots`, links resolved, of no more than `limit` bytes.

    The file that was opened is the one that is judged, whatever becomes of its path meanwhile.
    Raises `Refused`.
    """
    try:
        # A pipe must not keep the bot waiting for somebody to write into it.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise Refused(f"it cannot be read ({fault.strerror})") from fault
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        os.close(fd)
        raise Refused("it is not a file")
    with os.fdopen(fd, "rb") as file:
        real = Path(f"/proc/self/fd/{fd}").readlink()
        root = next((r for r in map(Path.resolve, roots) if real.is_relative_to(r)), None)
        if root is None:
            raise Refused("only files of the project folder or of the outbox can be sent")
        if reason := _private(real.relative_to(root)):
            raise Refused(reason)
        if facts.st_size == 0:
            raise Refused("it is empty")
        if facts.st_size > limit:
            size = f"it has {_mb(facts.st_size)} MB, and Discord takes {_mb(limit)} MB here"
            raise Refused(f"{size}; compress or split it, or say where it lies")
        data = file.read(limit + 1)[: facts.st_size]
    text = as_text(data)
    if text is not None and mask(text) != text:
        raise Refused("it holds what looks like a key or a token")
    return File(safe_name(path.name), data)


def _private(path: Path) -> str | None:
    """Why a file is not for others, told by its path within its root."""
    if _CREDENTIALS.fullmatch(path.name) and not _HARMLESS.fullmatch(path.name):
        return "it looks like a file with credentials"
    if folder := next((part for part in path.parts[:-1] if part in _PRIVATE), None):
        return f"nothing in {folder} is sent"
    return None


def _mb(size: int) -> str:
    return f"{size / (1 << 20):.1f}"


# --- parcels --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Parcel:
    """What a turn has left in the outbox, on its way."""

    folder: Path

    @property
    def id(self) -> str:
        """Names it for good; 12 letters and digits."""
        return self.folder.name.removeprefix(_PARCEL)

    @property
    def made(self) -> float:
        """When it was made, in seconds since the epoch."""
        return float(int(self.id[:8], 16))

    def paths(self) -> list[Path]:
        """What is in it, in order; links are in it as they are."""
        return sorted(_leaves(self.folder))

    def done(self) -> None:
        """All that was in it is sent, or set aside: remove it."""
        for folder, _, _ in os.walk(self.folder, topdown=False):
            Path(folder).rmdir()


def collect(files: Path) -> Parcel | None:
    """Make a parcel of what is in the outbox now; None if it is empty."""
    box = outbox(files)
    if box.is_symlink() or not any(_leaves(box)):
        return None
    parcel = files / f"{_PARCEL}{int(time.time()):08x}{secrets.token_hex(2)}"
    box.rename(parcel)
    box.mkdir(mode=0o700)
    return Parcel(parcel)


def parcels(files: Path) -> list[Parcel]:
    """The parcels of a thread that are still on their way."""
    named = (path for path in files.glob(f"{_PARCEL}*") if not path.is_symlink())
    return [Parcel(path) for path in sorted(named) if _ID.fullmatch(path.name)]


def set_aside(parcel: Parcel, path: Path) -> Path:
    """Keep a file that cannot be sent, where Claude finds it; returns its new path."""
    folder = parcel.folder.parent / f"{_UNSENT}-{parcel.id}"
    folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / path.relative_to(parcel.folder).as_posix().replace("/", "-")
    path.rename(kept)
    return kept


def _leaves(folder: Path) -> Iterator[Path]:
    """All that is no folder below a folder; no link is followed."""
    for at, folders, names in os.walk(folder):
        for name in names + [f for f in folders if Path(at, f).is_symlink()]:
            yield Path(at, name)
