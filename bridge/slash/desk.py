"""What every command has at hand, and how one is made."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discord
from discord import app_commands

from bridge.conversation import Conversation
from bridge.conversations import Conversations
from bridge.services import Services
from bridge.slash.answer import Answer

Interaction = discord.Interaction[Any]
Command = app_commands.Command[Any, ..., None]
Complete = Callable[[Interaction, str], Awaitable[Iterable[tuple[str, str]]]]

NOT_A_SESSION = "This is no session. Write in one of my channels, or mention me, to begin one."
MOST_CHOICES = 25
LONGEST_CHOICE = 100
"""Characters of a completion's name, and of its value."""


@dataclass(frozen=True)
class Desk:
    """The parts that the commands work with."""

    services: Services
    conversations: Conversations

    async def begin(self, interaction: Interaction, *, private: bool) -> Answer:
        """Acknowledge a command."""
        return await Answer.begin(interaction, self.services.outbox, private=private)

    def here(self, interaction: Interaction) -> Conversation | None:
        """The conversation of the thread in which a command was given."""
        thread = interaction.channel_id
        if thread is None or self.services.store.get(thread) is None:
            return None
        return self.conversations.of(thread)

    def channel(self, interaction: Interaction) -> int | None:
        """The channel that a command is about: where it was given, or the thread's own."""
        here = self.here(interaction)
        if here is not None:
            return here.record.parent
        where = interaction.channel
        return where.parent_id if isinstance(where, discord.Thread) else interaction.channel_id

    def folder(self, interaction: Interaction) -> str:
        """The folder in which a session works that is here, or that would begin here."""
        here = self.here(interaction)
        if here is not None:
            return here.record.cwd
        channel = self.channel(interaction)
        chosen = self.services.store.channel(channel).project if channel else None
        return chosen or str(self.services.config.project_dir)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders below which sessions may work."""
        config = self.services.config
        return (config.project_dir, *config.project_roots)


def command(
    name: str,
    description: str,
    callback: Callable[..., Coroutine[Any, Any, None]],
    **complete: Complete,
) -> Command:
    """A command; `complete` has for an option what gives its completions as (name, value)."""
    made = app_commands.Command[Any, ..., None](
        name=name, description=description, callback=callback
    )
    for option, offer in complete.items():
        made.autocomplete(option)(_completion(offer))
    return made


def _completion(
    offer: Complete,
) -> Callable[[Interaction, str], Coroutine[Any, Any, list[app_commands.Choice[str]]]]:
    async def complete(interaction: Interaction, current: str) -> list[app_commands.Choice[str]]:
        offered = [
            app_commands.Choice(name=name[:LONGEST_CHOICE], value=value)
            for name, value in await offer(interaction, current)
            if name.strip() and 0 < len(value) <= LONGEST_CHOICE
        ]
        return offered[:MOST_CHOICES]

    return complete
