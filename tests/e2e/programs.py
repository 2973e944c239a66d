"""Programs in the place of the CLI: the real one behind a gate, or the stand-in."""

import asyncio
import contextlib
import os
import shlex
import sys
from pathlib import Path

from bridge import proc
from bridge.proc import Identity
from tests.e2e.rig import Rig

_STANDIN = Path(__file__).parents[1] / "support" / "standin.py"


class Gate:
    """The next CLI to start waits here, so that a test can act while a process starts."""

    def __init__(self, rig: Rig) -> None:
        """For a rig whose bot is not started yet."""
        self._path = rig.folder / "gate"
        self._writer: int | None = None
        os.mkfifo(self._path)
        gate, program = shlex.quote(str(self._path)), shlex.quote(str(rig.starts.program))
        install(rig, f'if [ -p {gate} ]; then read -r _ < {gate}; fi\nexec {program} "$@"\n')

    async def reached(self) -> None:
        """Wait until a CLI stands before the gate."""
        self._writer = await asyncio.to_thread(os.open, self._path, os.O_WRONLY)

    def open(self) -> None:
        """Let it through, if it still lives, and every later one at once."""
        self._path.unlink()
        assert self._writer is not None
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writer, b"\n")
        os.close(self._writer)


def running(word: str) -> set[Identity]:
    """All processes of this machine that have this in their arguments."""
    found = (
        proc.identity(pid)
        for pid in proc.pids()
        if any(word in argument for argument in proc.cmdline(pid))
    )
    return {who for who in found if who is not None}


def standin(rig: Rig) -> None:
    """Let the bot, which is not started yet, use the stand-in."""
    python, script = shlex.quote(sys.executable), shlex.quote(str(_STANDIN))
    install(rig, f'exec {python} -I -S {script} "$@"\n')


def install(rig: Rig, commands: str) -> None:
    """Let the bot, which is not started yet, use these lines of shell as its CLI."""
    program = rig.folder / "program"
    program.write_text(f"#!/bin/sh\n{commands}")
    program.chmod(0o700)
    rig.settings["BRIDGE_CLAUDE"] = str(program)
