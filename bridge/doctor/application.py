"""What Discord knows of the bot: token, intents, servers, channels, who may speak."""

import asyncio
from collections.abc import Sequence

import httpx

from bridge.doctor.finding import Finding
from bridge.doctor.permissions import (
    RECOMMENDED,
    REQUIRED,
    Permission,
    in_channel,
    labels,
)
from bridge.doctor.rest import Application, MyGuild, Refused, Rest, User

__all__ = ["PORTAL", "examine_application", "invitation"]

PORTAL = "https://discord.com/developers/applications"

_MESSAGE_CONTENT = 1 << 18 | 1 << 19  # granted in full, or as an unverified bot's limited intent
_TEXT, _FORUM = 0, 15
_KINDS = {
    1: "a direct message",
    2: "a voice channel",
    4: "a category",
    5: "an announcement channel",
    10: "a thread",
    11: "a thread",
    12: "a private thread",
    13: "a stage channel",
    16: "a media channel",
}
_MISSING_ACCESS, _UNKNOWN_CHANNEL = 50001, 10003


def invitation(application: int) -> str:
    """The link with which a server's owner lets the bot in, with exactly what it needs."""
    return (
        f"https://discord.com/oauth2/authorize?client_id={application}"
        f"&scope=bot+applications.commands&permissions={int(REQUIRED | RECOMMENDED)}"
    )


async def examine_application(
    rest: Rest, *, channels: Sequence[int], users: Sequence[int], roles: Sequence[int]
) -> list[Finding]:
    """All that is Discord's side; the token comes first because nothing is known without it."""
    try:
        me = await rest.me()
    except Refused as refusal:
        return [_token_refused(refusal)]
    except (httpx.HTTPError, ValueError) as error:
        return [_unreachable(error)]
    findings = [Finding("token", True, f"valid; the bot is {me.username} ({me.id})")]
    try:
        application, guilds = await asyncio.gather(rest.application(), rest.guilds())
    except (Refused, httpx.HTTPError, ValueError) as error:
        return [*findings, _unreachable(error)]
    findings += [_intent(application), _servers(application, guilds)]
    findings += [_server(application, guild, bool(channels)) for guild in guilds]
    findings += await asyncio.gather(*(_channel(rest, me, channel) for channel in channels))
    findings.append(_speakers(application, users, roles))
    return findings


def _token_refused(refusal: Refused) -> Finding:
    if refusal.status == 401:
        todo = (
            f"{PORTAL} -> your application -> Bot -> Reset Token",
            "put the new one in DISCORD_TOKEN or DISCORD_TOKEN_FILE (no quotes, no `Bot `)",
        )
        return Finding("token", False, "Discord does not accept it (401)", todo)
    return Finding("token", None, f"Discord refused to say: {refusal}", ("try again in a minute",))


def _unreachable(error: Exception) -> Finding:
    detail = f"no usable answer from Discord: {str(error) or type(error).__name__}"
    todo = ("check the network, and BRIDGE_DISCORD_URL if it is set",)
    return Finding("discord", False, detail, todo)


def _intent(application: Application) -> Finding:
    name = "message content"
    if application.flags & _MESSAGE_CONTENT:
        return Finding(name, True, "the intent is on")
    todo = (
        f"{PORTAL}/{application.id}/bot -> Privileged Gateway Intents",
        "turn on MESSAGE CONTENT INTENT, Save Changes, start the bot again",
    )
    return Finding(name, False, "the intent is off: the bot would see empty messages", todo)


def _servers(application: Application, guilds: Sequence[MyGuild]) -> Finding:
    if not guilds:
        todo = (f"invite it: {invitation(application.id)}",)
        return Finding("servers", False, "the bot has joined none", todo)
    return Finding("servers", True, ", ".join(f"{guild.name} ({guild.id})" for guild in guilds))


