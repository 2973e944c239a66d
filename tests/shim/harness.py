"""Shims started as the runner starts them, and a bot that attaches to them, without the runner."""

import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from bridge import proc, shim
from bridge.proc import Identity

STANDIN = (sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "support" / "standin.py"))


class Options(TypedDict, total=False):
    """What a test may ask of a shim; see `ShimRun`."""

    grace: float
    orphan_timeout: float
    stderr_limit: int
    env: Mapping[str, str]
    cwd: Path
    early: bytes


class ShimRun:
    """One shim with its run folder, ended by pid at the end of the test whatever happens."""

    def __init__(
        self,
        state_dir: Path,
        command: Sequence[str],
        *,
        grace: float = 5.0,
        orphan_timeout: float = 600.0,
        stderr_limit: int = 1 << 18,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        early: bytes = b"",
    ) -> None:
        """`early` is written to FIFOs that the bot has made before it starts the shim."""
        self.marker = secrets.token_hex(16)
        self.folder = state_dir / "run" / secrets.token_hex(6)
        self.folder.mkdir(mode=0o700, parents=True)
        proof = {"marker": self.marker, "thread": "1234", "created": time.time()}
        (self.folder / "process.json").write_text(json.dumps(proof))
        pipe: int | None = None
        if early:
            for name in ("in", "out"):
                os.mkfifo(self.folder / name, 0o600)
            pipe = os.open(self.folder / "in", os.O_RDWR)
            os.write(pipe, early)
        options = ["--grace", str(grace), "--orphan-timeout", str(orphan_timeout)]
        options += ["--stderr-limit", str(stderr_limit)]
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", shim.__file__, str(self.folder), *options, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**(os.environ if env is None else env), proc.MARKER: self.marker},
            cwd=cwd,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        with self.process.stdout as ready:
            self.ready = ready.readline()
        if pipe is not None:
            os.close(pipe)
        self._seen: set[Identity] = set()

    @property
    def shim(self) -> Identity:
        ready = self.read_json("ready")
        return Identity(ready["pid"], ready["started"])

    @property
    def cli(self) -> Identity:
        ready = self.read_json("ready")
        return Identity(ready["child"], ready["child_started"])

    def read_json(self, name: str) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads((self.folder / name).read_bytes()))

    def tree(self) -> list[Identity]:
        """All descendants of the shim now; they are ended at the latest with the test."""
        found = proc.descendants(self.process.pid)
        self._seen.update(found)
        return found

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def exit(self) -> dict[str, Any]:
        """Wait for the end, and answer what `exit.json` says of it."""
        self.process.wait()
        return self.read_json("exit.json")

    def close(self) -> None:
        self.tree()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for who in self._seen:
            proc.signal_exactly(who, None, signal.SIGKILL)
        for pid in proc.pids(os.geteuid()):
            who = proc.identity(pid)
            if who is not None and pid != os.getpid():
                proc.signal_exactly(who, self.marker, signal.SIGKILL)


class Starter:
    """Starts shims, the stand-in under them by default; none of them outlives `close`."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self._runs: list[ShimRun] = []

    def __call__(
        self, *command: str, state_dir: Path | None = None, **options: Unpack[Options]
    ) -> ShimRun:
        run = ShimRun(state_dir or self.state_dir, command or STANDIN, **options)
        self._runs.append(run)
        return run

    def close(self) -> None:
        for run in self._runs:
            run.close()


class Bot:
    """What the runner does with a run folder: hold the lock, write prompts, read events."""

    def __init__(self, folder: Path) -> None:
        self._lock = os.open(folder / "attached", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        out = os.open(folder / "out", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(out, True)
        self.rest = b""
        with suppress(FileNotFoundError):
            self.rest = (folder / "out.rest").read_bytes()
        self._out = os.fdopen(out, "rb")
        self._in: int | None = None
        with suppress(OSError):  # Nobody reads any more.
            self._in = os.open(folder / "in", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.set_blocking(self._in, True)

    def prompt(self, text: str) -> None:
        message = {"role": "user", "content": text}
        line = json.dumps({"type": "user", "message": message, "parent_tool_use_id": None})
        self.write(line.encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self._in is not None
        while data:
            data = data[os.write(self._in, data) :]

    def events(self) -> Iterator[dict[str, Any]]:
        """What comes out, until the CLI and its descendants have all let go of their end."""
        for line in self.lines():
            yield json.loads(line)

    def lines(self) -> Iterator[bytes]:
        rest, self.rest = self.rest, b""
        yield from rest.splitlines(keepends=True)
        # Not `yield from`, which would close the pipe with the iterator.
        for line in self._out:  # noqa: UP028
            yield line

    def turn(self) -> list[dict[str, Any]]:
        """The events up to the next result."""
        events: list[dict[str, Any]] = []
        for event in self.events():
            events.append(event)
            if event["type"] == "result":
                return events
        raise AssertionError("no result")

    def close_input(self) -> None:
        if self._in is not None:
            os.close(self._in)
            self._in = None

    def close(self) -> None:
        self.close_input()
        self._out.close()
        os.close(self._lock)


@contextmanager
def attached(run: ShimRun) -> Generator[Bot]:
    bot = Bot(run.folder)
    try:
        yield bot
    finally:
        bot.close()


def wait_gone(*who: Identity, timeout: float = 15.0) -> bool:
    return proc.wait_gone(who, timeout)
