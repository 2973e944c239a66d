"""What end-to-end tests say and look at: a stage, and shorter words for it."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from bridge.config import Config, find_claude
from bridge.rehearsal.stage import Stage
from tests.e2e.starts import Starts
from tests.support.conform import SPEC, Conformity

Message = dict[str, Any]


class Rig(Stage):
    """A stage whose traffic is checked, with the words that the tests are written in."""

    def __init__(self, *, settings: Mapping[str, str] | None = None) -> None:
        """Permissions are not asked for, unless `settings` say otherwise."""
        self.conformity = Conformity() if SPEC.is_file() else None
        super().__init__(
            audit=self.conformity,
            settings={
                "BRIDGE_PERMISSION_MODE": "bypassPermissions",
                # The bot of these tests may run under coverage.
                **{k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")},
                **(settings or {}),
            },
        )
        claude = find_claude(Config(state_dir=self.state, project_dir=self.work), {})
        self.starts = Starts(self.folder, claude)
        self.settings.setdefault("BRIDGE_CLAUDE", str(self.starts.program))
        self.tolerated: list[str] = []
        """Parts of tracebacks that the test provokes."""

    async def check(self) -> None:
        """What holds at the end of each test."""
        if self.conformity:
            assert self.conformity.violations == []
        assert self.model.violations == []
        assert self.starts.overlaps == []
        log = self.log.read_text(errors="replace")
        if not any(part in log for part in self.tolerated):
            assert "Traceback" not in log, log[log.index("Traceback") :][:3000]

    # --- people ---------------------------------------------------------------------------------
    async def open(self, text: str, **more: Any) -> str:
        """Write in the channel, and wait for the thread that the bot opens; returns its id."""
        message = await self.discord.say(self.discord.general, text, **more)
        await self.until(
            lambda: any(t["id"] == message["id"] for t in self.discord.threads()),
            what=f"a thread opens for {text!r}",
        )
        return message["id"]

    async def say(self, thread: str, text: str, **more: Any) -> Message:
        """Write in a thread."""
        return await self.discord.say(thread, text, **more)

    async def command(self, thread: str, name: str, **options: Any) -> str:
        """Give a slash command, and wait for its answer."""
        interaction = await self.discord.slash(thread, name, **options)
        return await interaction.done()

    # --- what is to be seen ---------------------------------------------------------------------
    def shown(self, thread: str) -> str:
        """All that the bot shows in a thread now; nothing while there is no such thread."""
        if all(t["id"] != thread for t in self.discord.threads()):
            return ""
        return self.discord.shown(thread, self.discord.bot["id"])

    async def answer(self, thread: str, needle: str, *, within: float = 30) -> str:
        """Wait until the bot shows this; returns all that it shows then."""
        await self.until(
            lambda: needle in self.shown(thread),
            within=within,
            what=lambda: (
                f"{needle!r} in the thread, which shows {self.shown(thread)[-600:]!r}; "
                f"the bot's log ends: {self.log_tail(12)}"
            ),
        )
        return self.shown(thread)

    async def settled(self, thread: str, footers: int, *, within: float = 30) -> str:
        """Wait until that many turns of a thread have ended with a footer."""
        await self.until(
            lambda: self.footers(thread) >= footers,
            within=within,
            what=lambda: f"{footers} footers in {self.shown(thread)[-600:]!r}",
        )
        return self.shown(thread)

    def footers(self, thread: str) -> int:
        """How many turns of a thread have ended with a footer."""
        return len(re.findall(r"^-# [0-9].* context\b", self.shown(thread), re.MULTILINE))

    async def until(
        self,
        predicate: Callable[[], Any],
        *,
        within: float = 20,
        what: str | Callable[[], str] = "it happens",
    ) -> Any:
        """Wait for something that shows in Discord."""
        try:
            return await self.discord.until(predicate, timeout=within, what="")
        except AssertionError as late:
            words = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {within} s: {words}") from late

    # --- the model and the bot ------------------------------------------------------------------
    def prompts(self) -> list[str]:
        """The newest prompt of each request that began a turn, in order."""
        return [r.prompts[-1] for r in self.model.requests if r.prompts and not r.after_tool]

    async def asked(self, prompt: str, *, within: float = 20) -> None:
        """Wait until the model is asked this."""
        await self.model.until(
            lambda: prompt in self.prompts(), timeout=within, what=f"the model is asked {prompt!r}"
        )

    async def restart(self, number: int = signal.SIGTERM) -> None:
        """Stop the bot by a signal, and start it again."""
        await self.stop(number)
        await self.start()

    def calls(self, method: str, part: str) -> int:
        """How many REST requests of this method had this in their path."""
        return sum(e.method == method and part in e.path for e in self.discord.exchanges)

    # --- the state and the processes ------------------------------------------------------------
    @property
    def state_file(self) -> Path:
        """Where the bot keeps what it knows of each thread."""
        return self.state / "state.json"

    def record(self, thread: str) -> dict[str, Any]:
        """What stands on the disk for a thread; empty if nothing does."""
        if not self.state_file.exists():
            return {}
        return json.loads(self.state_file.read_bytes())["threads"].get(thread, {})

    async def session(self, thread: str) -> str:
        """The session that a thread resumes, once it stands on the disk that it has one."""
        return await self.eventually(
            lambda: self.record(thread).get("sid"), what="the thread has a session"
        )

    async def eventually(
        self, predicate: Callable[[], Any], *, within: float = 30, what: str = "it happens"
    ) -> Any:
        """Wait for something that gives no sign: a file, a process. It is looked at again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                for _ in itertools.count():
                    if found := predicate():
                        return found
                    await asyncio.sleep(0.02)
        raise AssertionError(f"not within {within} s: {what}; {self.log_tail(12)}")

    async def kill_clis(self) -> None:
        """End all running CLIs by SIGKILL, and wait until their shims have gone, too."""
        for cli in self.clis():
            with contextlib.suppress(psutil.NoSuchProcess):
                cli.kill()
        await self.eventually(lambda: not self.processes(), what="all processes are gone")
