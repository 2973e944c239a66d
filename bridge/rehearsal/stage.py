"""The whole product on loopback: a local Discord, a scripted model, and the real bot and CLI.

Everything lies in one scratch folder: the bot's state, the CLI's home, and the folder to work in.
Nothing is sent to any address but 127.0.0.1.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

import psutil

from bridge.rehearsal.discord import Exchange, LoopbackDiscord
from bridge.rehearsal.model import ScriptedModel

QUIET = {
    "ANTHROPIC_API_KEY": "sk-ant-rehearsal-0000",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    # The scratch folder is the sandbox; without this the CLI refuses to work for root.
    "IS_SANDBOX": "1",
}
"""With these the CLI talks to nobody but the model it is given."""


class Stage:
    """Discord, model and bot, side by side. Use it as an asynchronous context manager."""

    def __init__(
        self,
        *,
        port: int = 0,
        rate_limits: Literal["real", "off"] = "off",
        audit: Callable[[Exchange], None] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`settings` are environment variables for the bot, over those that the stage sets.

        `port` is that of the local Discord, 0 for any; `audit` is shown all REST traffic.
        """
        self.discord = LoopbackDiscord(audit=audit, rate_limits=rate_limits)
        self.model = ScriptedModel()
        self.folder = Path(tempfile.mkdtemp(prefix="claude-bridge-rehearsal-"))
        self.settings = dict(settings or {})
        self.bot: asyncio.subprocess.Process | None = None
        self._port = port
        self._log: IO[bytes] | None = None

    async def __aenter__(self) -> Self:
        """Start Discord and the model; the bot is started by `start`."""
        await self.discord.start(port=self._port)
        await self.model.start(port=0)
        for folder in (self.home, self.state, self.work):
            folder.mkdir()
        self._log = self.log.open("ab")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the bot and every process of this stage, then remove the folder."""
        await self.stop()
        self.sweep()
        await self.discord.stop()
        await self.model.stop()
        if self._log:
            self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def home(self) -> Path:
        """The CLI's home folder."""
        return self.folder / "home"

    @property
    def state(self) -> Path:
        """The bot's state folder."""
        return self.folder / "state"

    @property
    def work(self) -> Path:
        """The folder in which sessions work."""
        return self.folder / "work"

    @property
    def log(self) -> Path:
        """What the bot writes to stderr, over all of its starts."""
        return self.folder / "bot.log"

    def environment(self) -> dict[str, str]:
        """The bot's environment."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            **QUIET,
            "ANTHROPIC_BASE_URL": self.model.url,
            "BRIDGE_ALLOWED_USERS": str(self.discord.owner["id"]),
            "BRIDGE_CHANNELS": str(self.discord.general),
            "BRIDGE_DISCORD_URL": f"{self.discord.url}/api/v10",
            "BRIDGE_PROJECT_DIR": str(self.work),
            "BRIDGE_STATE_DIR": str(self.state),
            "DISCORD_TOKEN": self.discord.token,
            **self.settings,
        }

    # --- the bot --------------------------------------------------------------------------------
    async def start(self, *, within: float = 30) -> None:
        """Start the bot, and wait until it listens."""
        before = self.discord.identifies
        self.bot = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bridge",
            "run",
            env=self.environment(),
            cwd=self.work,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        listening = asyncio.create_task(
            self.discord.until(
                lambda: self.discord.connected and self.discord.identifies > before,
                timeout=within,
                what=lambda: f"the bot connects; its log ends:\n{self.log_tail()}",
            )
        )
        ended = asyncio.create_task(self.bot.wait())
        await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not listening.done():
            listening.cancel()
            raise RuntimeError(f"the bot ended at once:\n{self.log_tail()}")
        ended.cancel()
        await listening

    async def stop(self, number: int = signal.SIGTERM, *, within: float = 20) -> int | None:
        """Send the bot a signal and wait for its end; returns its exit code."""
        if self.bot is None:
            return None
        if self.bot.returncode is None:
            self.bot.send_signal(number)
            try:
                async with asyncio.timeout(within):
                    await self.bot.wait()
            except TimeoutError:
                self.bot.kill()
                await self.bot.wait()
        return self.bot.returncode

    def log_tail(self, lines: int = 30) -> str:
        """The end of the bot's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    # --- processes ------------------------------------------------------------------------------
    def processes(self) -> list[psutil.Process]:
        """All processes of this stage but the bot: they have its home folder."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                bot = self.bot is not None and process.pid == self.bot.pid
                home = process.environ().get("HOME")
                if home == str(self.home) and not bot and process.pid != os.getpid():
                    found.append(process)
        return found

    def clis(self) -> list[psutil.Process]:
        """The running CLIs of this stage."""
        found: list[psutil.Process] = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if "--input-format" in process.cmdline() and "shim.py" not in str(
                    process.cmdline()
                ):
                    found.append(process)
        return found

    def sweep(self) -> None:
        """End whatever this stage left running."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()

    def transcripts(self) -> list[Path]:
        """The transcripts of all sessions, oldest first."""
        found = (self.home / ".claude" / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime)
