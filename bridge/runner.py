"""Which processes live: starts, resumes, forks, stops, evicts and re-attaches them.

At most `max_processes` live at once; a session id has one owner in the whole program; an idle
process gives way to a waiting thread, a busy one never does.
"""

import asyncio
import contextlib
import logging
import shutil
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bridge import cleanup, launch, proc
from bridge.launch import Launch, Launcher
from bridge.process import Exit, LiveProcess
from bridge.tools import briefing
from state import Process, Store

log = logging.getLogger(__name__)


class Seat:
    """A live process, the thread that it serves, and whether a turn runs on it."""

    def __init__(self, thread: int, process: LiveProcess) -> None:
        """A new seat is busy until `Runner.release`."""
        self.thread = thread
        self.process = process
        self.busy = True
        self.leaving = False
        self.idle_since = 0.0
        self.eviction: asyncio.TimerHandle | None = None
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the process has ended and nothing of it is left."""

    def cancel_eviction(self) -> None:
        """The process is wanted, or gone: its time limit for idleness is void."""
        if self.eviction:
            self.eviction.cancel()
            self.eviction = None


class Runner:
    """The processes of the whole bot."""

    def __init__(
        self,
        store: Store,
        launcher: Launcher,
        *,
        max_processes: int,
        idle_timeout: float,
        grace: float,
    ) -> None:
        """`idle_timeout` and `grace` (the wait between two steps of the stop ladder) in seconds."""
        self._store = store
        self._launcher = launcher
        self._max = max_processes
        self._idle_timeout = idle_timeout
        self.grace = grace
        self.on_evicted: Callable[[int], None] = _nothing
        """Told the thread whose process has ended because it was idle for long."""
        self._seats: dict[int, Seat] = {}
        self._starting: dict[int, Launch] = {}
        self._door = asyncio.Lock()
        self._changes: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    # --- who lives ------------------------------------------------------------------------------
    def live(self, thread: int) -> LiveProcess | None:
        """The process that serves a thread now."""
        seat = self._seats.get(thread)
        return seat.process if seat and seat.process.alive else None

    def busy(self, thread: int) -> bool:
        """Whether a turn runs in the thread's process."""
        seat = self._seats.get(thread)
        return seat is not None and seat.busy and not seat.leaving

    @property
    def count(self) -> int:
        """Processes that live or are being started."""
        return len(self._seats) + len(self._starting)

    def markers(self) -> set[str]:
        """The markers of all processes that a thread owns."""
        starting = {want.marker for want in self._starting.values()}
        return starting | {seat.process.info.marker for seat in self._seats.values()}

    # --- take and give back ---------------------------------------------------------------------
    def take(self, thread: int) -> LiveProcess | None:
        """The thread's live process, marked as busy; None if it has none."""
        seat = self._seats.get(thread)
        if seat is None or seat.busy or not seat.process.takes_prompts:
            return None
        seat.busy = True
        seat.cancel_eviction()
        return seat.process

    async def start(self, want: Launch, on_wait: Callable[[], None]) -> LiveProcess:
        """Start a process for a thread, and mark it as busy.

        A process that the thread still has is ended first. `on_wait` is called once if others
        have to finish before there is room. Raises `FileNotFoundError` if the folder to work in
        is gone, `OSError` if nothing can be started.
        """
        while want.thread in self._starting:  # an earlier start that was called off
            await self._change()
        await self.stop(want.thread)
        await self._make_room(want, on_wait)
        launching = asyncio.create_task(self._launch(want))
        try:
            return await asyncio.shield(launching)
        except asyncio.CancelledError:
            # Once begun, a start is not undone half-way: the process is seated, then stopped.
            self.retire(want.thread)
            launching.add_done_callback(lambda done: self._undo(want.thread, done))
            raise

    def _undo(self, thread: int, launched: "asyncio.Task[LiveProcess]") -> None:
        seat = self._seats.get(thread)
        if seat and not launched.exception() and seat.process is launched.result():
            self._spawn(self._stop(seat))

    async def _launch(self, want: Launch) -> LiveProcess:
        try:
            info = await asyncio.to_thread(self._launcher.start, want)
            process = LiveProcess(info, adopted=False)
            process.send(briefing.greeting())
            self._seat(want.thread, process)
            self._store.update(want.thread, lambda r: r.model_copy(update={"process": info}))
            # Before it is given anything to do: a bot that finds no trace of it would start
            # another one for the same message. The CLI itself needs longer to get ready.
            with contextlib.suppress(OSError):
                await self._store.durable()
            return process
        finally:
            del self._starting[want.thread]
            self._changed()

    def release(self, thread: int) -> None:
        """The turn is over: the process is idle, and may be evicted or give way."""
        seat = self._seats.get(thread)
        if seat is None or seat.leaving:
            return
        loop = asyncio.get_running_loop()
        seat.busy = False
        seat.idle_since = loop.time()
        seat.cancel_eviction()
        seat.eviction = loop.call_later(self._idle_timeout, self._evict, seat)
        self._changed()

    async def attach_all(self) -> None:
        """After a restart of the bot: take over what still lives, bury what does not.

        What lives and is in no record (the last bot died while it started it) is ended first: it
        may have the session that a thread resumes next.
        """
        folder = self._launcher.state_dir
        stored = {r.process.marker for r in self._store.threads().values() if r.process}
        if lost := await asyncio.to_thread(cleanup.scan, folder, stored):
            log.warning("%d processes that no thread owns are ended", len(lost))
            await cleanup.end(lost, grace=self.grace)
        for thread, record in self._store.threads().items():
            if record.process is None:
                continue
            process = self._attach(record.process)
            if process is None:
                await self._bury(record.process)
                if record.turn is None:  # else the conversation looks what became of its turn
                    self._forget(thread, record.process)
                continue
            seat = self._seat(thread, process)
            if process.torn:
                await self._stop(seat)
            else:
                self.release(thread)
        await asyncio.to_thread(cleanup.sweep_run_dirs, folder, self.markers())

    def _attach(self, info: Process) -> LiveProcess | None:
        found = proc.identity(info.pid)
        if found is None or found.started != info.started:
            return None
        try:
            return LiveProcess(info, adopted=True)
        except OSError as fault:
            log.warning("process %d cannot be taken over: %s", info.pid, fault)
            return None

    def _seat(self, thread: int, process: LiveProcess) -> Seat:
        seat = self._seats[thread] = Seat(thread, process)
        process.ended.add_done_callback(lambda done: self._vacate(seat, done.result()))
        return seat

    def _vacate(self, seat: Seat, ended: Exit) -> None:
        info = seat.process.info
        log.info("process %d of thread %d is gone: %s", info.pid, seat.thread, ended.reason)
        seat.busy = seat.leaving = True
        seat.cancel_eviction()
        if ended.clean:
            self._remove(seat)
        self._spawn(self._bury_seat(seat))

    async def _bury_seat(self, seat: Seat) -> None:
        """After a killed shim, the CLI that it left goes before another one may come."""
        info = seat.process.info
        try:
            await self._bury(info)
            self._forget(seat.thread, info)
        finally:
            self._remove(seat)

    def _remove(self, seat: Seat) -> None:
        if not seat.gone.done():
            seat.gone.set_result(None)
        if self._seats.get(seat.thread) is seat:
            del self._seats[seat.thread]
        self._changed()

    def _forget(self, thread: int, info: Process) -> None:
        record = self._store.get(thread)
        if record and record.process and record.process.marker == info.marker:
            self._store.update(thread, lambda r: r.model_copy(update={"process": None}))

    async def _bury(self, info: Process) -> None:
        """After an end: collect the shim, end what still carries the marker, drop the folder."""
        launch.reap(info.pid)
        await self._end_carriers(info)
        await asyncio.to_thread(shutil.rmtree, info.run_dir, ignore_errors=True)

    async def _end_carriers(self, info: Process) -> None:
        folder = self._launcher.state_dir
        left = await asyncio.to_thread(cleanup.scan, folder, frozenset[str]())
        mine = [orphan for orphan in left if orphan.marker == info.marker]
        if mine:
            await cleanup.end(mine, grace=self.grace)

    # --- room -----------------------------------------------------------------------------------
    async def _make_room(self, want: Launch, on_wait: Callable[[], None]) -> None:
        """Return with one more process counted as starting; first come, first served."""
        told = False

        async def wait() -> None:
            nonlocal told
            if not told:
                told = True
                on_wait()
            await self._change()

        while want.thread not in self._starting:
            while self._owner(want) is not None:
                await wait()
            if self._door.locked() and self.count >= self._max and not told:
                told = True
                on_wait()
            async with self._door:
                while self.count >= self._max:
                    victim = self._longest_idle()
                    if victim is not None:
                        await self.end(victim)
                    else:
                        await wait()
                if self._owner(want) is None:
                    self._starting[want.thread] = want

    def _owner(self, want: Launch) -> Seat | Launch | None:
        """Who holds the session that is wanted; an idle owner is told to give it up."""
        for other in self._starting.values():
            if other.sid == want.sid:
                return other
        owner = next((s for s in self._seats.values() if s.process.info.sid == want.sid), None)
        if owner is not None and not owner.busy:
            self._spawn(self._stop(owner))
        return owner

    def _longest_idle(self) -> Seat | None:
        """Which process gives way; one in which something goes on in the background comes last."""
        idle = [seat for seat in self._seats.values() if not seat.busy]
        return min(idle, key=lambda s: (bool(s.process.background), s.idle_since), default=None)

    async def _change(self) -> None:
        """Wait until a process became idle or went away."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changes.add(change)
        try:
            await change
        finally:
            self._changes.discard(change)

    def _changed(self) -> None:
        for change in self._changes:
            if not change.done():
                change.set_result(None)

    # --- the end --------------------------------------------------------------------------------
    def _evict(self, seat: Seat) -> None:
        loop, process = asyncio.get_running_loop(), seat.process
        # What ends in the background makes the CLI begin a turn, of which it tells a little later.
        spoke = loop.time() if process.background else process.last_output
        left = spoke + self._idle_timeout - loop.time()
        if left > 0:
            seat.eviction = loop.call_later(left, self._evict, seat)
        elif not seat.busy:
            log.info("thread %d: its process was idle for %.0f s", seat.thread, self._idle_timeout)
            self._spawn(self._evicted(seat))

    async def _evicted(self, seat: Seat) -> None:
        await self._stop(seat)
        self.on_evicted(seat.thread)

    async def stop(self, thread: int, only: LiveProcess | None = None) -> None:
        """End a thread's process, if it has one; returns once the process is confirmed gone.

        With `only`, no other is ended that the thread may have by now.

        The ladder: EOF on stdin; SIGTERM to the shim, which ends the CLI and its whole tree;
        SIGKILL to all that carry the marker. Its first rung, `interrupt`, is the conversation's,
        which knows of turns.
        """
        seat = self._seats.get(thread)
        if seat is not None and only in (None, seat.process):
            await self.end(seat)

    def retire(self, thread: int) -> Seat | None:
        """From now on nobody takes the thread's process; `end` has still to end it."""
        seat = self._seats.get(thread)
        if seat is not None:
            seat.busy = seat.leaving = True
            seat.cancel_eviction()
        return seat

    async def end(self, seat: Seat) -> None:
        """`stop` for one process, whatever the thread has by then; once begun, it goes on."""
        await asyncio.shield(self._spawn(self._stop(seat)))

    async def _stop(self, seat: Seat) -> None:
        seat.busy = seat.leaving = True  # nobody may take it now
        seat.cancel_eviction()
        if seat.process.alive:
            await self._end(seat.process)
        if seat.process.ended.done():
            await asyncio.wait([seat.gone])

    async def _end(self, process: LiveProcess) -> None:
        process.close_input()
        if await _within(process, self.grace):
            return
        process.signal(signal.SIGTERM)
        # The shim climbs a ladder of its own: EOF, SIGTERM, SIGKILL, then the tree.
        if await _within(process, 4 * self.grace + 2):
            return
        log.warning("process %d does not end by its shim and is killed", process.info.pid)
        await self._end_carriers(process.info)
        await _within(process, self.grace)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Let go of all processes: they live on in their shims and are found by the next bot."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for seat in self._seats.values():
            seat.cancel_eviction()
            seat.process.detach()
        self._seats.clear()

    @property
    def state_dir(self) -> Path:
        """Where the run folders are."""
        return self._launcher.state_dir


def _nothing(_: int) -> None:
    """Nobody wants to know."""


async def _within(process: LiveProcess, seconds: float) -> bool:
    """Whether the process ends within that time."""
    done, _ = await asyncio.wait([process.ended], timeout=seconds)
    return bool(done)
