"""One running CLI behind its shim: its pipes, its questions and answers, its end.

The shim (`bridge/shim.py`) holds both FIFOs open, so a `LiveProcess` can be made anew over the
same run folder after a restart of the bot: see `attach`.
"""

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import secrets
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bridge import protocol
from bridge.proc import Identity, signal_exactly
from bridge.protocol import ControlReply, Event, System
from state import Process

log = logging.getLogger(__name__)

READ_SIZE = 1 << 20
MAX_LINE = 256 << 20
"""Bytes after which a line without an end is given up; the CLI's own lines stay far below."""

_TORN = "writing"
"""While this file is in a run folder, a line is on its way into the CLI's stdin."""

_STDERR_TAIL = 4000
_LOCK_TRIES = 50


class ProcessGone(Exception):
    """The process ended before it could take what was sent or answer what was asked."""


@dataclass(frozen=True)
class Exit:
    """How a process ended. `code` and `signal` are both None if its shim was killed."""

    code: int | None
    signal: int | None
    stderr: str

    @property
    def clean(self) -> bool:
        """The shim itself saw the end, and ended all that descended from the CLI."""
        return self.code is not None or self.signal is not None

    @property
    def reason(self) -> str:
        """In words, for a person."""
        if self.signal is not None:
            with contextlib.suppress(ValueError):
                return f"it was ended by {signal.Signals(self.signal).name}"
            return f"it was ended by signal {self.signal}"
        if self.code is None:
            return "its supervisor was killed"
        return f"it exited with code {self.code}"


