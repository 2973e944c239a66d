"""Renames a thread after its first exchange, where the name that it has tells nothing."""

import asyncio
import logging

import aiohttp
import discord

from bridge.outcome import Answered, Outcome
from bridge.titles import better
from bridge.turn import ActiveTurn
from state import Store

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds that a new name may take: Discord holds up whoever renames often, and it is no loss."""


class Naming:
    """The names of all threads."""

    def __init__(self, client: discord.Client, store: Store) -> None:
        """`client` does the requests."""
        self._client = client
        self._store = store

    async def exchanged(self, thread: int, turn: ActiveTurn, outcome: Outcome) -> None:
        """A turn is over: if it was the first of its thread, and a good one, name the thread."""
        record = self._store.get(thread)
        if record is None or record.usage.turns != 1 or turn.item is None:
            return
        if not isinstance(outcome, Answered) or outcome.result is None or outcome.result.is_error:
            return
        name = better(record.title, turn.item.content, turn.narration.text)
        if name is None:
            return
        http = self._client.http
        try:
            async with asyncio.timeout(PATIENCE):
                # A name that somebody else gave meanwhile is better than any of ours.
                if (await http.get_channel(thread)).get("name") == record.title:
                    await http.edit_channel(thread, name=name, reason=None)
                    self._store.update(thread, lambda r: r.model_copy(update={"title": name}))
        except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as fault:
            log.info("thread %d keeps its name: %r", thread, fault)
