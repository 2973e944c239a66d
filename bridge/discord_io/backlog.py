"""What was said while no events came: read from the history, and handed to the inbox.

Of a channel that the bot listens to, the store keeps a mark: all that stands before it was read.
Events do not move it, for one that came says nothing of one that did not. A thread is read from the
oldest message that its record remembers.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Collection
from datetime import UTC, datetime
from functools import partial

import aiohttp
import discord

from bridge.access import Access
from bridge.config import Config
from bridge.discord_io.inbox import Inbox, forgetful
from bridge.discord_io.outbox import Outbox
from bridge.discord_io.retry import is_refusal, persist
from state import Store

log = logging.getLogger(__name__)

_PAGE = 100
_PAGES = 5
"""Pages of one channel that are read at a time."""
_PATIENCE = 3.0
"""Seconds for which a page is asked for again: other channels wait behind this one."""


class Backlog:
    """Knows which servers are to be read back, and since when."""

    def __init__(
        self,
        client: discord.Client,
        config: Config,
        store: Store,
        access: Access,
        inbox: Inbox,
        outbox: Outbox,
    ) -> None:
        """The parts that it works with."""
        self._client = client
        self._config = config
        self._store = store
        self._access = access
        self._inbox = inbox
        self._outbox = outbox
        self._behind: dict[int, float] = {}
        self._reading = asyncio.Lock()

    def fell_behind(self, guild: int, since: float) -> None:
        """Events of a server may have been missed from `since` on, in seconds since the epoch."""
        self._behind.setdefault(guild, since)

    @property
    def behind(self) -> bool:
        """Whether there is something to read back, as far as Discord gives it out now."""
        return any(g.id in self._behind and not g.unavailable for g in self._client.guilds)

    async def catch_up(self) -> bool:
        """Read back what came while no events did; each message counts once all the same.

        Returns whether that is done. A server that is not available yet is left for later.
        """
        async with self._reading:
            for guild in self._client.guilds:
                if guild.id not in self._behind or guild.unavailable:
                    continue
                # Taken out first: the connection may be lost again while this one is read.
                since, read = self._behind.pop(guild.id), False
                try:
                    read = await self._catch_up_guild(guild, since)
                finally:
                    if not read:
                        self._behind[guild.id] = since
        return not self.behind

    async def patrol(self, active: float) -> None:
        """Look for messages whose events were lost, in threads used in the last `active` seconds.

        Discord promises to send an event at most once; that it comes, it does not promise.
        """
        limit = time.time() - active
        async with self._reading:
            for thread in list(self._inbox.used):
                record = self._store.get(thread)
                if record and (record.turn or record.queue or record.last_used > limit):
                    channel = self._outbox.channel(thread, record.guild)
                    oldest = min(record.seen, default=_snowflake(limit))
                    await self._read_back(channel, oldest, handled=frozenset(record.seen))
                else:
                    self._inbox.used.discard(thread)
            for id in self._config.channels:
                place = self._client.get_channel(id)
                if isinstance(place, discord.TextChannel) and place.guild.id not in self._behind:
                    # Whatever its newest message is: Discord may have kept that to itself.
                    after = self._mark(place, 0)
                    await self._read_back(place, after, mark=True)

    async def _catch_up_guild(self, guild: discord.Guild, since: float) -> bool:
        away = _snowflake(since)
        done = [await self._catch_up_channel(channel, away) for channel in guild.text_channels]
        done += [await self._catch_up_thread(thread, away) for thread in guild.threads]
        return all(done)

    async def _catch_up_channel(self, channel: discord.TextChannel, away: int) -> bool:
        listened = channel.id in self._config.channels
        after = self._mark(channel, away) if listened else away  # elsewhere only a mention counts
        newest = channel.last_message_id or 0
        return newest <= after or await self._read_back(channel, after, mark=listened)

    def _mark(self, channel: discord.TextChannel, away: int) -> int:
        """The message up to which a channel was read."""
        mark = self._store.get_seen(channel.id)
        if mark is None:
            # The first time in this channel: what was said before the bot came is not for it.
            mark = max(channel.last_message_id or 0, away)
            self._store.set_seen(channel.id, mark)
        return mark

    async def _catch_up_thread(self, thread: discord.Thread, away: int) -> bool:
        newest = thread.last_message_id or 0
        record = self._store.get(thread.id)
        if record is None:
            return newest <= away or await self._read_back(thread, away)
        self._inbox.used.add(thread.id)
        oldest = min(record.seen, default=away)
        # The session may have begun with an event, and missed the call for it that came before.
        after = oldest if forgetful(record) else min(oldest, away)
        return newest <= after or await self._read_back(
            thread, after, handled=frozenset(record.seen)
        )

    async def _read_back(
        self,
        channel: discord.abc.Messageable,
        after: int,
        *,
        handled: Collection[int] = (),
        mark: bool = False,
    ) -> bool:
        """Take what stands in a channel after a message, but for what was `handled` before.

        That is what a record remembered when the reading began: new messages push old ones out.
        Returns whether that is done: read, or refused. After an outage it is worth another try.
        """
        try:
            for _ in range(_PAGES):
                page = await persist(
                    "read back", partial(_page, channel, after), patience=_PATIENCE
                )
                for message in page:
                    if message.id not in handled:
                        await self._take_back(message)
                    if self._inbox.stopped:
                        return False
                    if mark:
                        self._store.set_seen(message.channel.id, message.id)
                if len(page) < _PAGE:
                    break
                after = page[-1].id
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            log.warning("what was missed in %s cannot be read: %s", channel, fault)
            return is_refusal(fault)
        return True

    async def _take_back(self, message: discord.Message) -> None:
        await self._add_roles(message)
        try:
            self._inbox.take(message)
        except Exception:
            # The messages behind it can do nothing for that.
            log.exception("message %d cannot be taken", message.id)

    async def _add_roles(self, message: discord.Message) -> None:
        """A message read from the history names its author only; roles have to be asked for."""
        author, guild = message.author, message.guild
        if not self._config.allowed_roles or guild is None or isinstance(author, discord.Member):
            return
        if author.bot or self._access.permits(author):
            return
        with contextlib.suppress(discord.NotFound, discord.Forbidden):
            message.author = await persist(
                "ask for roles", lambda: guild.fetch_member(author.id), patience=_PATIENCE
            )


async def _page(channel: discord.abc.Messageable, after: int) -> list[discord.Message]:
    history = channel.history(limit=_PAGE, after=discord.Object(after), oldest_first=True)
    return [message async for message in history]


def _snowflake(at: float) -> int:
    return discord.utils.time_snowflake(datetime.fromtimestamp(at, UTC))
