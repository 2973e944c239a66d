"""What Claude can do in its thread beside answering: send files, react, rename it."""

import asyncio
import time
import zlib
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import discord

from bridge import outgoing
from bridge.courier import Courier
from bridge.discord_io.outbox import Outbox
from bridge.discord_io.retry import UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, persist
from bridge.outgoing import Refused
from bridge.render.names import thread_name
from bridge.render.reply import clean
from bridge.tools.rpc import Call, Tool, ToolFault
from state import Record, Store

LONGEST_CAPTION = 1500
RENAMES, RENAME_WINDOW = 2, 600.0
"""Discord lets a thread be renamed so often within so many seconds, and holds up what is more."""
PATIENCE = 20.0
PATIENCE_FOR_FILES = 300.0
"""Seconds that a request may take: Claude waits for it."""


class ThreadTools:
    """The tools, for every thread."""

    def __init__(self, store: Store, outbox: Outbox, courier: Courier, client: discord.Client):
        """The parts that they work with."""
        self._store = store
        self._outbox = outbox
        self._courier = courier
        self._client = client
        self._renames: defaultdict[int, deque[float]] = defaultdict(lambda: deque(maxlen=RENAMES))

    def all(self) -> Sequence[Tool]:
        """What Claude is offered."""
        text = {"type": "string"}
        return (
            Tool(
                "send_file",
                "Post a file in the Discord thread now, for the people there to see or download. "
                "Only files of the project folder and of the outbox folder can be sent, none that "
                "hold credentials.",
                {
                    "path": {**text, "description": "Absolute, or relative to the project folder"},
                    "caption": {**text, "description": "A line of text to go with it"},
                },
                ("path",),
                self.send_file,
            ),
            Tool(
                "react",
                "Put an emoji on the message that you are answering, instead of, or beside, words.",
                {"emoji": {**text, "description": "One emoji, such as 👍"}},
                ("emoji",),
                self.react,
            ),
            Tool(
                "rename_thread",
                "Give the Discord thread another title (at most 100 characters). Discord allows "
                "this twice in ten minutes: do it when the subject has become another one.",
                {"title": text},
                ("title",),
                self.rename_thread,
            ),
        )

    async def send_file(self, call: Call) -> str:
        """Post a file."""
        record = self._record(call)
        cwd, path = Path(record.cwd), call.text("path")
        roots = (cwd, outgoing.outbox(self._courier.folder(call.thread)))
        limit = self._courier.limit(call.thread)
        try:
            file = await asyncio.to_thread(outgoing.read, cwd / path, roots, limit)
        except (Refused, ValueError) as reason:
            raise ToolFault(f"{path} was not sent: {reason}.") from reason
        told = f"{file.name} ({len(file.data)} bytes) was posted in the thread."
        # A nonce is remembered for minutes only; a bot may be away for longer.
        if call.begun and await self._courier.arrived(call.thread, file, call.begun - 60):
            return told
        nonce = f"file-{zlib.crc32(call.id.encode()):08x}"
        words = clean(call.optional("caption"))[:LONGEST_CAPTION]
        try:
            async with asyncio.timeout(PATIENCE_FOR_FILES):
                failure = await self._courier.send(call.thread, [file], words, nonce)
        except TimeoutError as fault:
            raise ToolFault("Discord does not answer now; the file may still arrive.") from fault
        if failure:
            raise ToolFault(f"{path} was not sent: Discord says {failure}.")
        return told

    async def react(self, call: Call) -> str:
        """Put an emoji on the message that is being answered."""
        record, emoji = self._record(call), call.text("emoji")
        message = record.turn.item.message if record.turn else record.last_seen
        if message is None:
            raise ToolFault("There is no message to react to.")
        # The message that opened a thread has its id, and stands in the channel above, or, in a
        # forum, in the thread itself.
        above = record.parent if message == call.thread else None
        for channel in filter(None, (above, call.thread)):
            target = self._outbox.channel(channel).get_partial_message(message)
            try:
                async with asyncio.timeout(PATIENCE):
                    await persist("react", lambda target=target: target.add_reaction(emoji))
                return f"The message has your {emoji} now."
            except discord.HTTPException as refused:
                if refused.code not in (UNKNOWN_MESSAGE, UNKNOWN_CHANNEL) or channel != above:
                    raise ToolFault(f"Discord says: {refused.text}.") from refused
            except (TimeoutError, aiohttp.ClientError, OSError) as fault:
                raise ToolFault("Discord does not answer now.") from fault
        raise ToolFault("The message is not there any more.")

    async def rename_thread(self, call: Call) -> str:
        """Give the thread another title."""
        record, title = self._record(call), thread_name(call.text("title"))
        if title == record.title:
            return f"The thread is called {title!r} already."
        times, now = self._renames[call.thread], time.monotonic()
        if len(times) == RENAMES and now - times[0] < RENAME_WINDOW:
            left = round((RENAME_WINDOW - (now - times[0])) / 60) or 1
            raise ToolFault(f"Discord allows the next change of title in {left} minutes.")
        http = self._client.http
        try:
            async with asyncio.timeout(PATIENCE):
                await persist("rename", lambda: http.edit_channel(call.thread, name=title))
        except discord.HTTPException as refused:
            raise ToolFault(f"Discord says: {refused.text}.") from refused
        except (TimeoutError, aiohttp.ClientError, OSError) as fault:
            raise ToolFault("Discord holds the change up; leave the title as it is.") from fault
        times.append(now)
        self._store.update(call.thread, lambda r: r.model_copy(update={"title": title}))
        return f"The thread is called {title!r} now."

    def _record(self, call: Call) -> Record:
        record = self._store.get(call.thread)
        if record is None:
            raise ToolFault("The thread is not there any more.")
        return record
