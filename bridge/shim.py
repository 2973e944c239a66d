"""The small program that stands between the bot and one Claude Code process, and outlives the bot.

A CLI that is a direct child of the bot dies with it (its pipes break), or lives on unowned and
writes to a session that the next bot resumes too. containerd's shims and podman's conmon answer
the same problem: a process per workload that is too simple to need a restart holds the pipes, reaps
the children and writes down how it ended, while the daemon comes and goes.

    python -I -S shim.py RUN_DIR [--orphan-timeout S] [--grace S] [--stderr-limit BYTES] -- CLI ...

The run directory (0700, made by the bot) is the whole interface:
  in, out    FIFOs, made here unless they are there. The shim holds both open for reading and
             writing, so that the CLI sees neither EOF nor EPIPE when the bot goes. The CLI gets
             one plain end of each, and nothing else.
  attached   whoever talks to the CLI holds flock(LOCK_EX) on it. Take it with a call that waits:
             the shim takes it for an instant now and then to learn whether anybody is there.
  ready      {"pid", "started", "child", "child_started"}: the CLI runs. Start times are clock ticks
             after boot, as in /proc. The same line goes to standard output, which then closes, so
             that a parent can await it.
  closing    {"reason"}: stdin of the CLI is being closed, no further prompt will be read.
  stderr     what the CLI says there, the newest part; `stderr.1` is the part before it.
  out.rest   what nobody had read from `out` at the end. Who attaches cannot know whether the end
             has come: take the lock, open `out` without blocking, read `out.rest`, then `out`.
  exit.json  {"code", "signal", "ended", "reason", "left"}, written before `out` closes. `reason`
             is what asked for the end: exit (nothing did), eof, term or orphan; `left` counts
             descendants that even SIGKILL did not end.

SIGHUP closes stdin of the CLI: a running turn finishes, then the CLI ends by itself. SIGTERM and
SIGINT climb the whole ladder, a grace time apart: stdin, SIGTERM, SIGKILL; a repeated one takes the
next rung at once. When nobody was attached for the orphan timeout, stdin is closed; when nobody
came for as long again, the ladder goes on. However the CLI ends, every descendant ends with it: the
shim is their sub-reaper, so they become its children whatever session or environment they made for
themselves, and a child's pid cannot be reused before the shim reaps it, so no stranger is ever hit.

Only the standard library, and little of it: one of these runs for every session.
"""

# No pathlib: it alone would cost a megabyte.
# ruff: noqa: PTH100, PTH105, PTH123, PTH208

import ctypes
import fcntl
import os
import select
import signal
import sys
import time
from contextlib import suppress

PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36

PIPE_SIZE = 1 << 20  # The most that an unprivileged user may ask for by default.
CHUNK = 1 << 16
WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
FOREVER = float("inf")

# How long descendants may take over SIGTERM once the CLI itself is gone, and over SIGKILL: a
# process in uninterruptible sleep must not keep the bot from learning that the CLI has ended.
TREE_GRACE = 1.0
TREE_PATIENCE = 10.0
# How long a bot that is attached may take to read the last output while the shim keeps it safe.
DRAIN_PATIENCE = 60.0

OPEN, CLOSED, TERMED, KILLED, GIVEN_UP = range(5)


class Options:
    """The command line: where to work, what to run, how long to wait, in seconds and bytes."""

    def __init__(self, argv: list[str]) -> None:
        at = argv.index("--")
        (run_dir, *rest), self.command = argv[:at], argv[at + 1 :]
        given = dict(zip(rest[::2], rest[1::2], strict=True))
        self.run_dir = os.path.abspath(run_dir)
        self.orphan_timeout = float(given.pop("--orphan-timeout", 3600))
        self.grace = float(given.pop("--grace", 5))
        self.stderr_limit = int(given.pop("--stderr-limit", 1 << 18))
        if given or not self.command:
            raise ValueError(f"unknown options {sorted(given)} or no command")


