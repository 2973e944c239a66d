"""May this tool run? A message with two buttons per question, alive across restarts of the bot.

The question is kept in the process's run folder until it is answered and its message says so, for
as long as the process lives. No answer within the time limit is a denial; so is anything that goes
wrong.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import discord

from bridge.access import NOT_ALLOWED, Access
from bridge.discord_io.outbox import Outbox, Reply
from bridge.discord_io.retry import FOREVER, persist
from bridge.interact.acknowledge import Deliveries, acknowledge, whisper
from bridge.interact.body import Body, body_of
from bridge.process import LiveProcess
from bridge.protocol import PermissionRequest, allow, deny
from bridge.render.inline import escaped

log = logging.getLogger(__name__)

Tell = Callable[[dict[str, Any] | None], None]
"""Takes the answer for the CLI; None if the question became void."""
_Said = asyncio.Future[tuple[bool, str] | None]
"""A person's word and name; None if the CLI does not want to know any more."""

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Question:
    """A permission request in a thread.

    `message` shows it, once it has been posted; `word` says what came of it, once that is settled.
    """

    thread: int
    request: PermissionRequest
    message: int | None = None
    word: str | None = None


class Approvals:
    """All questions that are open now."""

    def __init__(self, outbox: Outbox, access: Access, time_limit: float) -> None:
        """`time_limit` in seconds; after it, a question counts as denied."""
        self._outbox = outbox
        self._access = access
        self._time_limit = time_limit
        self._open: dict[str, _Said] = {}
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
            body = await asyncio.to_thread(body_of, question.request)
        else:
            said: _Said = asyncio.get_running_loop().create_future()
            self._open[request_id] = said
            _keep(kept, question)
            try:
                body = await asyncio.to_thread(body_of, question.request)
                reply = None if question.message else self._post(request_id, question.thread, body)
                question = await self._decided(process, question, said, reply, kept)
            finally:
                del self._open[request_id]
            word, answer = _outcome(question, said, process)
            tell(answer)
            question = replace(question, word=word)
            _keep(kept, question)
            if reply is not None:
                await reply.over()
                question = replace(question, message=_with_buttons(reply))
        await self._close(question, body)
        kept.unlink(missing_ok=True)

    async def _decided(
        self,
        process: LiveProcess,
        question: Question,
        said: _Said,
        reply: Reply | None,
        kept: Path,
    ) -> Question:
        """Return when it is settled what comes of a question, with its message if there is one."""
        if reply is not None:
            await _first(None, reply.settled, said, process.ended)
            question = replace(question, message=_with_buttons(reply))
            _keep(kept, question)
        if question.message is not None:
            await _first(self._time_limit, said, process.ended)
        return question

    def answer(self, request_id: str, *, allowed: bool, by: str) -> bool:
        """Take a person's word; false if the question is not open any more."""
        said = self._open.get(request_id)
        if said is None or said.done():
            return False
        said.set_result((allowed, by))
        return True

    def cancel(self, request_id: str) -> None:
        """The CLI does not want to know any more: its turn was interrupted."""
        said = self._open.get(request_id)
        if said is not None and not said.done():
            said.set_result(None)

    def permits(self, user: discord.User | discord.Member) -> bool:
        """Whether a person may press a button."""
        return self._access.permits(user)

    def unanswered(self, process: LiveProcess) -> Iterator[tuple[str, Question]]:
        """After a restart: what is not answered yet, or not closed."""
        for kept in Path(process.info.run_dir).glob("ask-*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                data = json.loads(kept.read_bytes())
                request = PermissionRequest.model_validate(data["request"])
                question = Question(int(data["thread"]), request, data["message"], data.get("word"))
                yield kept.stem.removeprefix("ask-"), question

    def _post(self, request_id: str, thread: int, body: Body) -> Reply:
        view = discord.ui.View(timeout=None)
        view.add_item(AnswerButton(self, request_id, "allow"))
        view.add_item(AnswerButton(self, request_id, "deny"))
        nonce = f"ask-{request_id[:16]}"
        return self._outbox.aside(thread, body.contents, nonce, view, body.file)

    async def _close(self, question: Question, body: Body) -> None:
        if question.message is None:
            return
        shown = self._outbox.channel(question.thread).get_partial_message(question.message)
        text = body.closed(question.word or "")
        with contextlib.suppress(discord.HTTPException):
            await persist(
                "close a question", lambda: shown.edit(content=text, view=None), patience=FOREVER
            )


class AnswerButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"ask:(?P<request>[A-Za-z0-9_-]{1,64}):(?P<word>allow|deny)",
):
    """*Allow* or *Deny*; found again by its id after a restart of the bot."""

    def __init__(self, approvals: Approvals, request_id: str, word: str) -> None:
        """`word` is allow or deny."""
        self._approvals = approvals
        self._request_id = request_id
        self._word = word
        yes = word == "allow"
        super().__init__(
            discord.ui.Button(
                label="Allow" if yes else "Deny",
                style=discord.ButtonStyle.success if yes else discord.ButtonStyle.danger,
                custom_id=f"ask:{request_id}:{word}",
            )
        )

    @classmethod
    async def from_custom_id(
        cls,
        interaction: discord.Interaction[Any],
        item: discord.ui.Item[Any],
        match: re.Match[str],
        /,
    ) -> "AnswerButton":
        """Make the button of a pressed id."""
        return cls(interaction.client.approvals, match["request"], match["word"])

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        """Pass the word on, and acknowledge: neither waits for the other."""
        if not self._approvals.deliveries.first(interaction):
            return
        if not self._approvals.permits(interaction.user):
            await whisper(interaction, NOT_ALLOWED)
            return
        by = interaction.user.display_name
        open_still = self._approvals.answer(self._request_id, allowed=self._word == "allow", by=by)
        if open_still:
            await acknowledge(interaction)
        else:
            await whisper(
                interaction, "⌛ This question has expired: it was answered, or its turn is over."
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
        allowed, by = person
        if allowed:
            return f"✅ allowed by {escaped(by)}", allow(question.request.input)
        return f"🚫 denied by {escaped(by)}", deny("The person denied this.")
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
    }
    fresh = path.with_suffix(".new")
    with contextlib.suppress(OSError):  # a process that has ended has no folder any more
        fresh.write_text(json.dumps(facts))
        fresh.replace(path)
