"""Brings files to a thread: those that Claude sends, and what a turn leaves in its outbox."""

import asyncio
import logging
import re
import zlib
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import discord

from bridge import outgoing
from bridge.discord_io.outbox import File, Outbox, Reply
from bridge.discord_io.retry import persist
from bridge.outgoing import Parcel, Refused
from bridge.render.inline import escaped
from state import Store

log = logging.getLogger(__name__)

DEFAULT_LIMIT = 10 << 20
"""Bytes of a file that a server without boosts takes."""

_Known = list[list[tuple[str, int]]]
"""For each message: the names and sizes of its files."""


class Courier:
    """Posts files; each of them once, whatever happens to the bot."""

    def __init__(self, client: discord.Client, store: Store, outbox: Outbox, inbox: Path) -> None:
        """`inbox` has a folder for each thread."""
        self._client = client
        self._store = store
        self._outbox = outbox
        self._inbox = inbox
        self._tasks: set[asyncio.Task[None]] = set()

    def folder(self, thread: int) -> Path:
        """The folder of a thread, in which its outbox is."""
        return self._inbox / str(thread)

    def limit(self, thread: int) -> int:
        """Bytes of one file, and of one message, that Discord takes in a thread."""
        record = self._store.get(thread)
        guild = self._client.get_guild(record.guild) if record else None
        return max(DEFAULT_LIMIT, guild.filesize_limit) if guild else DEFAULT_LIMIT

    async def send(self, thread: int, files: Sequence[File], words: str, nonce: str) -> str | None:
        """Post files now; returns what Discord had against it, if anything.

        That may be nothing for a long time: an outage of Discord is waited out.
        """
        reply = self._outbox.aside(thread, [words], nonce, files=files)
        await reply.over()
        return reply.failure

    async def arrived(self, thread: int, file: File, since: float) -> bool:
        """Whether a file was posted since then (seconds since the epoch)."""
        return any(_described([file])[0] in files for files in await self._posted(thread, since))

    def offer(self, thread: int, reply: Reply) -> None:
        """A turn is over: what it left in the outbox is posted below its `reply`."""
        try:
            parcel = outgoing.collect(self.folder(thread))
        except OSError as fault:
            log.warning("thread %d: its outbox cannot be emptied: %s", thread, fault)
            return
        if parcel is not None:
            self._spawn(self._follow(thread, parcel, reply))

    async def _follow(self, thread: int, parcel: Parcel, reply: Reply) -> None:
        await reply.over()
        await self._deliver(thread, parcel, [])

    def resume(self) -> None:
        """After a restart of the bot: deliver what was on its way, and what was left since."""
        for folder in self._inbox.glob("*"):
            if not folder.name.isdecimal() or folder.is_symlink():
                continue
            record = self._store.get(int(folder.name))
            if record is None:
                continue
            if record.turn is None:
                with suppress(OSError):
                    outgoing.collect(folder)
            if parcels := outgoing.parcels(folder):
                self._spawn(self._deliver_again(int(folder.name), parcels))

    async def _deliver_again(self, thread: int, parcels: Sequence[Parcel]) -> None:
        """The last bot may have posted some of it already, too long ago for a nonce to help."""
        known = await self._posted(thread, parcels[0].made - 60)
        for parcel in parcels:
            await self._deliver(thread, parcel, known)

    async def _deliver(self, thread: int, parcel: Parcel, known: _Known) -> None:
        """Post a parcel in messages as full as they may be; what cannot be sent is set aside."""
        record = self._store.get(thread)
        roots = [parcel.folder, *([Path(record.cwd)] if record else [])]
        limit = self.limit(thread)
        notes: list[str] = []
        group: list[tuple[Path, File]] = []
        for path in await asyncio.to_thread(parcel.paths):
            try:
                file = await asyncio.to_thread(outgoing.read, path, roots, limit)
            except Refused as reason:
                notes.append(_set_aside(parcel, path, str(reason)))
                continue
            size = sum(len(other.data) for _, other in group)
            if len(group) == outgoing.PER_MESSAGE or size + len(file.data) > limit:
                notes += await self._post(thread, parcel, group, known)
                group = []
            group.append((path, file))
        if group:
            notes += await self._post(thread, parcel, group, known)
        if notes:
            words = "\n".join(notes)[:1900]
            await self._outbox.aside(thread, [words], f"out-{parcel.id}-notes").over()
        with suppress(OSError):  # somebody put something in it meanwhile: it is looked at again
            await asyncio.to_thread(parcel.done)

    async def _post(
        self, thread: int, parcel: Parcel, group: Sequence[tuple[Path, File]], known: _Known
    ) -> list[str]:
        files = [file for _, file in group]
        if _described(files) not in known:
            first = str(group[0][0].relative_to(parcel.folder)).encode(errors="replace")
            nonce = f"out-{parcel.id}-{zlib.crc32(first) & 0xFFFF:04x}"
            if reason := await self.send(thread, files, "", nonce):
                return [_set_aside(parcel, path, f"Discord says {reason}") for path, _ in group]
        for path, _ in group:
            path.unlink(missing_ok=True)
        return []

    async def _posted(self, thread: int, since: float) -> _Known:
        """The files of the bot's messages since then."""
        after = datetime.fromtimestamp(since, UTC)
        channel, me = self._outbox.channel(thread), self._client.user

        async def look() -> _Known:
            return [
                sorted((_plain(file.filename), file.size) for file in message.attachments)
                async for message in channel.history(after=after, limit=500)
                if message.attachments and message.author == me
            ]

        try:
            return await persist("look for files", look)
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            log.warning("thread %d: its files cannot be looked for: %s", thread, fault)
            return []

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Leave what is under way to the next bot."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _set_aside(parcel: Parcel, path: Path, reason: str) -> str:
    """Keep a file that was not sent; returns the line that says so."""
    name = escaped(path.name)
    try:
        kept = outgoing.set_aside(parcel, path)
    except OSError:
        return f"📎 {name} was not sent: {reason}."
    return f"📎 {name} was not sent: {reason}. It is kept as `{kept.name}` in `{kept.parent}`."


def _described(files: Sequence[File]) -> list[tuple[str, int]]:
    return sorted((_plain(file.name), len(file.data)) for file in files)


def _plain(name: str) -> str:
    """A file name as far as Discord leaves it alone."""
    return re.sub(r"[^A-Za-z0-9]", "", name)
