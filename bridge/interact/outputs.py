"""The button that shows what the tools of a turn said, whole; the transcript knows it."""

import asyncio
import io
import logging
import re
from pathlib import Path
from typing import Any

import aiohttp
import discord

from bridge import outputs
from bridge.access import NOT_ALLOWED, Access
from bridge.interact.acknowledge import Deliveries, acknowledge, whisper
from state import Store

log = logging.getLogger(__name__)

LABEL = "Show output"
GONE = "⌛ These outputs are not kept any more."


class Outputs:
    """Finds the outputs that people ask for."""

    def __init__(self, store: Store, access: Access, projects: Path) -> None:
        """`projects` is where the CLI keeps its transcripts."""
        self.access = access
        self.deliveries = Deliveries()
        self._store = store
        self._projects = projects

    async def of(self, thread: int, prompt_id: str) -> str:
        """What the tools said in a turn of a thread; "" if nothing is known of it."""
        record = self._store.get(thread)
        if record is None:
            return ""
        return await asyncio.to_thread(outputs.read, self._projects, record, prompt_id)


def output_button(prompt_id: str) -> discord.ui.View:
    """The button below the reply to a prompt."""
    view = discord.ui.View(timeout=None)
    view.add_item(OutputButton(prompt_id))
    return view


class OutputButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"output:(?P<prompt>[0-9a-f-]{36})",
):
    """Shows the outputs of a turn to the person who presses it."""

    def __init__(self, prompt_id: str) -> None:
        """`prompt_id` is that of the turn."""
        self._prompt_id = prompt_id
        super().__init__(
            discord.ui.Button(
                label=LABEL,
                style=discord.ButtonStyle.secondary,
                custom_id=f"output:{prompt_id}",
            )
        )

    @classmethod
    async def from_custom_id(
        cls,
        interaction: discord.Interaction[Any],
        item: discord.ui.Item[Any],
        match: re.Match[str],
        /,
    ) -> "OutputButton":
        """Make the button of a pressed id."""
        return cls(match["prompt"])

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        """Send the file, which only that person sees."""
        known: Outputs = interaction.client.outputs
        if not known.deliveries.first(interaction):
            return
        if not known.access.permits(interaction.user):
            await whisper(interaction, NOT_ALLOWED)
            return
        if not await acknowledge(interaction, thinking=True, private=True):
            return  # too late to show it; they press again
        text = await known.of(interaction.channel_id or 0, self._prompt_id)
        try:
            if text:
                file = discord.File(io.BytesIO(text.encode()), "output.txt")
                await interaction.followup.send(file=file, ephemeral=True)
            else:
                await interaction.followup.send(GONE, ephemeral=True)
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            log.warning("an output was not shown: %s", fault)
