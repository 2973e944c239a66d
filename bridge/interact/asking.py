"""What a thread's process asks its host, and the answers that it gets."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from bridge import ledger
from bridge.interact.approvals import Approvals, Question
from bridge.interact.controls import can_be_chosen
from bridge.interact.verdict import mode_after
from bridge.process import LiveProcess, ProcessGone
from bridge.protocol import ControlRequest, PermissionRequest, deny, reply_line, unsupported_line
from bridge.protocol.questions import PLAN, questions_of
from bridge.turn import ActiveTurn
from state import Queued, Record, Store

log = logging.getLogger(__name__)


class Asking:
    """The questions of one thread; `open` has the ids of those that wait for a person."""

    def __init__(
        self,
        thread: int,
        approvals: Approvals,
        store: Store,
        spawn: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"],
        active: Callable[[], ActiveTurn | None],
    ) -> None:
        """`active` gives the turn that runs now."""
        self.open: set[str] = set()
        self._thread = thread
        self._approvals = approvals
        self._store = store
        self._spawn = spawn
        self._active = active

    def take(self, process: LiveProcess, request: ControlRequest) -> None:
        """Answer at once what needs no person, and put the rest to the people of the thread."""
        wanted = request.permission
        if wanted is None:
            process.send(unsupported_line(request.request_id, request.subtype))
        elif not _can_be_asked(wanted):
            todo = "Ask in plain text instead: the person answers with the next message."
            process.send(reply_line(request.request_id, deny(todo)))
        else:
            self._split(wanted.tool_use_id)
            agent = self._agent(wanted)
            question = Question(thread=self._thread, request=wanted, agent=agent)
            self._spawn(self._ask(process, request.request_id, question))

    def resume(self, process: LiveProcess) -> None:
        """After a restart of the bot: ask again what the process still waits for."""
        for request_id, question in self._approvals.unanswered(process):
            self._spawn(self._ask(process, request_id, question))

    def cancel(self, request_id: str) -> None:
        """The process does not want to know any more."""
        self._approvals.cancel(request_id)

    def reply(self, item: Queued) -> bool:
        """Take a message as the answer to what is asked; false if it is none and waits its turn."""
        words = "" if item.attachments else item.content
        if not self._approvals.words(self._thread, words, item.author_name):
            return False
        self._store.update(self._thread, lambda record: record.with_seen(item.message))
        return True

    def _split(self, call: str) -> None:
        """Let the reply go on below the question, after a restart of the bot, too."""
        if (turn := self._active()) is not None:
            turn.narration.split(call)
            turn.refresh()
            change = partial(ledger.asked, tool_use_id=call)
            self._store.update(self._thread, change, generation=turn.generation)

    def _agent(self, request: PermissionRequest) -> str:
        """The description of the subagent that asks; nothing if Claude itself does."""
        if request.agent_id is None:
            return ""
        turn = self._active()
        known = turn.narration.agent_of(request.tool_use_id) if turn else ""
        return known or request.agent_id

    def _settled(self, request: PermissionRequest, answer: Mapping[str, Any]) -> None:
        """What an answer means beside what the CLI makes of it."""
        if answer["behavior"] == "deny" and (turn := self._active()) is not None:
            turn.narration.deny(request.tool_use_id)
        if (mode := mode_after(request, answer)) is not None:
            self._store.update(self._thread, lambda record: _planned(record, mode))

    async def _ask(self, process: LiveProcess, request_id: str, question: Question) -> None:
        """Put a permission request to the people of the thread, and pass on what they say."""

        def tell(answer: dict[str, Any] | None) -> None:
            self.open.discard(request_id)
            process.last_output = asyncio.get_running_loop().time()
            if answer is None:
                return  # the question is void
            self._settled(question.request, answer)
            try:
                process.send(reply_line(request_id, answer))
            except ProcessGone:
                log.info("thread %d: an answer came after the end of its process", self._thread)

        if question.word is None:
            self.open.add(request_id)
        try:
            await self._approvals.ask(process, request_id, question, tell)
        finally:
            self.open.discard(request_id)


def _can_be_asked(request: PermissionRequest) -> bool:
    """Whether there is a form for it: newer CLIs may have requests of other kinds."""
    if not request.requires_user_interaction or request.tool_name == PLAN:
        return True
    return can_be_chosen(questions_of(request))


def _planned(record: Record, mode: str) -> Record:
    """A plan was approved: a thread that chose to plan goes on to work, after a restart, too."""
    if record.settings.permission_mode != "plan":
        return record
    settings = record.settings.model_copy(update={"permission_mode": mode})
    return record.model_copy(update={"settings": settings})
