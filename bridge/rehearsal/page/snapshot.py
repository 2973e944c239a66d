"""What the page shows when it opens: the guild as it is now."""

from typing import Any

from bridge.rehearsal.discord import LoopbackDiscord

PAGE_OF_MESSAGES = 100
_CHAT_INPUT = 1


def snapshot(discord: LoopbackDiscord) -> dict[str, Any]:
    """Everything at once; the page keeps it up to date from the events that follow."""
    places = [*discord.channels(), *discord.threads()]
    return {
        "guild": {"id": discord.guild_id, "name": discord.world.guild["name"]},
        "me": discord.owner,
        "bot": discord.bot,
        "online": discord.connected,
        "users": list(discord.world.users.values()),
        "roles": list(discord.world.roles.values()),
        "channels": places,
        "messages": {place["id"]: history(discord, place["id"]) for place in places},
        "commands": commands(discord),
    }


def history(discord: LoopbackDiscord, channel: str, before: str | None = None) -> list[Any]:
    """A page of messages, oldest first; each reaction names its users."""
    found = discord.messages(channel)
    if before is not None:
        found = [message for message in found if int(message["id"]) < int(before)]
    return [_with_reactions(discord, message) for message in found[-PAGE_OF_MESSAGES:]]


def commands(discord: LoopbackDiscord) -> list[Any]:
    """The slash commands on offer; the guild's own hide global ones of the same name."""
    shelves = (discord.commands.on(None), discord.commands.on(discord.guild_id))
    by_name = {c["name"]: c for shelf in shelves for c in shelf if c["type"] == _CHAT_INPUT}
    return sorted(by_name.values(), key=lambda command: command["name"])


def _with_reactions(discord: LoopbackDiscord, message: dict[str, Any]) -> dict[str, Any]:
    return message | {"reactions": discord.world.reactions.get(message["id"], {})}
