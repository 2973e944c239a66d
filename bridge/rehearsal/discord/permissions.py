"""Who may do what: Discord's permission bits and the order in which roles and overwrites apply."""

from collections.abc import Iterable
from enum import IntFlag

from bridge.rehearsal.discord.document import Json


class Permission(IntFlag):
    """The bits a text channel knows."""

    CREATE_INSTANT_INVITE = 1 << 0
    KICK_MEMBERS = 1 << 1
    BAN_MEMBERS = 1 << 2
    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    SEND_TTS_MESSAGES = 1 << 12
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_EXTERNAL_EMOJIS = 1 << 18
    CHANGE_NICKNAME = 1 << 26
    MANAGE_ROLES = 1 << 28
    MANAGE_WEBHOOKS = 1 << 29
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    USE_EXTERNAL_STICKERS = 1 << 37
    SEND_MESSAGES_IN_THREADS = 1 << 38
    SEND_POLLS = 1 << 49
    PIN_MESSAGES = 1 << 51


ALL = Permission((1 << 52) - 1)

NONE = Permission(0)

# What a new server gives @everyone, as far as text channels go.
EVERYONE = (
    Permission.CREATE_INSTANT_INVITE
    | Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.MENTION_EVERYONE
    | Permission.USE_EXTERNAL_EMOJIS
    | Permission.CHANGE_NICKNAME
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.CREATE_PRIVATE_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
    | Permission.SEND_POLLS
)

# What the bot's invitation link adds on top.
INVITED_BOT = Permission.MANAGE_THREADS | Permission.MANAGE_MESSAGES | Permission.PIN_MESSAGES


def in_guild(roles: Iterable[Json]) -> Permission:
    """The union of a member's roles, @everyone among them."""
    granted = NONE
    for role in roles:
        granted |= Permission(int(role["permissions"]))
    return ALL if granted & Permission.ADMINISTRATOR else granted


def in_channel(
    granted: Permission, overwrites: Iterable[Json], *, guild: str, user: str, roles: Iterable[str]
) -> Permission:
    """Guild permissions after a channel's overwrites: @everyone's, all roles', the member's."""
    if granted & Permission.ADMINISTRATOR:
        return ALL
    by_id = {overwrite["id"]: overwrite for overwrite in overwrites}
    held = [by_id[role] for role in roles if role in by_id and role != guild]
    for layer in (
        [by_id[guild]] if guild in by_id else [],
        held,
        [by_id[user]] if user in by_id else [],
    ):
        for overwrite in layer:
            granted &= ~Permission(int(overwrite["deny"]))
        for overwrite in layer:
            granted |= Permission(int(overwrite["allow"]))
    return granted if granted & Permission.VIEW_CHANNEL else NONE
