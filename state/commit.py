"""Group commit: all that changed before a write starts shares that one write."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0
"""After a failed write; a new change or a new caller of `settled` ends the wait at once."""


class GroupCommit:
    """Calls `write` after changes, one call at a time, until nothing is left unwritten.

    `write` must take its snapshot before it first awaits. What it raises reaches all who wait for a
    change that the failed write covered; the write is then tried again.
    """

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        self._write = write
        self._revision = 0
        self._written = 0
        self._writes = 0
        self._failing = False
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def writes(self) -> int:
        """How many writes succeeded so far."""
        return self._writes

    def changed(self) -> None:
        """Something changed: write it soon."""
        self._revision += 1
        self._start()

    async def settled(self) -> None:
        """Return once all that changed before this call is written; raises what `write` did."""
        if self._written >= self._revision:
            return
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((self._revision, done))
        self._start()
        await done

    async def stop(self) -> None:
        """Give up retrying; a write that is under way is not waited for."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _start(self) -> None:
        self._wanted.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="state-commit")

    async def _run(self) -> None:
        try:
            while self._written < self._revision:
                await self._attempt()
        finally:
            for _, done in self._waiting:
                done.cancel()
            self._waiting.clear()

    async def _attempt(self) -> None:
        revision = self._revision
        try:
            await self._write()
        except Exception as error:  # whatever it is, those who wait must hear of it
            if not self._failing:
                _log.error("the state cannot be written and will be tried again: %r", error)
            self._failing = True
            self._release(revision, error)
            if revision == self._revision:
                await self._pause()
        else:
            if self._failing:
                _log.warning("the state is written again")
            self._failing = False
            self._written = revision
            self._writes += 1
            self._release(revision, None)

    async def _pause(self) -> None:
        self._wanted.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await self._wanted.wait()

    def _release(self, revision: int, error: Exception | None) -> None:
        covered = [done for wanted, done in self._waiting if wanted <= revision and not done.done()]
        self._waiting = [item for item in self._waiting if item[0] > revision]
        for done in covered:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
