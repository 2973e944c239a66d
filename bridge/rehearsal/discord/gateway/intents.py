"""Gateway intents: which events a session asked for, and what it may read in them."""

from collections.abc import Mapping
from enum import IntFlag
from types import MappingProxyType

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.world import (
    GUILD_MEMBERS_FLAG,
    MESSAGE_CONTENT_FLAG,
    PRESENCE_FLAG,
)


class Intent(IntFlag):
    GUILDS = 1 << 0
    GUILD_MEMBERS = 1 << 1
    GUILD_PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    GUILD_MESSAGE_REACTIONS = 1 << 10
    GUILD_MESSAGE_TYPING = 1 << 11
    MESSAGE_CONTENT = 1 << 15


# Every bit that Discord defines today.
KNOWN = (1 << 17) - 1 | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25

_PRIVILEGED = (
    (Intent.MESSAGE_CONTENT, MESSAGE_CONTENT_FLAG),
    (Intent.GUILD_MEMBERS, GUILD_MEMBERS_FLAG),
    (Intent.GUILD_PRESENCES, PRESENCE_FLAG),
)

_NEEDED: Mapping[str, Intent] = MappingProxyType(
    {
        "GUILD_CREATE": Intent.GUILDS,
        "GUILD_ROLE_CREATE": Intent.GUILDS,
        "GUILD_ROLE_UPDATE": Intent.GUILDS,
        "GUILD_MEMBER_ADD": Intent.GUILD_MEMBERS,
        "GUILD_MEMBER_UPDATE": Intent.GUILD_MEMBERS,
        "TYPING_START": Intent.GUILD_MESSAGE_TYPING,
    }
)
_BY_PREFIX = (
    ("MESSAGE_REACTION_", Intent.GUILD_MESSAGE_REACTIONS),
    ("MESSAGE_", Intent.GUILD_MESSAGES),
    ("CHANNEL_", Intent.GUILDS),
    ("THREAD_", Intent.GUILDS),
)
_CONTENT = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE"})


def disallowed(intents: int, application_flags: int) -> bool:
    """Whether a privileged intent is asked for that the portal does not grant."""
    return any(intents & intent and not application_flags & flag for intent, flag in _PRIVILEGED)


def wants(intents: int, event: str, payload: Json, me: str) -> bool:
    """Whether a session with these intents gets an event; READY and interactions need none."""
    if event == "THREAD_MEMBERS_UPDATE" and not intents & Intent.GUILD_MEMBERS:
        # Without the members intent a bot hears of its own coming and going only.
        added = {member["user_id"] for member in payload["added_members"]}
        return bool(intents & Intent.GUILDS) and me in added | set(payload["removed_member_ids"])
    if event == "GUILD_MEMBER_UPDATE" and payload["user"]["id"] == me:
        return bool(intents & Intent.GUILDS)
    if event in _NEEDED:
        return bool(intents & _NEEDED[event])
    for prefix, intent in _BY_PREFIX:
        if event.startswith(prefix):
            return bool(intents & intent)
    return True


def readable(intents: int, event: str, payload: Json, me: str) -> Json:
    """The payload, its content blanked where the message-content intent is needed and missing."""
    if event not in _CONTENT or intents & Intent.MESSAGE_CONTENT:
        return payload
    return blank(payload, me)


def blank(message: Json, me: str) -> Json:
    """A message as an application sees it that may not read content."""
    own = message["author"]["id"] == me
    if own or any(user["id"] == me for user in message["mentions"]):
        return message
    hidden: Json = {"content": "", "embeds": [], "attachments": [], "components": []}
    return message | hidden