class LiveProcess:
    """A CLI that serves the turns of one session.

    Events go to `sink`, synchronously and in order; nothing is read before there is one, and it
    may be replaced at any time. When the process has ended and all that it printed was delivered,
    `ended` holds the `Exit`.
    """

    def __init__(self, info: Process, *, adopted: bool) -> None:
        """Open the pipes in `info.run_dir`; `adopted` says that another bot began it."""
        loop = asyncio.get_running_loop()
        self.info = info
        self.adopted = adopted
        self._sink: Callable[[Event], None] = _nowhere
        self.ended: asyncio.Future[Exit] = loop.create_future()
        self.last_output = loop.time()
        self.background: tuple[str, ...] = ()
        """What goes on, or went on to the end, beside its turns, as far as this bot was told."""
        self._told_to_end = False
        self._loop = loop
        self._folder = Path(info.run_dir)
        self._pending: deque[memoryview] = deque()
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._skipping = False
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._fds: list[int] = []
        self.torn = (self._folder / _TORN).exists()
        """A bot went away in the middle of a line: the CLI can read no other one after it."""
        self._marked = False
        try:
            self._lock = self._open("attached", os.O_RDWR | os.O_CREAT)
            _lock(self._lock)
            # O_RDWR, because a FIFO opened for writing alone needs a reader to be there already.
            self._in = self._open("in", os.O_RDWR | os.O_NONBLOCK)
            self._out = self._open("out", os.O_RDONLY | os.O_NONBLOCK)
            self._shim = os.pidfd_open(info.pid)
            self._fds.append(self._shim)
        except OSError:
            self._close_all()
            raise
        loop.add_reader(self._shim, self._shim_gone)

    def _open(self, name: str, flags: int) -> int:
        fd = os.open(self._folder / name, flags | os.O_CLOEXEC, 0o600)
        self._fds.append(fd)
        return fd

    @property
    def alive(self) -> bool:
        """True until the process has ended or the bot has let go of it."""
        return not self.ended.done() and bool(self._fds)

    @property
    def takes_prompts(self) -> bool:
        """False once the shim closes the CLI's stdin: it finishes its turn and reads no more."""
        open_input = self.alive and self._in in self._fds
        return open_input and not (self._folder / "closing").exists()

    # --- what goes in ---------------------------------------------------------------------------
    def send(self, line: bytes) -> None:
        """Write a line; what the pipe does not take at once follows as soon as it can."""
        if not self.alive or self._in not in self._fds:
            raise ProcessGone(f"process {self.info.pid} is gone")
        idle = not self._pending
        self._pending.append(memoryview(line))
        if idle:
            self._writable()

    def _writable(self) -> None:
        while self._pending:
            chunk = self._pending[0]
            if len(chunk) > select.PIPE_BUF and not self._marked:
                # Unlike a short line, this one may go into the pipe by halves.
                self._marked = True
                (self._folder / _TORN).touch()
            try:
                sent = os.write(self._in, chunk)
            except BlockingIOError:
                self._loop.add_writer(self._in, self._writable)
                return
            if sent == len(chunk):
                self._pending.popleft()
            else:
                self._pending[0] = chunk[sent:]
        if self._marked:
            self._marked = False
            (self._folder / _TORN).unlink(missing_ok=True)
        self._loop.remove_writer(self._in)

    async def ask(self, subtype: str, *, within: float = 10, **fields: Any) -> dict[str, Any]:
        """Ask the CLI something over the control protocol.

        Raises `ProcessGone`, or `TimeoutError` after `within` seconds. An error of the CLI is
        returned like an answer: its dictionary then has the key `error`.
        """
        request_id = f"bridge-{secrets.token_hex(6)}"
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._asked[request_id] = answer
        try:
            self.send(protocol.control_line(request_id, subtype, **fields))
            async with asyncio.timeout(within):
                return await answer
        finally:
            self._asked.pop(request_id, None)

    # --- what comes out -------------------------------------------------------------------------
    @property
    def sink(self) -> Callable[[Event], None]:
        """Who takes the events."""
        return self._sink

    @sink.setter
    def sink(self, sink: Callable[[Event], None]) -> None:
        self._sink = sink
        if self.alive:
            self._loop.add_reader(self._out, self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._out, READ_SIZE)
        except BlockingIOError:
            return
        if not data:  # the shim has let go; its exit, a moment later, is the end
            self._loop.remove_reader(self._out)
            return
        self.last_output = self._loop.time()
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._partial.append(data[start:end])
            line = b"".join(self._partial)
            self._partial.clear()
            self._partial_size = 0
            start = end + 1
            if self._skipping:
                self._skipping = False
            elif line.strip():
                self._deliver(protocol.parse(line))
        if start < len(data):
            rest = data[start:]
            self._partial_size += len(rest)
            if self._partial_size > MAX_LINE:
                log.warning("a line of over %d bytes is skipped", MAX_LINE)
                self._skipping = True
                self._partial.clear()
                self._partial_size = 0
            elif not self._skipping:
                self._partial.append(rest)

    def _deliver(self, event: Event) -> None:
        if isinstance(event, ControlReply):
            answer = self._asked.get(event.response.request_id)
            if answer is not None and not answer.done():
                body = event.response
                answer.set_result(
                    {"error": body.error or body.subtype}
                    if body.subtype == "error"
                    else body.response or {}
                )
            return
        if isinstance(event, System):
            self._note_background(event)
        try:
            self._sink(event)
        except Exception:
            # One odd event must cost neither the turn nor the reader.
            log.exception("an event of type %s was not handled", type(event).__name__)

    def _note_background(self, event: System) -> None:
        """Told to end, it ends its tasks itself and says that there are none any more."""
        if event.subtype == "background_tasks_changed" and not self._told_to_end:
            self.background = tuple(task.description for task in event.tasks)

    # --- its end --------------------------------------------------------------------------------
    def _shim_gone(self) -> None:
        """The shim has exited; what it left in the pipe is still ours to read."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._out, READ_SIZE):
                self._feed(data)
        self._close_all()
        ended = read_exit(self._folder)
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ProcessGone(ended.reason))
        self.ended.set_result(ended)

    def detach(self) -> None:
        """Let go of the process without ending it: its shim goes on holding the pipes."""
        self._close_all()

    def close_input(self) -> None:
        """Ask for the graceful end: EOF on stdin once the shim has closed its writer too."""
        if self._in in self._fds:
            self._loop.remove_writer(self._in)
            self._pending.clear()
            self._fds.remove(self._in)
            os.close(self._in)
        if self.alive:
            # Its shim stays until its last words are read, whether anybody listens or not.
            self._loop.add_reader(self._out, self._readable)
        self.signal(signal.SIGHUP)

    def signal(self, number: signal.Signals) -> bool:
        """Signal the shim, if it is still the process that was started."""
        self._told_to_end |= number == signal.SIGTERM
        return signal_exactly(self.identity, self.info.marker, number)

    @property
    def identity(self) -> Identity:
        """The shim, such that a recycled process id is never mistaken for it."""
        return Identity(self.info.pid, self.info.started)

    def _close_all(self) -> None:
        for fd in self._fds:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
            os.close(fd)
        self._fds.clear()


def read_exit(folder: Path) -> Exit:
    """What `exit.json` and `stderr` in a run folder say about the end."""
    code = number = None
    with contextlib.suppress(OSError, ValueError):
        data = cast("dict[str, Any]", json.loads((folder / "exit.json").read_bytes()))
        code, number = data.get("code"), data.get("signal")
    return Exit(code, number, stderr_tail(folder))


def stderr_tail(folder: Path) -> str:
    """The newest part of what the CLI wrote to stderr."""
    tail = b""
    for name in ("stderr", "stderr.1"):
        if len(tail) < _STDERR_TAIL:
            with contextlib.suppress(OSError):
                tail = (folder / name).read_bytes()[-_STDERR_TAIL:] + tail
    return tail[-_STDERR_TAIL:].decode(errors="replace").strip()


def _lock(fd: int) -> None:
    """Take the lock that tells the shim that somebody is there; `BlockingIOError` if one is.

    The shim itself takes it for an instant now and then to look, hence the few tries.
    """
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.002)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return None


def _nowhere(event: Event) -> None:
    log.debug("nobody takes an event of type %s", type(event).__name__)


def prepare_run_folder(base: Path, proof: dict[str, str]) -> Path:
    """Make a run folder with its pipes, and with the proof of whose process it is.

    The pipes exist before the shim does, so that the first prompt can be written while the CLI
    is still starting.
    """
    folder = base / "run" / secrets.token_hex(6)
    folder.mkdir(mode=0o700, parents=True)
    for name in ("in", "out"):
        os.mkfifo(folder / name, 0o600)
    (folder / "process.json").write_text(json.dumps({**proof, "created": time.time()}))
    return folder
