"""A thread's session made smaller between its processes: before a resume, after an eviction, asked.

One at a time, and only while the session's gate keeps processes away. The record names the new
session before anything resumes it: a crash leaves the one or the other, and both are whole.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from bridge import context, ledger
from bridge.compactor import Wish
from bridge.render.measure import clip
from bridge.services import Services
from bridge.turn import ActiveTurn
from compaction.lineage import NotCompacted
from compaction.session import NothingToDo, Outcome, Refused
from state import Record

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds after which a person is told why nothing happens."""

_LONGEST = 600
"""Characters of a reason that a person is told; the log has all of it."""

Work = Callable[[], Coroutine[Any, Any, str]]


class Compacting:
    """Compactions of one thread."""

    def __init__(
        self,
        thread: int,
        services: Services,
        spawn: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"],
    ) -> None:
        """`spawn` runs something in the background for as long as the conversation is there."""
        self.thread = thread
        self._s = services
        self._spawn = spawn
        self._task: asyncio.Task[None] | None = None
        self._wishes: deque[tuple[Work, asyncio.Future[str]]] = deque()
        self._done = ""
        """What the next reply's footer tells."""
        self._refusal = ""

    # --- by itself ------------------------------------------------------------------------------
    def begin(self) -> "asyncio.Task[None]":
        """Compact if it is due; the one that is under way already, if there is one."""
        if self._task is None or self._task.done():
            self._task = self._spawn(self._if_due())
        return self._task

    async def before(self, turn: ActiveTurn) -> None:
        """Before a turn resumes the session, in the gate: compact, and say so if it takes long.

        A turn that is stopped meanwhile is not kept waiting; the compaction goes on for the next.
        """
        task = self.begin()
        awaited = {task, turn.done}
        await asyncio.wait(awaited, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not turn.over:
            turn.narration.passing("🗜️ Making the session smaller first …")
            turn.refresh()
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            turn.narration.passing("")
        if turn.over:
            return
        turn.narration.aside, self._done = self._done, ""
        if self._refusal:
            turn.narration.note(f"🗜️ The session was not made smaller: {self._refusal}")
            self._refusal = ""

    async def _if_due(self) -> None:
        """Never fails: whatever happens, there is a session to resume."""
        record = self._s.store.get(self.thread)
        compactor = self._s.compactor
        if record is None or record.sid is None or not compactor.automatic:
            return
        if ledger.went_back(record):
            return
        try:
            outcome = await asyncio.to_thread(compactor.when_due, record)
            if await self.adopt(record, outcome):
                self._done = context.brief(outcome)
        except (NothingToDo, FileNotFoundError) as reason:
            log.debug("thread %d: not compacted: %s", self.thread, reason)
        except Refused as refused:
            log.warning("thread %d: not compacted: %s", self.thread, refused)
            self._refusal = clip(str(refused), _LONGEST)
        except Exception as fault:
            log.exception("thread %d: the compaction failed", self.thread)
            self._refusal = clip(f"{type(fault).__name__}: {fault}", _LONGEST)

    async def now(self, wish: Wish) -> Outcome:
        """Compact while the caller keeps processes away; raises what `compact_session` raises."""
        record = self._record
        outcome = await asyncio.to_thread(self._s.compactor.as_wished, record, wish)
        await self.adopt(record, outcome)
        return outcome

    async def adopt(self, before: Record, outcome: Outcome) -> bool:
        """The thread goes on with the new session, unless it was given another one meanwhile."""
        sid = outcome.sid
        assert sid is not None

        def change(record: Record) -> Record:
            if record.sid != before.sid:
                return record
            return ledger.compacted(record, sid, outcome.after_tokens)

        self._s.store.update(self.thread, change, generation=before.generation)
        record = self._s.store.get(self.thread)
        if record is None or record.sid != sid:
            return False
        await self._s.store.durable()
        log.info(
            "thread %d: compacted as %s: %s", self.thread, outcome.strategy, context.brief(outcome)
        )
        return True

    # --- asked ----------------------------------------------------------------------------------
    def compact(self, wish: Wish) -> "asyncio.Future[str]":
        """Compact as soon as `serve` comes; gives the answer for the person."""
        return self._ask(lambda: self._compact(wish))

    def undo(self) -> "asyncio.Future[str]":
        """Go back to the session before the compaction, as soon as `serve` comes."""
        return self._ask(self._undo)

    def _ask(self, work: Work) -> "asyncio.Future[str]":
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._wishes.append((work, answer))
        return answer

    async def serve(self) -> None:
        """Do what was asked for, in the gate; not while a turn runs, which comes here after it."""
        while self._wishes and not self._s.runner.busy(self.thread):
            work, answer = self._wishes.popleft()
            if self._task is not None:
                await asyncio.wait({self._task})
            await self._s.runner.stop(self.thread)
            told = await self._told(work)
            if not answer.done():
                answer.set_result(told)

    async def preview(self, wish: Wish) -> str:
        """What a compaction would do; the session, which may be busy, is only read."""
        return await self._told(lambda: self._compact(wish, dry_run=True))

    async def preview_undo(self) -> str:
        """Where an undo would lead."""

        async def look() -> str:
            sid = await asyncio.to_thread(self._s.compactor.source, self._record, idle=False)
            return f"It would go back to session `{sid}`. Nothing was changed: this was a dry run."

        return await self._told(look)

    async def overview(self, now: float) -> str:
        """All about the context; `now` in seconds of the epoch."""
        record, compactor = self._record, self._s.compactor
        try:
            view = await asyncio.to_thread(compactor.view, record)
        except FileNotFoundError:
            view = None
        return context.context_text(record, view, now=now, automatic=compactor.automatic)

    async def _told(self, work: Work) -> str:
        try:
            return await work()
        except FileNotFoundError:
            return "There is no session here yet: the next message starts one."
        except NotCompacted as reason:
            return f"There is nothing to undo: {reason}."
        except NothingToDo as reason:
            return f"Nothing was changed: {reason}."
        except Refused as refused:
            log.warning("thread %d: not compacted: %s", self.thread, refused)
            return f"⚠️ **The session stays as it is**: {clip(str(refused), _LONGEST)}."
        except Exception as fault:
            log.exception("thread %d: the compaction failed", self.thread)
            words = clip(f"{type(fault).__name__}: {fault}", _LONGEST)
            return f"⚠️ **The compaction failed**: {words}"

    async def _compact(self, wish: Wish, *, dry_run: bool = False) -> str:
        record = self._record
        outcome = await asyncio.to_thread(
            self._s.compactor.as_wished, record, wish, dry_run=dry_run
        )
        if not dry_run and not await self.adopt(record, outcome):
            return "The thread began another session meanwhile; that one was left alone."
        return context.summary(outcome)

    async def _undo(self) -> str:
        record = self._record
        compactor = self._s.compactor
        sid = await asyncio.to_thread(compactor.source, record)
        # First the record, for good: the session that it names now may be gone in a moment.
        self._s.store.update(
            self.thread, lambda r: ledger.back_to(r, sid), generation=record.generation
        )
        await self._s.store.durable()
        undone = await asyncio.to_thread(compactor.undo, record)
        return context.undone(undone.sid, undone.since)

    @property
    def _record(self) -> Record:
        record = self._s.store.get(self.thread)
        if record is None:
            raise FileNotFoundError
        return record
