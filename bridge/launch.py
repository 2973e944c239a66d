"""How a CLI is started: its arguments, and the shim around it."""

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bridge import outgoing, shim
from bridge.proc import MARKER, identity
from bridge.process import prepare_run_folder
from bridge.tools import briefing
from state import Process


@dataclass(frozen=True)
class Launch:
    """What a process is to serve.

    `sid` is the id that the session will have. `resume` names the session to continue: the same
    id, or another one if this is a fork of it. `readable` is the thread's own folder, besides
    `cwd`: there are the files that people send, and the outbox for those that Claude does.
    `may_bypass` lets the process be switched to never asking.
    """

    thread: int
    sid: str
    cwd: Path
    readable: Path
    resume: str | None = None
    model: str | None = None
    effort: str | None = None
    permission_mode: str = "default"
    may_bypass: bool = False
    marker: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def fork(self) -> bool:
        """The session starts from another's history, under an id of its own."""
        return self.resume is not None and self.resume != self.sid


def arguments(launch: Launch) -> list[str]:
    """The CLI's arguments. The prompt is never among them: it goes through stdin."""
    args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    args += ["--include-partial-messages", "--autocompact", "auto"]
    args += ["--permission-prompt-tool", "stdio", "--permission-mode", launch.permission_mode]
    if launch.may_bypass:
        args += ["--allow-dangerously-skip-permissions"]
    if launch.resume is None:
        args += ["--session-id", launch.sid]
    else:
        args += ["--resume", launch.resume]
        if launch.fork:
            args += ["--fork-session", "--session-id", launch.sid]
    args += ["--add-dir", str(launch.readable)]
    args += ["--allowedTools", ",".join(briefing.permitted(launch.readable))]
    args += ["--append-system-prompt", briefing.briefing(launch.readable)]
    if launch.model:
        args += ["--model", launch.model]
    if launch.effort:
        args += ["--effort", launch.effort]
    return args


@dataclass(frozen=True)
class Launcher:
    """Starts processes: the same program, environment and limits for all of them."""

    claude: Path
    environment: Mapping[str, str]
    state_dir: Path
    orphan_timeout: float
    grace: float

    def start(self, launch: Launch) -> Process:
        """Start the shim with its CLI and return how to find them again. Blocks for milliseconds.

        Raises `FileNotFoundError` with the folder's name if `launch.cwd` is gone.
        """
        if not launch.cwd.is_dir():
            raise FileNotFoundError(launch.cwd)
        for folder in (launch.readable, outgoing.outbox(launch.readable)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = {"thread": str(launch.thread), "sid": launch.sid, "cwd": str(launch.cwd)}
        folder = prepare_run_folder(self.state_dir, {**facts, "marker": launch.marker})
        command = [sys.executable, "-I", "-S", shim.__file__, str(folder)]
        command += ["--orphan-timeout", str(self.orphan_timeout), "--grace", str(self.grace)]
        command += ["--", str(self.claude), *arguments(launch)]
        with (folder / "shim.log").open("wb") as shim_log:
            child = subprocess.Popen(
                command,
                cwd=launch.cwd,
                env={**self.environment, MARKER: launch.marker, "PWD": str(launch.cwd)},
                stdin=subprocess.DEVNULL,
                stdout=shim_log,
                stderr=shim_log,
                start_new_session=True,
            )
        found = identity(child.pid)
        # The shim is found again by pid and start time, after a restart of the bot too; this
        # handle is given up, and `reap` collects the exit status.
        child.returncode = 0
        return Process(
            pid=child.pid,
            started=found.started if found else 0,
            marker=launch.marker,
            run_dir=str(folder),
            sid=launch.sid,
        )


def reap(pid: int) -> None:
    """Collect a shim that has exited, if it is a child of this bot; else it is not ours to reap."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
