"""Replies on their way to Discord: the newest state wins, the last state always arrives.

A reply is a list of messages that grows while Claude writes. Each message is sent once (a nonce
lets Discord recognise a repetition) and then edited. Streaming edits are paced; the final state
is not held back. An outage ends no reply, however long it is: only a refusal does.
"""

import asyncio
import contextlib
import io
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import discord

from bridge.discord_io.retry import (
    ARCHIVED,
    FOREVER,
    TOO_MANY_OLD_EDITS,
    UNKNOWN_MESSAGE,
    persist,
)

log = logging.getLogger(__name__)

EDIT_INTERVAL = 1.2
"""Seconds between two streaming updates of a channel (Discord allows about 5 edits in 5 s)."""

FIRST_DELAY = 0.15
"""Seconds that live text waits for more before it is first shown; a short answer is one message."""


@dataclass(frozen=True)
class File:
    """Goes with a message."""

    name: str
    data: bytes


class Outbox:
    """All that the bot writes into channels and threads."""

    def __init__(self, client: discord.Client) -> None:
        """`client` does the requests."""
        self._client = client
        self._last: dict[int, Reply] = {}
        self._held: dict[int, asyncio.Future[None]] = {}
        self._tasks: dict[asyncio.Task[None], Reply] = {}

    def channel(self, channel: int, guild: int | None = None) -> discord.PartialMessageable:
        """A channel or thread by id alone: it need not be in any cache."""
        return self._client.get_partial_messageable(channel, guild_id=guild)

    def hold(self, channel: int, until: asyncio.Future[None]) -> None:
        """Let nothing go to a channel before `until` is done: the thread is still being made."""
        self._held[channel] = until
        until.add_done_callback(lambda _: self._held.pop(channel, None))

    def reply(
        self,
        channel: int,
        nonce: str,
        *,
        sent: Sequence[int] = (),
        reference: int | None = None,
        on_sent: Callable[[int], None] = lambda _: None,
        on_gone: Callable[[int], None] = lambda _: None,
    ) -> "Reply":
        """Begin a reply, or go on with one of which the messages `sent` are already there.

        Replies in one channel reach it in the order in which they were begun. `on_sent` is told
        the id of each new message, `on_gone` that of one that was taken back; `reference` is the
        message that the first one answers.
        """
        reply = Reply(
            self, channel, nonce, sent=sent, reference=reference, on_sent=on_sent, on_gone=on_gone
        )
        before = self._last.get(channel)
        self._last[channel] = reply
        reply.settled.add_done_callback(lambda _: self._forget(channel, reply))
        self._start(channel, reply, before.over if before else None)
        return reply

    def post(self, channel: int, contents: Sequence[str], nonce: str) -> "Reply":
        """Say one thing, in one message or more."""
        reply = self.reply(channel, nonce)
        reply.finish(contents)
        return reply

    def aside(
        self,
        channel: int,
        contents: Sequence[str],
        nonce: str,
        view: discord.ui.View | None = None,
        file: File | None = None,
        files: Sequence[File] = (),
    ) -> "Reply":
        """Say one thing now: below what a running reply shows so far, not below its end.

        A view and files go with the last message.
        """
        files = (*files, *([file] if file else []))
        reply = Reply(self, channel, nonce, view=view, files=files)
        running = self._last.get(channel)
        self._start(channel, reply, running.flush if running else None)
        reply.finish(contents)
        return reply

    def _start(
        self, channel: int, reply: "Reply", first: Callable[[], Awaitable[None]] | None
    ) -> None:
        async def run() -> None:
            await self._made(channel)
            if first is not None:
                await first()
            await reply.run()

        task = asyncio.create_task(run())
        self._tasks[task] = reply
        task.add_done_callback(self._tasks.pop)

    def _forget(self, channel: int, reply: "Reply") -> None:
        if self._last.get(channel) is reply:
            del self._last[channel]

    async def _made(self, channel: int) -> None:
        """Return once the thread is there."""
        held = self._held.get(channel)
        if held is not None:
            await asyncio.wait([held])

    # --- small signs; one that Discord refuses is no loss ----------------------------------------
    async def typing(self, channel: int) -> None:
        """Show for ten seconds that an answer is being written."""
        await self._made(channel)
        with contextlib.suppress(discord.HTTPException, aiohttp.ClientError, OSError):
            await self.channel(channel).typing()

    async def react(self, channel: int, message: int, emoji: str) -> None:
        """Put the bot's reaction on a message."""
        target = self.channel(channel).get_partial_message(message)
        with contextlib.suppress(discord.HTTPException, aiohttp.ClientError, OSError):
            await persist("react", lambda: target.add_reaction(emoji))

    async def unreact(self, channel: int, message: int, emoji: str) -> None:
        """Take the bot's reaction off a message."""
        me = self._client.user
        if me is None:
            return
        target = self.channel(channel).get_partial_message(message)
        with contextlib.suppress(discord.HTTPException, aiohttp.ClientError, OSError):
            await persist("take a reaction back", lambda: target.remove_reaction(emoji, me))

    async def unarchive(self, thread: int) -> None:
        """Open an archived thread again."""
        await persist(
            "open the thread again",
            lambda: self._client.http.edit_channel(thread, archived=False),
            patience=FOREVER,
        )

    async def drain(self, seconds: float) -> None:
        """Give what is under way that many seconds to arrive.

        Replies without an end yet are left as they are: the next bot goes on with them.
        """
        for reply in self._tasks.values():
            reply.leave()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Reply:
    """The messages that show one reply."""

    def __init__(
        self,
        outbox: Outbox,
        channel: int,
        nonce: str,
        *,
        sent: Sequence[int] = (),
        reference: int | None = None,
        on_sent: Callable[[int], None] = lambda _: None,
        on_gone: Callable[[int], None] = lambda _: None,
        view: discord.ui.View | None = None,
        files: Sequence[File] = (),
    ) -> None:
        """See `Outbox.reply` and `Outbox.aside`."""
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the final state stands in Discord, or can no longer get there."""
        self.messages: list[int] = list(sent)
        self.failure: str | None = None
        self._outbox = outbox
        self._target = outbox.channel(channel)
        self._nonce = nonce
        self._reference = reference
        self._on_sent = on_sent
        self._on_gone = on_gone
        self._view = view
        self._dressed: int | None = None  # the message that has the view
        self._files = files
        self._shown: list[str | None] = [None] * len(sent)
        self._want: Sequence[str] = ()
        self._final = False
        self._renewals = 0
        self._left = False
        self._dirty = asyncio.Event()
        self._urgent = asyncio.Event()
        self._flushes: list[asyncio.Future[None]] = []

    def show(self, contents: Sequence[str]) -> None:
        """What is to be seen now; the reply goes on."""
        self._want = contents
        self._dirty.set()

    def finish(self, contents: Sequence[str], view: discord.ui.View | None = None) -> None:
        """What is to be seen in the end, a view below it; the first word counts."""
        if self._final:
            return
        self._view = view or self._view
        self._final = True
        self.show(contents)
        self._urgent.set()

    def leave(self) -> None:
        """Go no further than the request that is under way, unless the end is known."""
        self._left = True
        self._urgent.set()
        self._dirty.set()

    async def over(self) -> None:
        """Return once nothing more will change in Discord."""
        await asyncio.wait([self.settled])

    async def flush(self) -> None:
        """Show what is wanted without the pause for more; returns when it stands in Discord."""
        shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flushes.append(shown)
        self._urgent.set()
        self._dirty.set()
        await asyncio.wait({shown, self.settled}, return_when=asyncio.FIRST_COMPLETED)

    async def run(self) -> None:
        """Keep Discord equal to what is wanted, until the final state is there."""
        try:
            wait = FIRST_DELAY
            while True:
                await self._dirty.wait()
                if not self._final:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(wait):
                            await self._urgent.wait()
                if self._left and not self._final:
                    break
                wait = EDIT_INTERVAL
                self._urgent.clear()
                self._dirty.clear()
                last, flushes = self._final, self._flushes
                self._flushes = []
                await self._update(list(self._want), last)
                for shown in flushes:
                    shown.set_result(None)
                if last:
                    break
        except discord.HTTPException as refused:
            self.failure = f"{refused.status} {refused.code}: {refused.text}"
            log.warning("a reply in channel %d was refused: %s", self._target.id, self.failure)
        finally:
            if not self.settled.done():
                self.settled.set_result(None)

    async def _update(self, want: list[str], last: bool) -> None:
        for index, content in enumerate(want):
            end = last and index == len(want) - 1
            if index < len(self.messages):
                await self._edit(index, content, end)
            if index >= len(self.messages):
                await self._send(content, end)
                await self._edit(index, content, end)
        if last:
            await self._take_back(len(want))

    async def _send(self, content: str, last: bool) -> None:
        renewed = f".{self._renewals}" if self._renewals else ""
        nonce = f"{self._nonce}-{len(self.messages)}{renewed}"
        message = await self._unarchived(
            "send",
            lambda: self._target.send(
                content, nonce=nonce, suppress_embeds=True, **self._options(last)
            ),
        )
        self.messages.append(message.id)
        if message.components:
            self._dressed = message.id
        # A repeated nonce gives back the message as it was first sent.
        self._shown.append(content if message.content == content.strip() else None)
        self._on_sent(message.id)

    def _options(self, last: bool) -> dict[str, Any]:
        """What goes with the next message; made for each request, for that uses a file up."""
        options: dict[str, Any] = {}
        if self._reference is not None and not self.messages:
            options["reference"] = discord.MessageReference(
                message_id=self._reference, channel_id=self._target.id, fail_if_not_exists=False
            )
        if last and self._view is not None:
            options["view"] = self._view
        if last and self._files:
            options["files"] = [discord.File(io.BytesIO(f.data), f.name) for f in self._files]
        return options

    async def _edit(self, index: int, content: str, last: bool) -> None:
        view = self._view if last and self._dressed != self.messages[index] else None
        if self._shown[index] == content and view is None:
            return
        options: dict[str, Any] = {"content": content, **({"view": view} if view else {})}
        message = self._target.get_partial_message(self.messages[index])
        try:
            await self._unarchived("edit", lambda: message.edit(**options))
        except discord.HTTPException as refused:
            if refused.code == TOO_MANY_OLD_EDITS:
                # For now it stays as it is: from here on all stands in new messages.
                self._renewals += 1
                await self._take_back(index)
                return
            if refused.code != UNKNOWN_MESSAGE:  # somebody deleted it: let it be
                raise
        self._shown[index] = content
        if view is not None:
            self._dressed = self.messages[index]

    async def _take_back(self, first: int) -> None:
        """Delete the messages from that index on."""
        for message in self.messages[first:]:
            with contextlib.suppress(discord.NotFound):
                gone = self._target.get_partial_message(message)
                await persist("delete", gone.delete, patience=FOREVER)
            self._on_gone(message)
        del self.messages[first:], self._shown[first:]

    async def _unarchived(
        self, what: str, call: Callable[[], Awaitable[discord.Message]]
    ) -> discord.Message:
        """Make the request; a thread that was archived meanwhile is opened again for it."""
        try:
            return await persist(what, call, patience=FOREVER)
        except discord.HTTPException as refused:
            if refused.code != ARCHIVED:
                raise
        await self._outbox.unarchive(self._target.id)
        return await persist(what, call, patience=FOREVER)