class Ladder:
    """How far the end of the CLI has gone and when the next rung is due: decisions, no acts."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self.rung = OPEN
        self.reason = "exit"
        self.due = FOREVER

    def hang_up(self) -> None:
        """Close stdin and leave it at that."""
        if self.rung == OPEN:
            self.rung, self.reason = CLOSED, "eof"

    def terminate(self, now: float) -> None:
        """Take the next rung, and the ones above it a grace time apart."""
        self.reason = "term"
        self._climb(now)

    def forsake(self, now: float) -> None:
        """Nobody came for the orphan timeout: close stdin, or go on if that was done before."""
        if self.due != FOREVER or self.rung > CLOSED:
            return
        self.reason = "orphan"
        if self.rung == OPEN:
            self.rung = CLOSED
        else:
            self._climb(now)

    def tick(self, now: float) -> None:
        """Take the next rung if it is due."""
        if now >= self.due:
            self._climb(now)

    def _climb(self, now: float) -> None:
        self.rung = min(self.rung + 1, GIVEN_UP)
        self.due = now + self.grace if self.rung < GIVEN_UP else FOREVER


class Attendance:
    """Whether anybody holds the lock on `attached`, looked at now and then."""

    def __init__(self, path: str, timeout: float, now: float) -> None:
        self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._timeout = timeout
        # Often enough for the timeout to mean something, seldom enough to let the machine sleep.
        self._interval = min(max(timeout / 8, 0.02), 30.0)
        self._seen = now
        self.due = now + self._interval

    def look(self, now: float) -> bool:
        """True, and the lock is ours, when nobody was attached for the whole orphan timeout."""
        self.due = now + self._interval
        if not self.claim():
            self._seen = now
        elif now - self._seen >= self._timeout:
            self._seen = now
            return True
        else:
            self.release()
        return False

    def claim(self) -> bool:
        """Keep everybody from attaching, unless somebody is attached."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_UN)


class StderrLog:
    """The newest part of what the CLI says on stderr: two files of at most `limit` bytes each."""

    def __init__(self, path: str, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._size = 0

    def write(self, data: bytes) -> None:
        with suppress(OSError):  # A full disk costs the log; it must not stall or end the CLI.
            while data:
                if self._size >= self._limit:
                    os.replace(self._path, self._path + ".1")
                    self._size = 0
                part = data[: self._limit - self._size]
                append(self._path, part)
                self._size += len(part)
                data = data[len(part) :]


class Signals:
    """The signals that the shim lives by, as bytes in a pipe that can be polled."""

    def __init__(self) -> None:
        self.pipe, writer = os.pipe()
        os.set_blocking(self.pipe, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, heed)
        # The bot may have been started with some of them blocked, and that is inherited.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def take(self) -> bytes:
        return read_now(self.pipe) or b""


def heed(number: int, frame: object) -> None:
    """Keep a signal from its default; the pipe says the rest."""


class Family:
    """The CLI and all that descends from it: started here, reaped here, ended here."""

    def __init__(self, command: list[str], stdin: str, stdout: str, stderr: int) -> None:
        self.status: int | None = None
        # posix_spawn runs no Python between fork and exec. The CLI leads a process group of its
        # own, so that the group can be signalled without the shim.
        self.cli = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, stderr, 2),
            ],
            setpgroup=0,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )

    def reap(self) -> bool:
        """Collect every child that has ended; False when there is no child at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.cli:
                self.status = os.waitstatus_to_exitcode(status)

    def signal_cli(self, number: int) -> None:
        if self.status is None:
            os.kill(self.cli, number)

    def signal_children(self, number: int, spare: set[int]) -> None:
        """Signal every direct child that is not in `spare`, and add it there."""
        for pid in children(os.getpid()):
            if pid not in spare:
                spare.add(pid)
                deliver(pid, number)


def deliver(child: int, number: int) -> None:
    """Signal a child that is not reaped yet; SIGKILL goes to its whole process group.

    Only the kernel can kill a group between two forks of it, and only descendants can be in one:
    a group stays within its session, and the shim leads its own.
    """
    with suppress(PermissionError):  # It has changed its user, as sudo does.
        group = os.getpgid(child)
        if number == signal.SIGKILL and group != os.getpgrp():
            os.killpg(group, number)
        else:
            os.kill(child, number)


def stat(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the name before them may hold anything."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].decode().split()


def started(pid: int) -> int:
    return int(stat(pid)[19])


def children(parent: int) -> list[int]:
    """The direct children, by a walk over /proc: not every kernel offers them as a file."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError):  # It may end meanwhile.
                if int(stat(name)[1]) == parent:
                    found.append(int(name))
    return found


