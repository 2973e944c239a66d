"""The store: all threads in memory, changed synchronously, written durably by one thread."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from state.commit import GroupCommit
from state.document import Document, encode, line, record
from state.errors import StoreClosed
from state.files import StateFile
from state.lock import FolderLock
from state.records import Channel, Record
from state.recovery import Loaded, load

_RECORDS_CACHED = 1024


@dataclass(frozen=True, slots=True)
class _Opened:
    files: StateFile
    lock: FolderLock
    loaded: Loaded


class Store:
    """The records of all threads, and the last seen message of each channel.

    Reading and changing never touch the disk. Each change schedules a write; await `durable` where
    something must not happen before the change would survive a crash. One event loop owns a store.
    """

    def __init__(self, opened: _Opened, writer: ThreadPoolExecutor) -> None:
        """Use `Store.open`."""
        self.notices = opened.loaded.notices
        """What the operator must be told about the state that was found."""
        self._files = opened.files
        self._lock = opened.lock
        self._writer = writer
        self._lines = dict(opened.loaded.document.lines)
        self._channels = dict(opened.loaded.document.channels)
        self._settings = dict(opened.loaded.document.settings)
        self._extras = opened.loaded.document.extras
        self._record = lru_cache(_RECORDS_CACHED)(record)
        self._commit = GroupCommit(self._write)
        self._closing: asyncio.Task[None] | None = None
        if opened.loaded.changed:
            self._commit.changed()

    @classmethod
    async def open(cls, folder: Path) -> Self:
        """Open the state in `folder`, which is created if need be.

        Raises StoreLocked, and OSError where the folder cannot be used.
        """
        # One thread of its own: a slow disk must hold up neither the event loop nor the threads
        # that others share, and a single thread keeps the writes in order.
        writer = ThreadPoolExecutor(1, thread_name_prefix="state-writer")
        opening = writer.submit(_open, folder)
        try:
            return cls(await asyncio.wrap_future(opening), writer)
        except BaseException:
            opening.add_done_callback(_abandon)
            writer.shutdown(wait=False)
            raise

    @property
    def writes(self) -> int:
        """How many times the file was written; many changes share one write."""
        return self._commit.writes

    def get(self, thread: int) -> Record | None:
        """The record of a thread as it is now."""
        text = self._lines.get(thread)
        return None if text is None else self._record(text)

    def threads(self) -> Mapping[int, Record]:
        """All records as they are now; later changes do not show, so iterating is safe.

        Records are parsed as they are asked for, about 10 us each.
        """
        return _Threads(self._lines.copy(), self._record)

    def put(self, thread: int, record: Record) -> None:
        """Keep `record` for `thread`, whatever was there before."""
        self._keep(thread, record)

    def update(
        self, thread: int, change: Callable[[Record], Record], *, generation: int | None = None
    ) -> Record | None:
        """Replace a record by `change(record)` and return the new one.

        Returns None and changes nothing if there is no record, or if `generation` is given and the
        record is of another one: what an ended turn writes late must not undo what came after it.
        """
        old = self.get(thread)
        if old is None or generation not in (None, old.generation):
            return None
        return self._keep(thread, change(old))

    def remove(self, thread: int) -> None:
        """Forget a thread; one that is not there is no error."""
        self._refuse_if_closed()
        if self._lines.pop(thread, None) is not None:
            self._commit.changed()

    def get_seen(self, channel: int) -> int | None:
        """The newest message of a channel that was handled."""
        return self._channels.get(channel)

    def set_seen(self, channel: int, message: int) -> None:
        """Mark a channel as handled up to `message`; the mark only ever moves forward."""
        self._refuse_if_closed()
        if message > self._channels.get(channel, -1):
            self._channels[channel] = message
            self._commit.changed()

    def channel(self, channel: int) -> Channel:
        """What is kept for a channel; one that was never heard of has the defaults."""
        return self._settings.get(channel) or Channel()

    def channels(self) -> Mapping[int, Channel]:
        """All channels for which something is kept."""
        return self._settings.copy()

    def update_channel(self, channel: int, change: Callable[[Channel], Channel]) -> Channel:
        """Replace what is kept for a channel by `change` of it, and return that."""
        self._refuse_if_closed()
        old = self.channel(channel)
        if (new := change(old)) != old:
            self._settings[channel] = new
            self._commit.changed()
        return new

    async def durable(self) -> None:
        """Return once every change made before this call is on the disk.

        Raises the OSError of a write that failed; the changes stay in memory and the write is tried
        again. Any number of callers share one write.
        """
        if self._closing is not None:
            await self.close()
        await self._commit.settled()

    async def close(self) -> None:
        """Write what is left, release the lock; may be called again.

        Raises the OSError of the last write; the lock is released all the same.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="state-close")
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _keep(self, thread: int, record: Record) -> Record:
        self._refuse_if_closed()
        text = line(thread, record)
        # Parsed back before it counts: whatever is kept can be read again at the next start.
        kept = self._record(text)
        if self._lines.get(thread) != text:
            self._lines[thread] = text
            self._commit.changed()
        return kept

    def _refuse_if_closed(self) -> None:
        if self._closing is not None:
            raise StoreClosed

    async def _write(self) -> None:
        now = Document(
            self._lines.copy(), self._channels.copy(), self._extras, self._settings.copy()
        )
        await asyncio.get_running_loop().run_in_executor(self._writer, self._save, now)

    def _save(self, document: Document) -> None:
        self._files.replace(encode(document))

    async def _close(self) -> None:
        try:
            await self._commit.settled()
        finally:
            await self._commit.stop()
            # Behind any write that is still under way: the next owner must not meet it.
            released = self._writer.submit(self._lock.release)
            self._writer.shutdown(wait=False)
            await asyncio.wrap_future(released)


class _Threads(Mapping[int, Record]):
    def __init__(self, lines: Mapping[int, bytes], record: Callable[[bytes], Record]) -> None:
        self._lines = lines
        self._record = record

    def __getitem__(self, thread: int) -> Record:
        return self._record(self._lines[thread])

    def __iter__(self) -> Iterator[int]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _open(folder: Path) -> _Opened:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FolderLock(folder)
    try:
        files = StateFile(folder)
        return _Opened(files, lock, load(files))
    except BaseException:
        lock.release()
        raise


def _abandon(opening: Future[_Opened]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().lock.release()
