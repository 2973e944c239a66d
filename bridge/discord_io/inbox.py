"""Messages on their way in: each that is meant for Claude becomes a turn exactly once.

A message id is looked up in the thread's record before anything is done, so that it does not
matter how often, or on which way, a message comes: as an event, as an event again, or read from the
channel's history after an outage (`backlog`).
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable

import discord

from bridge.access import Access
from bridge.config import Config
from bridge.conversations import Conversations
from bridge.discord_io import quotation
from bridge.discord_io.outbox import Outbox
from bridge.discord_io.retry import FOREVER, THREAD_EXISTS, UNKNOWN_MESSAGE, persist
from bridge.render.names import thread_name
from state import SEEN_LIMIT, Attachment, Queued, Record, Store

log = logging.getLogger(__name__)

ARCHIVE_AFTER = 10080
"""Minutes without activity after which Discord hides a thread: the longest that there is."""

_ORDINARY = (discord.MessageType.default, discord.MessageType.reply)


class Inbox:
    """Decides for each message whether it is a turn, and of which thread."""

    def __init__(
        self,
        client: discord.Client,
        config: Config,
        store: Store,
        access: Access,
        conversations: Conversations,
        outbox: Outbox,
    ) -> None:
        """The parts that it works with."""
        self._client = client
        self._config = config
        self._store = store
        self._access = access
        self._conversations = conversations
        self._outbox = outbox
        self._tasks: set[asyncio.Task[None]] = set()
        # More than a record remembers: what is read back may have come as an event meanwhile.
        self._taken: deque[int] = deque(maxlen=1000)
        self.used: set[int] = set()
        """Threads in which something was said lately; whoever reads it drops the quiet ones."""
        self.stopped = False

    def stop(self) -> None:
        """Take nothing more: what comes from now on is read back after the next start."""
        self.stopped = True

    async def close(self) -> None:
        """Give up what is under way; the next start makes up for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- events ---------------------------------------------------------------------------------
    def take(self, message: discord.Message) -> None:
        """Handle a message; what it needs of Discord is done in the background."""
        if self.stopped or message.type not in _ORDINARY or message.author == self._client.user:
            return
        if message.guild is None or not self._access.permits(message.author):
            return
        channel = message.channel
        if self._store.get(channel.id) is not None:
            self._queue(channel.id, message)
        elif isinstance(channel, discord.Thread):
            if self._begins(message):
                self._adopt(channel, message)
        elif isinstance(channel, discord.TextChannel) and (
            channel.id in self._config.channels or self._mentioned(message)
        ):
            self._open(channel, message)

    def edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """A message was edited: the new words count as long as it waits."""
        if self._access.permits(payload.message.author):
            thread = self._thread_of(payload.channel_id, payload.message_id)
            if thread is not None:
                words = self._said(payload.message)
                self._conversations.of(thread).edit(payload.message_id, words)

    def withdraw(self, channel: int, messages: Iterable[int]) -> None:
        """Messages were deleted: those that still wait are dropped."""
        for message in messages:
            thread = self._thread_of(channel, message)
            if thread is not None:
                self._conversations.of(thread).withdraw(message)

    def deleted(self, thread: int) -> None:
        """A thread was deleted. The message that opened it may still be there, and is done with."""
        if self._store.get(thread) is not None:
            self._store.set_seen(thread, thread)

    def _thread_of(self, channel: int, message: int) -> int | None:
        """The thread in which a message may wait: its own, or the one that it has opened."""
        return next((id for id in (channel, message) if self._store.get(id) is not None), None)

    # --- which thread ---------------------------------------------------------------------------
    def _queue(self, thread: int, message: discord.Message) -> None:
        record = self._store.get(thread)
        if record is None or message.id in record.seen or message.id in self._taken:
            return
        before = not forgetful(record) and message.id < min(record.seen, default=0)
        if before and not self._begins(message):
            return  # Said before the session began, and no call for it that a later one overtook.
        item = self._item(message)
        if item is not None:
            self._taken.append(message.id)
            self.used.add(thread)
            self._conversations.of(thread).submit(item)

    def _open(self, channel: discord.TextChannel, message: discord.Message) -> None:
        """A message in a channel opens a thread, which has the message's id."""
        item = self._item(message)
        if item is None or message.id in self._taken or self._is_known(message.id):
            return
        self._taken.append(message.id)
        self.used.add(message.id)
        self._store.put(message.id, self._record(channel.guild.id, channel.id, message))
        making = asyncio.create_task(self._make_thread(channel.id, message.id))
        self._tasks.add(making)
        making.add_done_callback(self._tasks.discard)
        self._outbox.hold(message.id, making)
        self._conversations.of(message.id).submit(item)

    def _is_known(self, thread: int) -> bool:
        """There is such a thread, or there was before somebody deleted it."""
        return self._store.get(thread) is not None or self._store.get_seen(thread) is not None

    def _adopt(self, thread: discord.Thread, message: discord.Message) -> None:
        """A person's own thread, or a forum's post, becomes a session."""
        self._store.put(thread.id, self._record(thread.guild.id, thread.parent_id, message))
        self._queue(thread.id, message)

    def remake(self, thread: int, record: Record) -> None:
        """After a restart: the thread of a first message may not have been made yet."""
        if record.parent is not None and record.seen == (thread,):
            making = asyncio.create_task(self._make_missing_thread(record.parent, thread))
            self._tasks.add(making)
            making.add_done_callback(self._tasks.discard)
            self._outbox.hold(thread, making)

    async def _make_missing_thread(self, channel: int, message: int) -> None:
        """A forum's post is a thread from the start, and a bot that went away may have made it."""
        http = self._client.http
        try:
            await persist("look for a thread", lambda: http.get_channel(message), patience=FOREVER)
        except discord.NotFound:
            await self._make_thread(channel, message)

    async def _make_thread(self, channel: int, message: int) -> None:
        record = self._store.get(message)
        if record is None:
            return
        # By ids alone: after a restart the thread is wanted before the servers are known.
        http = self._client.http
        try:
            await persist(
                "open a thread",
                lambda: http.start_thread_with_message(
                    channel, message, name=record.title, auto_archive_duration=ARCHIVE_AFTER
                ),
                patience=FOREVER,
            )
        except discord.HTTPException as refused:
            if refused.code == THREAD_EXISTS:
                return
            log.error("no thread can be opened in channel %d: %s", channel, refused)
            # Nobody could read what a session without a thread says.
            self.deleted(message)
            await self._conversations.forget(message)
            if refused.code != UNKNOWN_MESSAGE:
                words = (
                    "⚠️ **I could not open a thread for this message** "
                    f"(Discord says: {refused.text}).\n"
                    "Give me *Create Public Threads*, *Send Messages in Threads* and *Read Message "
                    "History* in this channel (`claude-bridge doctor` lists what is missing)."
                )
                self._outbox.post(channel, [words], f"{message:x}-thread")

    def _record(self, guild: int, parent: int | None, message: discord.Message) -> Record:
        now = time.time()
        chosen = self._store.channel(parent or 0)
        return Record(
            cwd=chosen.project or str(self._config.project_dir),
            settings=chosen.settings,
            guild=guild,
            parent=parent,
            owner=message.author.id,
            title=thread_name(
                self._said(message), [file.filename for file in quotation.files(message)]
            ),
            created=now,
            last_used=now,
        )

    def _begins(self, message: discord.Message) -> bool:
        """Whether a message makes a session of the thread in which it stands.

        A thread that the bot has opened is one, even if the state that says so was lost.
        """
        thread, me = message.channel, self._client.user
        return self._mentioned(message) or (
            isinstance(thread, discord.Thread)
            and me is not None
            and (
                thread.owner_id == me.id
                or (
                    isinstance(thread.parent, discord.ForumChannel)
                    and thread.parent_id in self._config.channels
                )
            )
        )

    # --- what it says ---------------------------------------------------------------------------
    def _mentioned(self, message: discord.Message) -> bool:
        me = self._client.user
        return me is not None and any(user.id == me.id for user in message.mentions)

    def _words(self, message: discord.Message) -> str:
        """The person's words, without the mention that called the bot."""
        me = self._client.user
        content = message.content
        if me is not None and self._mentioned(message):
            for form in (f"<@{me.id}>", f"<@!{me.id}>"):
                content = content.replace(form, "")
            content = content.strip()
        return content

    def _said(self, message: discord.Message) -> str:
        """The person's words, and what they pass on with them."""
        stickers = [f"(sticker: {sticker.name})" for sticker in message.stickers]
        parts = [self._words(message), *stickers, quotation.passed_on(message)]
        return "\n\n".join(part for part in parts if part.strip())

    def _item(self, message: discord.Message) -> Queued | None:
        """The message as it is queued; None if there is nothing in it for Claude."""
        content, files = self._said(message), quotation.files(message)
        if not content.strip() and not files:
            return None
        return Queued(
            message=message.id,
            author=message.author.id,
            author_name=message.author.display_name,
            content=content,
            attachments=tuple(
                Attachment(
                    url=file.url,
                    filename=file.filename,
                    size=file.size,
                    content_type=file.content_type,
                )
                for file in files
            ),
            reply=quotation.quoted(message),
            at=message.created_at.timestamp(),
        )


def forgetful(record: Record) -> bool:
    """Whether messages may have been handled of which the record knows no more."""
    return len(record.seen) >= SEEN_LIMIT