def _server(application: Application, guild: MyGuild, channels_configured: bool) -> Finding:
    name = f"server {guild.name}"
    granted = Permission(guild.permissions)
    if Permission.ADMINISTRATOR in granted:
        detail = "administrator; the bot needs far less"
        return Finding(name, None, detail, ("Server Settings -> Roles: take Administrator away",))
    missing = REQUIRED & ~granted
    if missing:
        # Where channels are named, theirs are the permissions that count.
        todo = (
            "Server Settings -> Roles -> the bot's role: turn these on",
            f"or invite it again: {invitation(application.id)}",
        )
        ok = None if channels_configured else False
        return Finding(name, ok, f"the bot lacks {labels(missing)}", todo)
    if RECOMMENDED not in granted:
        detail = f"the bot lacks {labels(RECOMMENDED)}; locked threads stay closed to it"
        return Finding(name, None, detail, ("Server Settings -> Roles -> the bot's role",))
    return Finding(name, True, "all permissions")


async def _channel(rest: Rest, me: User, channel_id: int) -> Finding:
    name = f"channel {channel_id}"
    try:
        channel = await rest.channel(channel_id)
        if channel.type not in (_TEXT, _FORUM) or channel.guild_id is None:
            kind = _KINDS.get(channel.type, f"of type {channel.type}")
            todo = ("name a text channel or a forum in BRIDGE_CHANNELS",)
            return Finding(name, False, f"#{channel.name} is {kind}", todo)
        guild, member = await asyncio.gather(
            rest.guild(channel.guild_id), rest.member(channel.guild_id, me.id)
        )
    except Refused as refusal:
        return _channel_refused(name, refusal)
    except (httpx.HTTPError, ValueError) as error:
        return Finding(name, None, f"could not be looked at: {error or type(error).__name__}")
    return _channel_permissions(
        name, f"#{channel.name} in {guild.name}", in_channel(guild, member, channel)
    )


def _channel_permissions(name: str, place: str, granted: Permission) -> Finding:
    missing = REQUIRED & ~granted
    if missing:
        todo = (f"Edit Channel -> Permissions -> the bot's role: allow {labels(missing)}",)
        return Finding(name, False, f"{place}: the bot lacks {labels(missing)}", todo)
    if RECOMMENDED not in granted:
        detail = f"{place}: the bot lacks {labels(RECOMMENDED)}; locked threads stay closed to it"
        todo = (f"Edit Channel -> Permissions -> the bot's role: allow {labels(RECOMMENDED)}",)
        return Finding(name, None, detail, todo)
    return Finding(name, True, place)


def _channel_refused(name: str, refusal: Refused) -> Finding:
    if refusal.code == _MISSING_ACCESS:
        todo = (
            "Edit Channel -> Permissions -> add the bot, allow View Channel",
            f"it needs there: {labels(REQUIRED)}",
        )
        return Finding(name, False, "the bot cannot see it", todo)
    if refusal.code == _UNKNOWN_CHANNEL:
        todo = (
            "copy the id anew: User Settings -> Advanced -> Developer Mode, then a right click",
            "put it in BRIDGE_CHANNELS",
        )
        return Finding(name, False, "there is no such channel", todo)
    return Finding(name, None, f"could not be looked at: {refusal}")


def _speakers(application: Application, users: Sequence[int], roles: Sequence[int]) -> Finding:
    name = "who may speak"
    lists = [
        f"{noun} {', '.join(map(str, ids))}"
        for noun, ids in (("users", users), ("roles", roles))
        if ids
    ]
    if lists:
        return Finding(name, True, "; ".join(lists))
    owners = [application.owner] if application.owner else []
    if application.team is not None:
        owners = [member.user for member in application.team.members]
    if not owners:
        todo = ("name the people: BRIDGE_ALLOWED_USERS or BRIDGE_ALLOWED_ROLES",)
        return Finding(name, False, "nobody: Discord does not tell who owns the bot", todo)
    who = ", ".join(f"{owner.username} ({owner.id})" for owner in owners)
    return Finding(name, True, f"only those who own the application: {who}")
