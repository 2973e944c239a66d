"""One thread: its queue, its turn, its state machine.

A conversation runs one turn at a time. All of its state that must survive lies in the store's
record; what is here is rebuilt from that by `resume`.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from bridge import ledger, tuning, uploads
from bridge.attempts import answer
from bridge.discord_io.outbox import Reply
from bridge.display import Display
from bridge.interact.asking import Asking
from bridge.narration import Narration
from bridge.outcome import (
    Answered,
    Cut,
    Outcome,
    Refused,
    Stopped,
    TimedOut,
    tail,
)
from bridge.process import LiveProcess
from bridge.prompt import Prompt, compose
from bridge.protocol import (
    Assistant,
    CancelRequest,
    ControlRequest,
    Delta,
    Event,
    System,
)
from bridge.runner import Seat
from bridge.services import Services
from bridge.session import Session
from bridge.tools.server import SUBTYPE as TOOLS
from bridge.turn import ActiveTurn, prompt_id
from state import Queued, Record, Turn

log = logging.getLogger(__name__)

WAITING = "⏳"
TYPING_INTERVAL = 8.0


class Conversation:
    """A Discord thread that is, or will be, a session."""

    def __init__(self, thread: int, services: Services) -> None:
        """The thread has a record in the store."""
        self.thread = thread
        self.active: ActiveTurn | None = None
        self._s = services
        self._display = Display(thread, services)
        self._worker: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking = Asking(
            thread, services.approvals, services.store, self._spawn, lambda: self.active
        )
        self.session = Session(thread, services, self._on_event, self._spawn)

    @property
    def record(self) -> Record:
        """The thread's record as it is now; raises `LookupError` if the thread was forgotten."""
        record = self._s.store.get(self.thread)
        if record is None:
            raise LookupError(f"thread {self.thread} has no record")
        return record

    @property
    def idle(self) -> bool:
        """Nothing was said for an hour, and no process is there to begin anything."""
        busy = self.active is not None or self._tasks or self.session.process is not None
        return not busy and time.time() - self.record.last_used > 3600

    # --- messages -------------------------------------------------------------------------------
    def submit(self, item: Queued) -> None:
        """Put a message in the queue, unless it answers a question. The caller has it come once."""
        if self._asking.reply(item):
            return
        waits = self.active is not None or bool(self.record.queue)
        item = item.model_copy(update={"marked": waits})
        self._change(lambda r: ledger.queued(r, item))
        if waits:
            self._spawn(self._mark(item.message))
        self.wake()
        mode = tuning.chosen(self.record.settings, self._s.config)["queue mode"]
        if self.active is not None and mode == "interrupt":
            self._spawn(self._give_way(self.active))

    async def _give_way(self, turn: ActiveTurn) -> None:
        """End a turn for a newer message, once that one can no longer be lost."""
        await self._s.store.durable()
        if not turn.over:
            await self.session.interrupt(turn, "a newer message")

    def edit(self, message: int, content: str) -> None:
        """Change a message that still waits."""
        turn = self._unsent(message)
        if turn is not None and turn.item is not None:
            turn.item = turn.item.model_copy(update={"content": content})
            turn.prompt = None
        if turn is not None or self._waits(message):
            self._change(lambda r: ledger.edited(r, message, content))

    def withdraw(self, message: int) -> None:
        """Drop a message that still waits."""
        turn = self._unsent(message)
        if turn is not None:
            turn.end(Stopped("deleting the message"))
        elif self._waits(message):
            self._change(lambda r: ledger.withdrawn(r, message))

    def _unsent(self, message: int) -> ActiveTurn | None:
        """The turn of a message, as long as no process has it: it waits for a free place."""
        turn = self.active
        if turn is None or turn.sent or turn.item is None or turn.item.message != message:
            return None
        return turn

    def _waits(self, message: int) -> bool:
        return any(item.message == message for item in self.record.queue)

    async def _mark(self, message: int) -> None:
        """Show that a message waits, but only once it can no longer be lost."""
        await self._s.store.durable()
        await self._s.outbox.react(self.thread, message, WAITING)
        if not self._waits(message):
            await self._unmark(message)

    async def _unmark(self, message: int) -> None:
        await self._s.outbox.unreact(self.thread, message, WAITING)

    # --- commands -------------------------------------------------------------------------------
    async def stop(self, by: str) -> tuple[bool, int]:
        """Interrupt the turn and empty the queue: (a turn was stopped, messages dropped)."""
        dropped = self._drop(self.record.queue)
        turn = self.active
        if turn is None or turn.over:
            return False, dropped
        await self.session.interrupt(turn, by)
        return True, dropped

    async def reset(self, by: str, change: Callable[[Record], Record] = ledger.cut_off) -> int:
        """Cut off the past and end the process; returns how many messages were dropped.

        The generation rises first, and durably: a turn that ends late belongs to the past.
        """
        dropped = self._drop(self.record.queue)
        self._change(change)
        ending = self._spawn(self._end_process(self._part(), by))
        await self._s.store.durable()
        await ending
        return dropped

    async def fork(self) -> bool:
        """Let the next turn start a session of its own from the present context.

        A turn that runs is not disturbed: it belongs to the context that is branched off.
        Returns false if there is no context yet.
        """
        if self.record.sid is None and self.active is None:
            return False
        self._change(lambda r: r.model_copy(update={"pending_fork": True}))
        await self._s.store.durable()
        if self.active is None:
            await self._end_process(self._part(), "the fork")
        return True

    async def granted(self, asked: "asyncio.Future[str]") -> str:
        """The answer to what `session.compacting` was asked: at once, or after the turn that runs.

        The next turn that wants a process does what was asked first.
        """
        while not asked.done():
            if (turn := self.active) is None:
                await self.session.serve()
            else:
                await asyncio.wait({turn.done, asked}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
        return asked.result()

    async def forget(self) -> None:
        """The thread was deleted: end its process, drop its record and what people sent in it.

        The transcript stays.
        """
        self._drop(self.record.queue)
        if self.active is not None:
            self.active.reply.finish([])
        await self._end_process(self._part(), "the deletion of the thread")
        await self.close()
        self._s.store.remove(self.thread)
        await asyncio.to_thread(uploads.discard, self.session.inbox)

    def _drop(self, items: tuple[Queued, ...]) -> int:
        for item in items:
            self._change(lambda r, message=item.message: ledger.withdrawn(r, message))
            if item.marked:
                self._spawn(self._unmark(item.message))
        return len(items)

    def _part(self) -> tuple[ActiveTurn | None, Seat | None]:
        """The turn and the process of now; nothing that begins later is given that process."""
        return self.active, self._s.runner.retire(self.thread)

    async def _end_process(self, part: tuple[ActiveTurn | None, Seat | None], by: str) -> None:
        turn, seat = part
        if turn is not None and not turn.over:
            await self.session.interrupt(turn, by)
        if seat is not None:
            await self._s.runner.end(seat)

    # --- the worker -----------------------------------------------------------------------------
    def wake(self) -> None:
        """See to it that a worker runs as long as there is something to do."""
        if self._worker is None or self._worker.done():
            self._worker = self._spawn(self._work())

    def resume(self) -> None:
        """After a restart of the bot: finish what was under way, then go on with the queue."""
        process = self.session.attach()
        if process is not None:
            self._asking.resume(process)
            self._s.tools.resume(process, self.thread, self._spawn)
        for turn in self.record.unsent:
            self._spawn(self._show_again(turn, self._reply(turn)))
        self.wake()

    async def _work(self) -> None:
        """One turn after the other, until nothing waits."""
        while (record := self._s.store.get(self.thread)) and (record.turn or record.queue):
            if self.active is not None:  # one that the CLI began by itself
                await asyncio.wait({self.active.done})
                await asyncio.sleep(0)
                continue
            try:
                if record.turn is not None:
                    await self._continue(record.turn)
                else:
                    await self._begin(record.queue[0])
            except Exception as fault:
                # A fault of the bot itself ends one turn, with a message, and not the thread.
                log.exception("thread %d: a turn failed", self.thread)
                left = self.record.turn
                turn = self.active or (self._activate(left) if left else None)
                if turn is None:
                    raise
                words = f"{type(fault).__name__}: {fault}"
                todo = "Its log says more; your next message is taken as usual."
                self._finish(turn, Refused("The bot itself failed in this turn.", todo, words))

    async def _begin(self, item: Queued) -> None:
        record = self.record
        prompt = prompt_id(item.message, record.generation, 1)
        begun = Turn(item=item, prompt_id=prompt, started=time.time())
        self._change(lambda r: ledger.begun(r, begun))
        if item.marked:
            self._spawn(self._unmark(item.message))
        await self._run(self._activate(begun))

    async def _continue(self, left: Turn) -> None:
        """Go on with the turn that was under way when the bot went away."""
        known = await self.session.records(left.prompt_id)
        process = self._s.runner.live(self.thread)
        attached = process is not None
        if not attached:
            self._change(lambda r: ledger.outlived(r, answered=known.answered))
        if known.asked and not known.answered and not attached:
            # Nothing was done for it. Under the old id the session would pass it over.
            attempt = left.attempt + 1
            prompt = prompt_id(left.item.message, self.record.generation, attempt)
            self._change(lambda r: ledger.retried(r, prompt, attempt))
            left = left.model_copy(update={"prompt_id": prompt, "attempt": attempt})
        turn = self._activate(left)
        turn.sent = attached
        turn.narration.recover(known.records[1:])
        if process is not None and known.asked and not process.takes_prompts:
            self._finish(turn, await self.session.follow(turn, process))
        elif attached or not known.answered:
            log.info("thread %d: its turn goes on", self.thread)
            await self._run(turn)
        else:
            self._finish(turn, Answered(None) if known.finished else Cut())

    # --- a turn ---------------------------------------------------------------------------------
    def _activate(self, begun: Turn | None) -> ActiveTurn:
        """Make a turn the one that runs; None stands for one that the CLI began by itself."""
        item = begun.item if begun else None
        prompt = begun.prompt_id if begun else str(uuid.uuid4())
        record = self.record
        turn = self.active = ActiveTurn(
            item=item,
            prompt_id=prompt,
            generation=record.generation,
            started=begun.started if begun else time.time(),
            renderer=self._display.pages(),
            narration=Narration(begun.asked if begun else ()),
            reply=self._reply(begun)
            if begun
            else self._s.outbox.reply(self.thread, f"{time.time_ns():x}"),
            questions=self._asking.open,
        )
        self._spawn(self._type(turn))
        return turn

    async def _run(self, turn: ActiveTurn) -> None:
        """Give the prompt to a process, wait for the end of the turn, and settle it."""
        outcome = await answer(self.session, turn, lambda: self._prompt(turn))
        self._finish(turn, outcome)

    async def _prompt(self, turn: ActiveTurn) -> Prompt:
        """What the process is given, made of the words that stand there when it is."""
        while turn.prompt is None:
            item = turn.item
            assert item is not None
            prompt = await compose(item, self._s.downloads, self.session.inbox / str(item.message))
            if turn.item is item:  # else it was edited meanwhile
                turn.prompt = prompt
                for note in prompt.notes:
                    turn.narration.note(note)
        return turn.prompt

    async def _type(self, turn: ActiveTurn) -> None:
        """Show that Claude is at work for as long as it is."""
        while not turn.over:
            if not turn.questions:
                await self._s.outbox.typing(self.thread)
            await asyncio.wait({turn.done}, timeout=TYPING_INTERVAL)

    # --- what the process says ------------------------------------------------------------------
    def _on_event(self, event: Event) -> None:
        if isinstance(event, ControlRequest):
            process = self.session.process
            if process is not None and event.subtype == TOOLS:
                self._s.tools.take(process, event, self.thread, self._spawn)
            elif process is not None:
                self._asking.take(process, event)
        elif isinstance(event, CancelRequest):
            self._asking.cancel(event.request_id)
        elif self.active is not None:
            self.active.feed(event)
        elif isinstance(event, System):
            if event.subtype == "task_notification":
                self._display.ended(event)
        elif isinstance(event, Delta | Assistant) and event.parent_tool_use_id is None:
            # The CLI begins a turn by itself when a background task has ended.
            process = self._s.runner.take(self.thread)
            if process is not None:
                self._spawn(self._follow(self._activate(None), process))
                self._on_event(event)

    async def _follow(self, turn: ActiveTurn, process: LiveProcess) -> None:
        outcome = await turn.wait(process, self.session.limits)
        if isinstance(outcome, TimedOut):
            await self.session.interrupt(turn, "the time limit")
        self._finish(turn, outcome)
        self.wake()

    # --- the end of a turn ----------------------------------------------------------------------
    def _finish(self, turn: ActiveTurn, outcome: Outcome) -> None:
        """Write down what came of a turn, show it, and make way for the next one.

        Nothing here waits for Discord: the reply arrives by itself, after a crash too.
        """
        result = outcome.result if isinstance(outcome, Answered) else None
        record = self.record
        seconds = time.time() - turn.started
        words = tail(outcome, turn.narration, seconds, ledger.cost_of(record, result))
        if turn.generation == record.generation:
            words += self._s.spending.turn(record, result)
        usage = turn.narration.usage
        context = usage.context_tokens if usage else None

        def settle(before: Record) -> Record:
            after = ledger.counted(before, result, context, turn.narration.model)
            return ledger.settled(after, words) if turn.item else after

        self._change(settle, turn)
        turn.end(outcome)
        turn.narration.close()
        self.active = None
        if self.record.pending_fork:
            self._spawn(self._end_process(self._part(), "the fork"))
        else:
            self._s.runner.release(self.thread)
        self._display.finish(turn, words)
        self._s.courier.offer(self.thread, turn.reply)
        self._spawn(self._delivered(turn.prompt_id, turn.reply))
        self._spawn(self._s.naming.exchanged(self.thread, turn, outcome))

    async def _delivered(self, prompt: str, reply: Reply) -> None:
        await reply.over()
        record = self._s.store.get(self.thread)
        if record is None:
            return
        if reply.failure is not None and record.parent is not None:
            words = (
                f"⚠️ **My answer in <#{self.thread}> could not be shown** ({reply.failure}).\n"
                "If the thread is locked, unlock it (or give me *Manage Threads*) and write there "
                "again; the session is kept."
            )
            self._s.outbox.post(record.parent, [words], f"{prompt[:18]}-lost")
        self._change(lambda r: ledger.delivered(r, prompt))

    def _reply(self, turn: Turn) -> Reply:
        """The messages that show the answer to a turn, those that are there already included."""
        item = turn.item
        return self._s.outbox.reply(
            self.thread,
            f"{item.message:x}",
            sent=turn.reply_ids,
            reference=item.message if item.marked else None,
            on_sent=lambda sent: self._change(lambda r: ledger.replied(r, turn.prompt_id, sent)),
            on_gone=lambda gone: self._change(lambda r: ledger.retracted(r, turn.prompt_id, gone)),
        )

    async def _show_again(self, over: Turn, reply: Reply) -> None:
        """After a restart: say the last words of a turn that Discord does not have yet."""
        known = await self.session.records(over.prompt_id, past=True)
        narration = Narration(over.asked)
        narration.recover(known.records[1:])
        narration.close()
        self._display.again(over.prompt_id, narration, reply, over.tail)
        await self._delivered(over.prompt_id, reply)

    # --- housekeeping ---------------------------------------------------------------------------
    async def close(self) -> None:
        """Let go of everything; the process and its turn go on without the bot."""
        current = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _change(self, change: Callable[[Record], Record], turn: ActiveTurn | None = None) -> None:
        self._s.store.update(self.thread, change, generation=turn.generation if turn else None)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
