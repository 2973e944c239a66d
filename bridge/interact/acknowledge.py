"""The first answer to an interaction, which Discord wants within three seconds.

Whatever becomes of it, the person's wish counts: an answer that comes too late, or whose own answer
was lost on the way, is no reason to do nothing.
"""

import logging
from collections import deque
from typing import Any

import aiohttp
import discord

from bridge.discord_io.retry import ALREADY_ACKNOWLEDGED, UNKNOWN_INTERACTION, persist

log = logging.getLogger(__name__)


class Deliveries:
    """Knows the newest interactions: Discord may deliver one twice."""

    def __init__(self) -> None:
        """None has come yet."""
        self._seen: deque[int] = deque(maxlen=256)

    def first(self, interaction: discord.Interaction[Any]) -> bool:
        """Whether it comes for the first time."""
        if interaction.id in self._seen:
            return False
        self._seen.append(interaction.id)
        return True


async def acknowledge(
    interaction: discord.Interaction[Any], *, thinking: bool = False, private: bool = False
) -> bool:
    """Say that it was received; false if it is too late for Discord to take an answer."""
    try:
        await persist(
            "acknowledge",
            lambda: interaction.response.defer(thinking=thinking, ephemeral=private),
        )
    except discord.HTTPException as refused:
        if refused.code == UNKNOWN_INTERACTION:
            return False
        # The first try had come through; only Discord's answer to it was lost.
        if refused.code != ALREADY_ACKNOWLEDGED:
            raise
    return True


async def whisper(interaction: discord.Interaction[Any], text: str) -> None:
    """Tell one person something that is no loss if it does not arrive."""
    try:
        await interaction.response.send_message(text, ephemeral=True)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
        log.info("a notice was not shown: %s", fault)
