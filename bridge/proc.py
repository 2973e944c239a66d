"""What /proc knows about processes, and the only way in which the bot signals one.

A pid alone names nobody: it is reused. Everything here speaks of an `Identity`, and every answer
may be "gone", because a process can end between any two lines of this module.
"""

import os
import select
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARKER = "CLAUDE_BRIDGE_MARKER"
"""The environment variable that a CLI and all its descendants inherit from the bot."""

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """One process for all time (until a reboot): its pid and its start in ticks after boot."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class Stat:
    """The part of /proc/PID/stat that says who a process is and who its parent is."""

    identity: Identity
    parent: int
    zombie: bool


def parse_stat(line: bytes) -> Stat:
    """Read one line of /proc/PID/stat; ValueError if it is none.

    The second field is the name in parentheses, and a name may hold spaces, parentheses and lines.
    """
    pid, _, rest = line.partition(b" (")
    fields = rest.rpartition(b") ")[2].split()
    try:
        state, parent, started = fields[0], fields[1], fields[19]
    except IndexError:
        raise ValueError(f"not a stat line: {line[:80]!r}") from None
    return Stat(Identity(int(pid), int(started)), int(parent), zombie=state in b"ZXx")


def identity(pid: int) -> Identity | None:
    """Who has this pid now; a zombie has ended and counts as nobody."""
    stat = _stat(pid)
    return None if stat is None or stat.zombie else stat.identity


def alive(who: Identity) -> bool:
    return identity(who.pid) == who


def parent(pid: int) -> int | None:
    """The parent of a process, of a zombie too."""
    stat = _stat(pid)
    return stat.parent if stat else None


def pids(uid: int | None = None) -> Iterator[int]:
    """All processes, or those of one user."""
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            with suppress(OSError):
                if uid is None or entry.stat().st_uid == uid:
                    yield int(entry.name)


def environ(pid: int) -> Mapping[str, str] | None:
    """The environment that a process was started with; None if it is gone or not ours to read."""
    block = _read(pid, "environ")
    if block is None:
        return None
    pairs = (os.fsdecode(item).partition("=") for item in block.split(b"\0") if b"=" in item)
    return {name: value for name, _, value in pairs}


def marker(pid: int) -> str | None:
    """The marker that a process carries, cheaper than its whole environment."""
    block = _read(pid, "environ")
    name = MARKER.encode() + b"="
    if block is None or name not in block:
        return None
    for item in block.split(b"\0"):
        if item.startswith(name):
            return os.fsdecode(item.removeprefix(name))
    return None


def cmdline(pid: int) -> tuple[str, ...]:
    """The arguments of a process, empty if it is gone."""
    block = _read(pid, "cmdline") or b""
    return tuple(os.fsdecode(item) for item in block.rstrip(b"\0").split(b"\0")) if block else ()


def rss(pid: int) -> int:
    """Resident memory in bytes, 0 if the process is gone."""
    statm = _read(pid, "statm")
    return int(statm.split()[1]) * _PAGE if statm else 0


def age(who: Identity) -> float:
    """Seconds since a process started."""
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - who.started / _TICKS)


def children(pid: int) -> list[Identity]:
    """The living direct children."""
    return [
        stat.identity
        for other in pids()
        if (stat := _stat(other)) and stat.parent == pid and not stat.zombie
    ]


def descendants(pid: int) -> list[Identity]:
    """The living children, their children and so on, nearer ones first."""
    families: dict[int, list[Stat]] = {}
    for other in pids():
        if stat := _stat(other):
            families.setdefault(stat.parent, []).append(stat)
    found: list[Identity] = []
    generation = families.get(pid, [])
    while generation:
        found += [stat.identity for stat in generation if not stat.zombie]
        generation = [child for stat in generation for child in families.get(stat.identity.pid, [])]
    return found


def signal_exactly(who: Identity, carried: str | None, number: signal.Signals) -> bool:
    """Signal a process if it still is the one that is meant; False if it is not, or is gone.

    `carried` is the marker that it must have in its environment, None for a direct child of ours.
    The pidfd is opened first and checked after: from then on the pid may be reused, the fd may not.
    """
    try:
        fd = os.pidfd_open(who.pid)
    except (ProcessLookupError, PermissionError):
        return False
    try:
        if not alive(who) or (carried is not None and marker(who.pid) != carried):
            return False
        signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(fd)
    return True


def wait_gone(who: Collection[Identity], timeout: float) -> bool:
    """Block until all of them have ended or the seconds are over; True if all have ended.

    It blocks its thread: on an event loop, call it in another one.
    """
    deadline = time.monotonic() + timeout
    poll = select.poll()
    open_fds: set[int] = set()
    try:
        for one in who:
            # Opened, then checked: see `signal_exactly`.
            with suppress(ProcessLookupError):
                fd = os.pidfd_open(one.pid)
                open_fds.add(fd)
                if alive(one):
                    poll.register(fd, select.POLLIN)
                else:
                    open_fds.remove(fd)
                    os.close(fd)
        while open_fds and (left := deadline - time.monotonic()) > 0:
            for fd, _ in poll.poll(left * 1000):
                poll.unregister(fd)
                open_fds.remove(fd)
                os.close(fd)
        return not open_fds
    finally:
        for fd in open_fds:
            os.close(fd)


def _stat(pid: int) -> Stat | None:
    line = _read(pid, "stat")
    return parse_stat(line) if line else None


def _read(pid: int, name: str) -> bytes | None:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        # Gone, or another user's; ESRCH may come in the middle of the read.
        return None