def make_pipe(path: str) -> int:
    """A FIFO that stays open, as large as the kernel grants."""
    with suppress(FileExistsError):  # The bot makes them first if it is in a hurry to write.
        os.mkfifo(path, 0o600)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    size = PIPE_SIZE
    while size > CHUNK:
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
            break
        except OSError:
            size //= 2  # The user's pipes share one allowance.
    return pipe


def read_now(pipe: int) -> bytes | None:
    """A chunk of what a non-blocking pipe holds; None if that is nothing, b"" if it has ended."""
    try:
        return os.read(pipe, CHUNK)
    except BlockingIOError:
        return None


def append(path: str, data: bytes) -> None:
    file = os.open(path, WRITE | os.O_APPEND, 0o600)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def publish(path: str, text: str) -> None:
    """Let a small file appear whole or not at all."""
    with suppress(OSError):  # A full disk must not keep the shim from ending its CLI.
        append(path + ".tmp", text.encode())
        os.replace(path + ".tmp", path)


def save_rest(pipe: int, path: str) -> None:
    """Move what is left in a pipe to a file; no file where there is nothing."""
    with suppress(OSError):
        for _ in range(PIPE_SIZE // CHUNK + 1):  # Somebody who would not go may still write.
            if data := read_now(pipe):
                append(path, data)


def detach() -> None:
    """Become a session of its own, the reaper of all descendants, and known to `ps`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    libc.prctl(PR_SET_NAME, b"claude-shim", 0, 0, 0)
    if os.getsid(0) != os.getpid() != os.getpgrp():
        os.setsid()


class Shim:
    """One CLI from its start to its `exit.json`."""

    def __init__(self, options: Options) -> None:
        now = time.monotonic()
        self.run_dir = options.run_dir
        self.signals = Signals()
        self.log = StderrLog(self.path("stderr"), options.stderr_limit)
        self.stderr, self.stderr_writer = os.pipe()
        os.set_blocking(self.stderr, False)
        self.attendance = Attendance(self.path("attached"), options.orphan_timeout, now)
        self.ladder = Ladder(options.grace)
        self.stdin = make_pipe(self.path("in"))
        self.stdout = make_pipe(self.path("out"))
        self.poll = select.poll()
        self.poll.register(self.signals.pipe, select.POLLIN)
        self.poll.register(self.stderr, select.POLLIN)

    def path(self, name: str) -> str:
        return f"{self.run_dir}/{name}"

    def run(self, command: list[str]) -> None:
        try:
            family = Family(command, self.path("in"), self.path("out"), self.stderr_writer)
        except OSError as error:
            self.log.write(f"cannot start {command[0]}: {error.strerror}\n".encode())
            self.farewell(status=127, left=0)
            return
        os.close(self.stderr_writer)
        self.announce(family)
        self.attend(family)
        left = self.end_tree(family)
        while self.drain():
            pass
        self.farewell(family.status, left)

    def announce(self, family: Family) -> None:
        pid, cli = os.getpid(), family.cli
        ready = (
            f'{{"pid": {pid}, "started": {started(pid)},'
            f' "child": {cli}, "child_started": {started(cli)}}}\n'
        )
        publish(self.path("ready"), ready)
        with suppress(OSError):  # The parent need not listen.
            os.write(1, ready.encode())
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for standard in range(3):
            os.dup2(null, standard)
        os.close(null)

    def attend(self, family: Family) -> None:
        """Wait for the end of the CLI, and bring it about when somebody asks or nobody comes."""
        ladder, reached = self.ladder, OPEN
        while family.reap() and family.status is None and reached < GIVEN_UP:
            for caught in self.wait(min(ladder.due, self.attendance.due)):
                if caught == signal.SIGHUP:
                    ladder.hang_up()
                elif caught in (signal.SIGTERM, signal.SIGINT):
                    ladder.terminate(time.monotonic())
            now = time.monotonic()
            ladder.tick(now)
            forsaken = now >= self.attendance.due and self.attendance.look(now)
            if forsaken:
                ladder.forsake(now)
            family.reap()
            while reached < ladder.rung:
                reached += 1
                self.act(family, reached)
            if forsaken:
                # Not before `closing` is there: who attaches now must be able to see it.
                self.attendance.release()

    def act(self, family: Family, rung: int) -> None:
        if rung == CLOSED:
            publish(self.path("closing"), f'{{"reason": "{self.ladder.reason}"}}\n')
            os.close(self.stdin)
        elif rung == TERMED:
            family.signal_cli(signal.SIGTERM)
        elif rung == KILLED:
            family.signal_cli(signal.SIGKILL)

    def end_tree(self, family: Family) -> int:
        """End what the CLI left behind; answers how many would not go."""
        began = time.monotonic()
        warned: set[int] = set()
        while family.reap():
            elapsed = time.monotonic() - began
            if elapsed >= TREE_GRACE + TREE_PATIENCE:
                return len(children(os.getpid()))
            if elapsed < TREE_GRACE:
                family.signal_children(signal.SIGTERM, spare=warned)
            else:
                family.signal_children(signal.SIGKILL, spare=set())
            # Deeper descendants become children without a signal that says so.
            self.wait(time.monotonic() + 0.02)
        return 0

    def wait(self, until: float) -> bytes:
        """Sleep until a signal, a line of stderr or a moment comes; answers the signals."""
        timeout = max(0.0, until - time.monotonic())
        for pipe, events in self.poll.poll(timeout * 1000):
            if pipe == self.stderr and not self.drain() and events & select.POLLHUP:
                self.poll.unregister(pipe)
        return self.signals.take()

    def drain(self) -> bool:
        """Log a chunk of stderr; False if there is none now."""
        data = read_now(self.stderr)
        self.log.write(data or b"")
        return bool(data)

    def farewell(self, status: int | None, left: int) -> None:
        """Say how it ended; then keep `out` until it is read, or save it where nobody reads."""
        alone = self.attendance.claim()
        if alone:
            save_rest(self.stdout, self.path("out.rest"))
        publish(
            self.path("exit.json"),
            f'{{{outcome(status)}, "ended": {time.time():.3f},'
            f' "reason": "{self.ladder.reason}", "left": {left}}}\n',
        )
        unread = select.poll()
        unread.register(self.stdout, select.POLLIN)
        patience = time.monotonic() + DRAIN_PATIENCE
        while not alone and unread.poll(0) and time.monotonic() < patience:
            time.sleep(0.005)
            if self.attendance.claim():  # It died on us in the middle of reading.
                save_rest(self.stdout, self.path("out.rest"))
                return


def outcome(status: int | None) -> str:
    """An exit code, or a signal as a negative one, as members of a JSON object."""
    if status is None:
        return '"code": null, "signal": null'
    if status < 0:
        return f'"code": null, "signal": {-status}'
    return f'"code": {status}, "signal": null'


def main(argv: list[str]) -> int:
    try:
        options = Options(argv)
    except ValueError as error:
        os.write(2, f"shim: {error}\n".encode())
        return 64
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    detach()
    shim = Shim(options)
    try:
        shim.run(options.command)
    except Exception as error:
        # Standard error leads nowhere by now.
        shim.log.write(f"the shim failed: {error!r}\n".encode())
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
