"""The permission rules, with discord.py's own reckoning as the judge."""

from typing import Any

import discord
from hypothesis import given
from hypothesis import strategies as st

from bridge.doctor.permissions import (
    RECOMMENDED,
    REQUIRED,
    Channel,
    Guild,
    Member,
    Permission,
    in_channel,
    in_guild,
    labels,
)

GUILD, BOT, OWNER, CHANNEL = 1, 100, 101, 200
ROLES = (11, 12, 13)
KNOWN = sum(Permission)
SENDING = Permission.EMBED_LINKS | Permission.ATTACH_FILES

bits = st.lists(st.sampled_from(list(Permission)), max_size=8).map(sum)


@st.composite
def overwrites(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Exceptions for some of: @everyone, the roles, the bot, and a stranger."""
    holders = draw(st.sets(st.sampled_from([GUILD, *ROLES, BOT, OWNER])))
    return [
        {
            "id": str(holder),
            "type": int(holder in (BOT, OWNER)),
            "allow": str(draw(bits)),
            "deny": str(draw(bits)),
        }
        for holder in sorted(holders)
    ]


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """A server with one channel and the bot in it, as Discord describes it."""
    roles = [
        {"id": str(role), "permissions": str(draw(bits)), "name": str(role), "position": place}
        for place, role in enumerate((GUILD, *ROLES))
    ]
    held = draw(st.sets(st.sampled_from(ROLES)))
    user = {"id": str(BOT), "username": "bot", "discriminator": "0", "avatar": None, "bot": True}
    return {
        "id": str(GUILD),
        "name": "server",
        "owner_id": str(draw(st.sampled_from([OWNER, OWNER, BOT]))),
        "roles": [
            {**role, "color": 0, "hoist": False, "managed": False, "mentionable": False}
            for role in roles
        ],
        "members": [{"user": user, "roles": [str(role) for role in held], "flags": 0}],
        "channels": [
            {
                "id": str(CHANNEL),
                "type": 0,
                "name": "general",
                "position": 0,
                "guild_id": str(GUILD),
                "permission_overwrites": draw(overwrites()),
            }
        ],
        "member_count": 1,
    }


@given(worlds())
def test_a_channels_permissions_are_those_that_discord_py_reckons(world: dict[str, Any]) -> None:
    client = discord.Client(intents=discord.Intents.all())  # else no members are kept
    theirs = discord.Guild(data=world, state=client._connection)  # pyright: ignore[reportArgumentType, reportPrivateUsage]
    channel, member = theirs.get_channel(CHANNEL), theirs.get_member(BOT)
    assert isinstance(channel, discord.TextChannel)
    assert member is not None

    guild = Guild.model_validate(world)
    me = Member(id=BOT, roles=frozenset(map(int, world["members"][0]["roles"])))
    ours = in_channel(guild, me, Channel.model_validate(world["channels"][0]))

    expected = channel.permissions_for(member).value
    if not expected & Permission.VIEW_CHANNEL:
        assert ours == 0
    elif not expected & Permission.SEND_MESSAGES:
        # discord.py takes away what sending implies; to a person, sending alone is missing.
        assert ours & KNOWN & ~SENDING == expected & KNOWN
    else:
        assert ours & KNOWN == expected & KNOWN
    assert in_guild(guild, me) & KNOWN == member.guild_permissions.value & KNOWN


def test_bits_are_those_of_discord_py() -> None:
    for permission in Permission:
        assert permission.name is not None
        assert getattr(discord.Permissions, permission.name.lower()).flag == permission


def test_permissions_are_named_as_in_discords_settings() -> None:
    assert labels(Permission.VIEW_CHANNEL | Permission.CREATE_PUBLIC_THREADS) == (
        "View Channels, Create Public Threads"
    )


def test_what_is_recommended_is_not_required() -> None:
    assert not REQUIRED & RECOMMENDED
    assert Permission.ADMINISTRATOR not in REQUIRED | RECOMMENDED
