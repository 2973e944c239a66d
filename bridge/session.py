"""A thread's session, and the process that serves it: acquire, ask, interrupt, end."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bridge import catalogue, history, ledger, tuning
from bridge.compacting import Compacting
from bridge.history import TurnRecords
from bridge.launch import Launch
from bridge.modes import may_bypass, mode_of
from bridge.outcome import Answered, Cut, Died, Outcome, Refused, Stopped, TimedOut, session_is_gone
from bridge.process import LiveProcess, ProcessGone
from bridge.prompt import Prompt
from bridge.protocol import Event, user_line
from bridge.render.trouble import trouble
from bridge.services import Services
from bridge.turn import ActiveTurn, Limits
from state import Record, Settings

log = logging.getLogger(__name__)

SILENT_START = 2.0
"""Seconds after which a prompt that was not acknowledged is asked about."""


class _Held(Exception):
    """Another process than ours has the session open."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid


class Session:
    """What a conversation knows of the CLI. `sink` takes the events of the thread's process."""

    def __init__(
        self,
        thread: int,
        services: Services,
        sink: Callable[[Event], None],
        spawn: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"],
    ) -> None:
        """`spawn` runs something in the background for as long as the conversation is there."""
        self.thread = thread
        self._s = services
        self._sink = sink
        self._spawn = spawn
        # Held while a process is acquired for a turn, or ended.
        self._gate = asyncio.Lock()
        self.compacting = Compacting(thread, services, spawn)

    @property
    def process(self) -> LiveProcess | None:
        """The process that serves the thread now."""
        return self._s.runner.live(self.thread)

    @property
    def inbox(self) -> Path:
        """Where files that people send in this thread are kept; Claude may read them."""
        return self._s.config.state_dir / "inbox" / str(self.thread)

    def attach(self) -> LiveProcess | None:
        """The process that was found after a restart of the bot, if there is one.

        It is listened to, unless a turn is to go on: what comes of that is for `follow`.
        """
        process = self.process
        if process is not None and self._record.turn is None:
            self._listen(process)
        return process

    def _listen(self, process: LiveProcess) -> None:
        """Take the events of a process, and say what it takes with it when it ends."""
        if process.sink != self._sink:
            process.sink = self._sink
            process.ended.add_done_callback(lambda _: self._mourn(process))

    def _mourn(self, process: LiveProcess) -> None:
        if process.background:
            words = trouble(
                f"Still at work in the background, and ended with the process: "
                f"{', '.join(process.background)}.",
                "Ask for it again if you want it.",
            )
            self._s.outbox.post(self.thread, [words], f"{process.info.marker[:16]}-tasks")

    async def run(
        self, turn: ActiveTurn, compose: Callable[[], Coroutine[Any, Any, Prompt]]
    ) -> Outcome:
        """Give a prompt to a process and wait for the end of the turn.

        `compose` makes the prompt once there is a process: a person may change it until then.
        """
        try:
            process = await self._acquire(turn)
        except FileNotFoundError as gone:
            what = f"The folder `{gone}` of this thread is not there any more."
            return Refused(what, "Put it back, or start over in another thread.")
        except _Held as held:
            what = f"Process {held.pid} on the bot's machine has this session open."
            todo = "Leave it there (`/exit`), then send this again: two at once would lose history."
            return Refused(what, todo)
        except OSError as fault:
            return Refused("Claude Code could not be started.", "Send it again.", str(fault))
        if process is None:
            return turn.done.result()
        composing = self._spawn(compose())
        await asyncio.wait({composing, turn.done}, return_when=asyncio.FIRST_COMPLETED)
        if turn.over:
            composing.cancel()
            return turn.done.result()
        prompt = composing.result()
        process.last_output = asyncio.get_running_loop().time()
        turn.sent = True
        try:
            process.send(user_line(prompt.content, turn.prompt_id))
        except ProcessGone:
            return turn.died(await process.ended)
        return await self.follow(turn, process)

    async def follow(self, turn: ActiveTurn, process: LiveProcess) -> Outcome:
        """Wait for the end of a turn whose prompt the process has."""
        self._listen(process)
        adopted, process.adopted = process.adopted, False
        self._spawn(self._confirm(turn, process, may_run=adopted))
        outcome = await turn.wait(process, self.limits)
        if adopted:
            # The bot before this one heard the beginning of a message that was not written then.
            known = await self.records(turn.prompt_id)
            turn.narration.recover(known.records[1:])
            if isinstance(outcome, Died) and known.finished:
                outcome = Answered(None)
        if isinstance(outcome, TimedOut):
            await self.interrupt(turn, "the time limit")
        await self._adopt_session(turn, process, outcome)
        return outcome

    @property
    def limits(self) -> Limits:
        """The time limits of a turn."""
        return Limits(self._s.config.silence_timeout, self._s.config.turn_timeout)

    async def _acquire(self, turn: ActiveTurn) -> LiveProcess | None:
        """The process for a turn; None if the turn was stopped before there was one."""
        async with self._gate:
            if turn.over:
                return None
            await self.compacting.serve()
            process = None if self._fork_is_due else self._s.runner.take(self.thread)
            if process is None and not self._fork_is_due:
                await self._s.runner.stop(self.thread)
                await self._refuse_if_held()
                await self.compacting.before(turn)
            if turn.over:
                self._s.runner.release(self.thread)
                return None
            chosen = None
            if process is None:
                chosen = self._record.settings
                start = self._spawn(self._s.runner.start(self._launch(), lambda: _wait_line(turn)))
                await asyncio.wait({start, turn.done}, return_when=asyncio.FIRST_COMPLETED)
                if not start.done():
                    start.cancel()
                    await asyncio.wait({start})
                    return None
                process = start.result()
                # Before a process has a prompt, the disk has the process: a bot that starts after a
                # crash must know who serves the session.
                await self._s.store.durable()
            self._listen(process)
            if chosen is not None:
                await self._retune(process, chosen)
            return process

    async def _retune(self, process: LiveProcess, before: Settings) -> None:
        """What was chosen while the process was being started counts from its first turn on."""
        now, config = self._record.settings, self._s.config
        if now.model != before.model:
            await tuning.set_model(process, now.model, config)
        if now.effort != before.effort:
            await tuning.set_effort(process, now.effort, config)

    async def _refuse_if_held(self) -> None:
        """Two processes on one session would each write a history of their own."""
        record = self._record
        if record.sid is not None:
            pid = await asyncio.to_thread(catalogue.held, self._s.projects, record.sid, record.cwd)
            if pid is not None:
                raise _Held(pid)

    async def release(self, active: ActiveTurn | None) -> bool:
        """End the process and keep the session; false if a turn runs, and then nothing is done."""
        if active is not None or self._record.turn is not None:
            return False
        seat = self._s.runner.retire(self.thread)
        if seat is not None:
            await self._s.runner.end(seat)
        return True

    def spent(self) -> Refused | None:
        """Why no turn may start, if the day's budget is used up."""
        return self._s.spending.refusal()

    async def serve(self) -> None:
        """Do what was asked for by a command, unless a turn runs: that one's end comes first."""
        async with self._gate:
            await self.compacting.serve()

    def unattended(self) -> None:
        """The process went because it was idle: time to make the session smaller."""
        if not self._gate.locked() and self.process is None and self._record.turn is None:
            self.compacting.begin()

    @property
    def _fork_is_due(self) -> bool:
        """The turn is to begin a fork, and the process that lives, if any, is not that fork's."""
        record, process = self._record, self.process
        fork = record.turn is not None and record.turn.fork
        return fork and (process is None or process.info.sid == record.sid)

    def _launch(self) -> Launch:
        """What to start for the record as it is now: a fresh session, a resumed one, a fork."""
        record, config = self._record, self._s.config
        keep = record.sid is not None and not self._fork_is_due
        return Launch(
            thread=self.thread,
            sid=record.sid if keep and record.sid else str(uuid.uuid4()),
            cwd=Path(record.cwd),
            resume=record.sid,
            readable=self.inbox,
            model=record.settings.model or config.model,
            effort=record.settings.effort or config.effort,
            permission_mode=mode_of(record, config),
            may_bypass=may_bypass(config),
        )

    async def _adopt_session(
        self, turn: ActiveTurn, process: LiveProcess, outcome: Outcome
    ) -> None:
        """The process's session is the thread's from now on, if it can be resumed.

        A result proves it, but not one that says that there is no such session. Without a result
        the transcript does, once the model's answer has begun to stand in it.
        """
        sid = process.info.sid
        if session_is_gone(outcome) or self._record.sid == sid:
            return
        ended = turn.result is not None or isinstance(outcome, Answered)
        if not ended and not (await self.records(turn.prompt_id)).answered:
            return
        self.change(lambda r: ledger.continued_as(r, sid), turn)

    async def _confirm(self, turn: ActiveTurn, process: LiveProcess, *, may_run: bool) -> None:
        """Has the session taken the prompt as new? It takes a prompt id once, and says so at once.

        If it passed the prompt over, a bot that crashed had asked it before. In a process that
        lived on (`may_run`) that turn then runs, or is over: the transcript tells.
        """
        await asyncio.wait({turn.done}, timeout=SILENT_START)
        if turn.accepted or turn.over:
            return
        try:
            await process.ask("bridge_sync", within=self._s.config.silence_timeout)
        except (ProcessGone, TimeoutError):
            return
        known = await self.records(turn.prompt_id)
        if turn.accepted or turn.over or not known.asked or (may_run and not known.finished):
            return
        turn.narration.recover(known.records[1:])
        turn.end(Answered(None) if known.finished else Cut())

    async def records(self, prompt: str, *, past: bool = False) -> TurnRecords:
        """What the transcript holds of a turn; with `past`, those of former sessions, too."""
        record = self._record
        sids = [record.process.sid if record.process else record.sid]
        if past:
            sids += [record.sid, *(former.sid for former in reversed(record.lineage))]

        def read(sid: str) -> TurnRecords:
            path = history.find_transcript(self._s.projects, sid, record.cwd)
            return history.read_turn(path, prompt) if path else TurnRecords([])

        for sid in filter(None, sids):
            if (found := await asyncio.to_thread(read, sid)).asked:
                return found
        return TurnRecords([])

    async def untouched(self, turn: ActiveTurn) -> bool:
        """The process died before it took the prompt: it said nothing, and wrote down nothing."""
        asked = (await self.records(turn.prompt_id)).asked
        return not asked and not turn.heard and turn.stopped_by is None

    async def worked(self, turn: ActiveTurn) -> bool:
        """The model has done something in this turn: the CLI's own words are not that."""
        known = await self.records(turn.prompt_id)
        return any(
            record["type"] == "assistant" and not record.get("isApiErrorMessage")
            for record in known.records
        )

    async def rewind(self, turn: ActiveTurn) -> None:
        """End the process; the thread goes on with its session as it was before the turn.

        Raises `rewind.NothingBefore` where the turn was the first, and `OSError`.
        """
        async with self._gate:
            await self._s.runner.stop(self.thread)
            sid = await asyncio.to_thread(self._s.compactor.rewound, self._record, turn.prompt_id)
            self.change(lambda r: ledger.rewound(r, sid), turn)
            await self._s.store.durable()

    async def last_words(self) -> str:
        """What a fresh session is told of this one."""
        return await asyncio.to_thread(self._s.compactor.last_words, self._record)

    async def interrupt(self, turn: ActiveTurn, by: str) -> None:
        """End a turn, and its process only if there is no other way."""
        turn.stopped_by = by
        process = self._s.runner.live(self.thread)
        if process is None or not turn.sent:
            turn.end(Stopped(by))
            return
        grace = self._s.config.stop_grace
        try:
            await process.ask("interrupt", within=grace)
            await asyncio.wait(
                {turn.done, process.ended}, timeout=grace, return_when=asyncio.FIRST_COMPLETED
            )
        except (ProcessGone, TimeoutError):
            log.warning("thread %d: the CLI does not take an interrupt", self.thread)
        if not turn.over:
            await self._s.runner.stop(self.thread, only=process)
            turn.end(Stopped(by))

    def change(self, change: Callable[[Record], Record], turn: ActiveTurn) -> None:
        """Change the record, unless the turn belongs to a past that was cut off."""
        self._s.store.update(self.thread, change, generation=turn.generation)

    @property
    def _record(self) -> Record:
        record = self._s.store.get(self.thread)
        if record is None:
            raise LookupError(f"thread {self.thread} has no record")
        return record


def _wait_line(turn: ActiveTurn) -> None:
    turn.narration.passing(
        "⏳ Waiting for a free place: as many sessions are busy as may run at once"
    )
    turn.refresh()
