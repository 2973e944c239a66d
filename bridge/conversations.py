"""All conversations: one per thread that is in use, made when it is first needed."""

import asyncio

from bridge.conversation import Conversation
from bridge.services import Services

SOME = 256
"""Conversations that are kept, used or not; all they know is in the store anyway."""


class Conversations:
    """Maps thread ids to conversations."""

    def __init__(self, services: Services) -> None:
        """None is made yet."""
        self.services = services
        self._all: dict[int, Conversation] = {}
        services.runner.on_evicted = self._evicted

    def of(self, thread: int) -> Conversation:
        """The conversation of a thread that has a record."""
        found = self._all.get(thread)
        if found is None:
            if len(self._all) >= SOME:
                self._all = {t: c for t, c in self._all.items() if not c.idle}
            found = self._all[thread] = Conversation(thread, self.services)
        return found

    def _evicted(self, thread: int) -> None:
        if self.services.store.get(thread) is not None:
            self.of(thread).session.unattended()

    def unfinished(self) -> list[int]:
        """Threads in which something was under way when the last bot went."""
        runner, threads = self.services.runner, self.services.store.threads()
        return [
            thread
            for thread, record in threads.items()
            if record.turn or record.queue or record.unsent or runner.live(thread)
        ]

    async def forget(self, thread: int) -> None:
        """The thread was deleted."""
        if self.services.store.get(thread) is not None:
            await self.of(thread).forget()
        self._all.pop(thread, None)

    async def close(self) -> None:
        """Let go of all of them; what is under way goes on without the bot."""
        await asyncio.gather(*(conversation.close() for conversation in self._all.values()))
