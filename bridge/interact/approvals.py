"""May this tool run? A message with two buttons per question, alive across restarts of the bot.

The question is kept in the process's run folder until it is answered, for as long as the process
waits for it. No answer within the time limit is a denial; so is anything that goes wrong.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import discord

from bridge.access import NOT_ALLOWED, Access
from bridge.discord_io.outbox import Outbox
from bridge.discord_io.retry import persist
from bridge.interact.acknowledge import Deliveries, acknowledge, whisper
from bridge.process import LiveProcess
from bridge.protocol import PermissionRequest, allow, deny
from bridge.render import MESSAGE_LIMIT, Text, render
from bridge.render.inline import escaped

log = logging.getLogger(__name__)

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROOM = 100
"""Characters that a question leaves free for the line that says how it was answered."""


@dataclass(frozen=True)
class Question:
    """A permission request in a thread; `message` shows it, once it has been posted."""

    thread: int
    request: PermissionRequest
    message: int | None = None


@dataclass
class _Open:
    question: Question
    answer: asyncio.Future[tuple[bool, str] | None]


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
        self, process: LiveProcess, request_id: str, question: Question
    ) -> dict[str, Any] | None:
        """Show the question and wait; returns the answer for the CLI, None if it became void."""
        if not _SAFE_ID.fullmatch(request_id):
            return deny("The request has no usable id.")
        kept = Path(process.info.run_dir) / f"ask-{request_id}.json"
        answer: asyncio.Future[tuple[bool, str] | None]
        answer = asyncio.get_running_loop().create_future()
        self._open[request_id] = _Open(question, answer)
        _keep(kept, question)
        body = _body(question.request)
        try:
            message = question.message or await self._post(request_id, question, body)
            if message is None:
                kept.unlink(missing_ok=True)
                return deny("The person could not be asked.")
            _keep(kept, Question(question.thread, question.request, message))
            await asyncio.wait(
                {answer, process.ended},
                timeout=self._time_limit,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            del self._open[request_id]
        kept.unlink(missing_ok=True)
        said = answer.result() if answer.done() else None
        if said is not None:
            allowed, by = said
            word = f"✅ allowed by {escaped(by)}" if allowed else f"🚫 denied by {escaped(by)}"
        elif answer.done() or process.ended.done():
            word = "⌛ no longer asked"
        else:
            word = "🚫 denied: nobody answered in time"
        await self._close(question.thread, message, f"{body[-1]}\n-# {word}")
        if said is None and (answer.done() or process.ended.done()):
            return None
        if said is not None and said[0]:
            return allow(question.request.input)
        return deny("The person denied this." if said else "Nobody answered in time.")

    def answer(self, request_id: str, *, allowed: bool, by: str) -> bool:
        """Take a person's word; false if the question is not open any more."""
        asked = self._open.get(request_id)
        if asked is None or asked.answer.done():
            return False
        asked.answer.set_result((allowed, by))
        return True

    def cancel(self, request_id: str) -> None:
        """The CLI does not want to know any more: its turn was interrupted."""
        asked = self._open.get(request_id)
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(None)

    def permits(self, user: discord.User | discord.Member) -> bool:
        """Whether a person may press a button."""
        return self._access.permits(user)

    def unanswered(self, process: LiveProcess) -> Iterator[tuple[str, Question]]:
        """After a restart: the questions that the process still waits for."""
        for kept in Path(process.info.run_dir).glob("ask-*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                data = json.loads(kept.read_bytes())
                request = PermissionRequest.model_validate(data["request"])
                question = Question(int(data["thread"]), request, data["message"])
                yield kept.stem.removeprefix("ask-"), question

    async def _post(self, request_id: str, question: Question, body: list[str]) -> int | None:
        view = discord.ui.View(timeout=None)
        view.add_item(AnswerButton(self, request_id, "allow"))
        view.add_item(AnswerButton(self, request_id, "deny"))
        reply = self._outbox.aside(question.thread, body, f"ask-{request_id[:16]}", view)
        await asyncio.wait({reply.settled})
        return reply.messages[-1] if reply.messages else None

    async def _close(self, thread: int, message: int, text: str) -> None:
        shown = self._outbox.channel(thread).get_partial_message(message)
        with contextlib.suppress(discord.HTTPException, aiohttp.ClientError, OSError):
            await persist("close a question", lambda: shown.edit(content=text, view=None))


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


def _body(request: PermissionRequest) -> list[str]:
    """The whole of what is to be allowed: nothing of it is cut, it may take several messages."""
    name = request.display_name or request.tool_name
    command = request.input.get("command")
    code = command if isinstance(command, str) else json.dumps(request.input, indent=1)
    language = "sh" if isinstance(command, str) else "json"
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", code)), default=0))
    head = f"🔐 **{name}** asks for permission"
    if request.description:
        head += f": {request.description}"
    text = Text(f"{head}\n{fence}{language}\n{code}\n{fence}")
    return render([text], limit=MESSAGE_LIMIT - _ROOM)


def _keep(path: Path, question: Question) -> None:
    facts = {
        "thread": question.thread,
        "request": question.request.model_dump(),
        "message": question.message,
    }
    with contextlib.suppress(OSError):
        path.write_text(json.dumps(facts))
