"""What the bot may do, by Discord's rules for roles and overwrites; pure.

The rules: https://discord.com/developers/docs/topics/permissions
"""

from enum import IntFlag

from pydantic import BaseModel

__all__ = [
    "RECOMMENDED",
    "REQUIRED",
    "Channel",
    "Guild",
    "Member",
    "Overwrite",
    "Permission",
    "Role",
    "in_channel",
    "in_guild",
    "labels",
]


class Permission(IntFlag):
    """The permissions that matter to the bot; other bits are carried along."""

    ADMINISTRATOR = 1 << 3
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    SEND_MESSAGES_IN_THREADS = 1 << 38


REQUIRED = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
    | Permission.READ_MESSAGE_HISTORY
    | Permission.ADD_REACTIONS
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
)
RECOMMENDED = Permission.MANAGE_THREADS
"""Without it a locked thread stays closed to the bot."""

_LABELS = {  # as Discord's own settings write them, where that differs from the name
    Permission.VIEW_CHANNEL: "View Channels",
    Permission.SEND_MESSAGES_IN_THREADS: "Send Messages in Threads",
}


def labels(permissions: Permission) -> str:
    """The names under which a person finds these permissions in Discord's settings."""
    return ", ".join(
        _LABELS.get(one, (one.name or hex(one)).replace("_", " ").title()) for one in permissions
    )


class Role(BaseModel):
    id: int
    permissions: int


class Guild(BaseModel):
    id: int
    name: str
    owner_id: int
    roles: tuple[Role, ...]


class Member(BaseModel):
    id: int
    roles: frozenset[int]


class Overwrite(BaseModel):
    """A channel's exception for one role or one member; `id` is that role's or member's."""

    id: int
    allow: int
    deny: int


class Channel(BaseModel):
    id: int
    type: int
    name: str = ""
    guild_id: int | None = None
    permission_overwrites: tuple[Overwrite, ...] = ()


_ALL = Permission((1 << 63) - 1)


def in_guild(guild: Guild, member: Member) -> Permission:
    """What the member may do where no overwrite says otherwise."""
    if member.id == guild.owner_id:
        return _ALL
    granted = Permission(0)
    for role in guild.roles:
        if role.id == guild.id or role.id in member.roles:  # @everyone's id is the guild's
            granted |= Permission(role.permissions)
    return _ALL if Permission.ADMINISTRATOR in granted else granted


def in_channel(guild: Guild, member: Member, channel: Channel) -> Permission:
    """What the member may do here: the overwrites of @everyone, of all roles, then its own."""
    granted = in_guild(guild, member)
    if Permission.ADMINISTRATOR in granted:
        return granted
    for holders in ({guild.id}, member.roles - {guild.id}, {member.id}):
        applying = [one for one in channel.permission_overwrites if one.id in holders]
        for overwrite in applying:
            granted &= ~Permission(overwrite.deny)
        for overwrite in applying:
            granted |= Permission(overwrite.allow)
    return granted if Permission.VIEW_CHANNEL in granted else Permission(0)
