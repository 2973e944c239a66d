"""What Claude asks of people: permissions, its own questions, plans; alive across restarts.

A request is kept in the process's run folder until it is answered and its message says so, for
as long as the process lives. No answer within the time limit is a denial; so is anything that goes
wrong.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import discord

from bridge.access import Access
from bridge.discord_io.outbox import Outbox, Reply
from bridge.discord_io.retry import FOREVER, persist
from bridge.interact import verdict
from bridge.interact.acknowledge import Deliveries
from bridge.interact.body import Body, body_of
from bridge.interact.controls import controls
from bridge.interact.verdict import Verdict
from bridge.process import LiveProcess
from bridge.protocol import PermissionRequest, deny
from bridge.protocol.questions import PLAN, questions_of

log = logging.getLogger(__name__)

Tell = Callable[[dict[str, Any] | None], None]
"""Takes the answer for the CLI; None if the question became void."""
_Said = asyncio.Future[Verdict | None]
"""What a person said; None if the CLI does not want to know any more."""

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Question:
    """A request in a thread.

    `agent` describes the subagent that asks, if one does; `answers` has what was said so far to
    which of several questions; `message` shows it, once it has been posted; `word` says what came
    of it, once that is settled.
    """

    thread: int
    request: PermissionRequest
    message: int | None = None
    word: str | None = None
    agent: str = ""
    answers: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass
class _Open:
    """A question that waits for a person."""

    question: Question
    said: _Said
    kept: Path
    edits: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """Updates of its message that are under way."""

    @property
    def over(self) -> bool:
        return self.said.done()


class Approvals:
    """All questions that are open now."""

    def __init__(self, outbox: Outbox, access: Access, time_limit: float) -> None:
        """`time_limit` in seconds; after it, a question counts as denied."""
        self._outbox = outbox
        self._access = access
        self._time_limit = time_limit
        self._open: dict[str, _Open] = {}
        self.deliveries = Deliveries()

    async def ask(
        self, process: LiveProcess, request_id: str, question: Question, tell: Tell
    ) -> None:
        """Show the question, and `tell` what is to be told to the CLI.

        The CLI is told at once, and then only the message is brought up to date: that may have to
        wait for Discord, and a bot that goes away in between leaves it to the next one.
        """
        if not _SAFE_ID.fullmatch(request_id):
            tell(deny("The request has no usable id."))
            return
        kept = Path(process.info.run_dir) / f"ask-{request_id}.json"
        if question.word is not None:
            body = await asyncio.to_thread(body_of, question.request, question.agent)
        else:
            said: _Said = asyncio.get_running_loop().create_future()
            waiting = self._open[request_id] = _Open(question, said, kept)
            _keep(kept, question)
            try:
                body = await asyncio.to_thread(body_of, question.request, question.agent)
                reply = None if question.message else self._post(request_id, question, body)
                await self._decided(process, request_id, waiting, reply)
            finally:
                del self._open[request_id]
            word, answer = _outcome(waiting.question, said, process)
            tell(answer)
            question = replace(waiting.question, word=word)
            _keep(kept, question)
            if reply is not None:
                await reply.over()
                question = replace(question, message=_with_buttons(reply))
            await asyncio.gather(*waiting.edits, return_exceptions=True)
        await self._close(question, body)
        kept.unlink(missing_ok=True)

    async def _decided(
        self, process: LiveProcess, request_id: str, waiting: _Open, reply: Reply | None
    ) -> None:
        """Return when it is settled what comes of a question, with its message if there is one."""
        if reply is not None:
            await _first(None, reply.settled, waiting.said, process.ended)
            waiting.question = replace(waiting.question, message=_with_buttons(reply))
            _keep(waiting.kept, waiting.question)
            if waiting.question.answers:  # somebody was faster than the message's own id
                self._update(request_id, waiting)
        if waiting.question.message is not None:
            await _first(self._time_limit, waiting.said, process.ended)

    # --- what people say ------------------------------------------------------------------------
    def permits(self, user: discord.User | discord.Member) -> bool:
        """Whether a person may press a button."""
        return self._access.permits(user)

    def request(self, request_id: str) -> PermissionRequest | None:
        """The request behind an id; None if it is not open any more."""
        waiting = self._open.get(request_id)
        return None if waiting is None or waiting.over else waiting.question.request

    def answer(self, request_id: str, said: Verdict) -> bool:
        """Take a person's word; false if the question is not open any more."""
        waiting = self._open.get(request_id)
        if waiting is None or waiting.over:
            return False
        waiting.said.set_result(said)
        return True

    def choose(self, request_id: str, index: int, words: str, by: str) -> bool:
        """Take the answer to one of Claude's own questions; the last one that lacks settles all.

        False if the request is not open any more, or has no such question.
        """
        waiting = self._open.get(request_id)
        if waiting is None or waiting.over:
            return False
        question = waiting.question
        questions = questions_of(question.request)
        if not 0 <= index < len(questions):
            return False
        answers = {**question.answers, index: words}
        waiting.question = replace(question, answers=answers)
        if len(answers) == len(questions):
            said = verdict.replied(question.request, questions, answers, by)
            waiting.said.set_result(said)
        else:
            _keep(waiting.kept, waiting.question)
            self._update(request_id, waiting)
        return True

    def words(self, thread: int, words: str, by: str) -> bool:
        """Take a message in the thread as the answer to what is open there; false if nothing is.

        It answers a plan, or the first of Claude's questions that has no answer yet. A permission
        is not given in passing: for that there are buttons.
        """
        for request_id, waiting in self._open.items():
            question = waiting.question
            if waiting.over or question.thread != thread or not words.strip():
                continue
            if question.request.tool_name == PLAN:
                return self.answer(request_id, verdict.kept_planning(by, words))
            for index in range(len(questions_of(question.request))):
                if index not in question.answers:
                    return self.choose(request_id, index, words, by)
        return False

    def cancel(self, request_id: str) -> None:
        """The CLI does not want to know any more: its turn was interrupted."""
        waiting = self._open.get(request_id)
        if waiting is not None and not waiting.over:
            waiting.said.set_result(None)

    # --- what is kept and shown -----------------------------------------------------------------
    def unanswered(self, process: LiveProcess) -> Iterator[tuple[str, Question]]:
        """After a restart: what is not answered yet, or not closed."""
        for kept in Path(process.info.run_dir).glob("ask-*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                data = json.loads(kept.read_bytes())
                answers: dict[str, str] = data.get("answers", {})
                question = Question(
                    thread=int(data["thread"]),
                    request=PermissionRequest.model_validate(data["request"]),
                    message=data["message"],
                    word=data.get("word"),
                    agent=data.get("agent", ""),
                    answers={int(index): words for index, words in answers.items()},
                )
                yield kept.stem.removeprefix("ask-"), question

    def _post(self, request_id: str, question: Question, body: Body) -> Reply:
        view = controls(request_id, question.request, question.answers)
        nonce = f"ask-{request_id[:16]}"
        return self._outbox.aside(question.thread, body.contents, nonce, view, body.file)

    def _update(self, request_id: str, waiting: _Open) -> None:
        edit = asyncio.create_task(self._show_choices(request_id, waiting))
        waiting.edits.add(edit)
        edit.add_done_callback(waiting.edits.discard)

    async def _show_choices(self, request_id: str, waiting: _Open) -> None:
        """Let the message show what was chosen so far; what is settled meanwhile is shown later."""
        question = waiting.question
        if question.message is None:
            return
        shown = self._outbox.channel(question.thread).get_partial_message(question.message)
        with contextlib.suppress(discord.HTTPException):
            view = controls(request_id, question.request, question.answers)
            if not waiting.over:
                await persist("show a choice", lambda: shown.edit(view=view))

    async def _close(self, question: Question, body: Body) -> None:
        if question.message is None:
            return
        shown = self._outbox.channel(question.thread).get_partial_message(question.message)
        text = body.closed(question.word or "")
        with contextlib.suppress(discord.HTTPException):
            await persist(
                "close a question", lambda: shown.edit(content=text, view=None), patience=FOREVER
            )


async def _first(timeout: float | None, *futures: asyncio.Future[Any]) -> None:  # noqa: ASYNC109
    await asyncio.wait(futures, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)


def _with_buttons(reply: Reply) -> int | None:
    """The message with the buttons; None if it was not shown, or is not yet."""
    arrived = reply.settled.done() and reply.failure is None
    return reply.messages[-1] if arrived and reply.messages else None


def _outcome(
    question: Question, said: _Said, process: LiveProcess
) -> tuple[str, dict[str, Any] | None]:
    """The word for the people, and the answer for the CLI."""
    if said.done() and (person := said.result()) is not None:
        return person.word, person.answer
    if said.done() or process.ended.done():
        return "⌛ no longer asked", None
    if question.message is None:
        return "", deny("The person could not be asked.")
    return "🚫 denied: nobody answered in time", deny("Nobody answered in time.")


def _keep(path: Path, question: Question) -> None:
    facts = {
        "thread": question.thread,
        "request": question.request.model_dump(),
        "message": question.message,
        "word": question.word,
        "agent": question.agent,
        "answers": dict(question.answers),
    }
    fresh = path.with_suffix(".new")
    with contextlib.suppress(OSError):  # a process that has ended has no folder any more
        fresh.write_text(json.dumps(facts))
        fresh.replace(path)
