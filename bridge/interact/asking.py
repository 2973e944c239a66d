"""What a thread's process asks its host, and the answers that it gets."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from bridge.interact.approvals import Approvals, Question
from bridge.process import LiveProcess, ProcessGone
from bridge.protocol import ControlRequest, deny, reply_line, unsupported_line

log = logging.getLogger(__name__)


class Asking:
    """The questions of one thread; `open` has the ids of those that wait for a person."""

    def __init__(
        self,
        thread: int,
        approvals: Approvals,
        spawn: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"],
        denied: Callable[[str], None],
    ) -> None:
        """`denied` is told the id of a tool call that a person refused."""
        self.open: set[str] = set()
        self._thread = thread
        self._approvals = approvals
        self._spawn = spawn
        self._denied = denied

    def take(self, process: LiveProcess, request: ControlRequest) -> None:
        """Answer at once what needs no person, and put the rest to the people of the thread."""
        wanted = request.permission
        if wanted is None:
            process.send(unsupported_line(request.request_id, request.subtype))
        elif wanted.requires_user_interaction:
            todo = "Ask in plain text instead: the person answers with the next message."
            process.send(reply_line(request.request_id, deny(todo)))
        else:
            question = Question(thread=self._thread, request=wanted)
            self._spawn(self._ask(process, request.request_id, question))

    def resume(self, process: LiveProcess) -> None:
        """After a restart of the bot: ask again what the process still waits for."""
        for request_id, question in self._approvals.unanswered(process):
            self._spawn(self._ask(process, request_id, question))

    def cancel(self, request_id: str) -> None:
        """The process does not want to know any more."""
        self._approvals.cancel(request_id)

    async def _ask(self, process: LiveProcess, request_id: str, question: Question) -> None:
        """Put a permission request to the people of the thread, and pass on what they say."""

        def tell(answer: dict[str, Any] | None) -> None:
            self.open.discard(request_id)
            process.last_output = asyncio.get_running_loop().time()
            if answer is None:
                return  # the question is void
            if answer["behavior"] == "deny":
                self._denied(question.request.tool_use_id)
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
