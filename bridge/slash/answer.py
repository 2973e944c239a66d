"""The answer to a command, wherever Discord takes it."""

import io
import logging
from typing import Any

import aiohttp
import discord

from bridge.discord_io.outbox import File, Outbox
from bridge.discord_io.retry import persist
from bridge.interact.acknowledge import acknowledge

log = logging.getLogger(__name__)


async def offer_nothing(interaction: discord.Interaction[Any]) -> None:
    """Complete what somebody types who may not use the bot: with nothing."""
    try:
        await interaction.response.autocomplete([])
    except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
        log.info("nothing could be offered: %s", fault)


class Answer:
    """The one answer to a command: where Discord takes it, else as a message in the channel."""

    def __init__(self, interaction: discord.Interaction[Any], outbox: Outbox, taken: bool) -> None:
        """Use `begin`."""
        self._interaction = interaction
        self._outbox = outbox
        self._taken = taken

    @classmethod
    async def begin(
        cls, interaction: discord.Interaction[Any], outbox: Outbox, *, private: bool
    ) -> "Answer":
        """Acknowledge within Discord's three seconds, before anything slow."""
        taken = await acknowledge(interaction, thinking=True, private=private)
        return cls(interaction, outbox, taken)

    async def say(self, text: str, file: File | None = None) -> None:
        """Give the answer, with a file if there is one."""
        if self._taken:
            try:
                await persist("answer", lambda: self._edit(text, file))
                return
            except discord.HTTPException as refused:
                log.info("an interaction takes no answer: %s", refused)
        if self._interaction.channel_id is not None:
            nonce = f"{self._interaction.id:x}"
            self._outbox.aside(self._interaction.channel_id, [text], nonce, file=file)

    async def _edit(self, text: str, file: File | None) -> None:
        # A file that was sent cannot be sent again: each try has one of its own.
        files = [discord.File(io.BytesIO(file.data), file.name)] if file else []
        await self._interaction.edit_original_response(content=text, attachments=files)
