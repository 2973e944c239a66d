import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.rehearsal.discord import ApiError, LoopbackDiscord, Permission
from bridge.rehearsal.discord.permissions import ALL, EVERYONE, NONE, in_channel, in_guild
from tests.rehearsal.discord.rig import Bot

GUILD, USER, ROLE = "1", "2", "3"
bits = st.integers(0, int(ALL)).map(Permission)


def overwrite(id: str, allow: Permission = NONE, deny: Permission = NONE) -> dict[str, str]:
    return {"id": id, "allow": str(int(allow)), "deny": str(int(deny))}


def resolved(granted: Permission, *overwrites: dict[str, str]) -> Permission:
    return in_channel(granted, overwrites, guild=GUILD, user=USER, roles=[ROLE])


@given(bits, bits, bits)
def test_the_members_overwrite_has_the_last_word(
    granted: Permission, denied: Permission, allowed: Permission
) -> None:
    allowed |= Permission.VIEW_CHANNEL
    granted &= ~Permission.ADMINISTRATOR
    result = resolved(granted, overwrite(GUILD, deny=denied), overwrite(USER, allow=allowed))
    assert result & allowed == allowed


@given(bits, bits)
def test_a_roles_allow_beats_everyones_deny(granted: Permission, contested: Permission) -> None:
    granted = granted & ~Permission.ADMINISTRATOR | Permission.VIEW_CHANNEL
    contested &= ~Permission.VIEW_CHANNEL
    result = resolved(granted, overwrite(GUILD, deny=contested), overwrite(ROLE, allow=contested))
    assert result == granted | contested


@given(bits)
def test_who_may_not_view_may_do_nothing(granted: Permission) -> None:
    granted &= ~Permission.ADMINISTRATOR
    assert resolved(granted, overwrite(GUILD, deny=Permission.VIEW_CHANNEL)) == NONE


@given(bits, bits)
def test_administrators_are_above_overwrites(granted: Permission, denied: Permission) -> None:
    whole = in_guild([{"permissions": str(int(granted | Permission.ADMINISTRATOR))}])
    assert resolved(whole, overwrite(USER, deny=denied)) == ALL


@pytest.mark.parametrize(
    ("taken", "code"), [(Permission.VIEW_CHANNEL, 50001), (Permission.SEND_MESSAGES, 50013)]
)
async def test_a_bot_without_permission_is_refused(
    loopback: LoopbackDiscord, bot: Bot, taken: Permission, code: int
) -> None:
    channel = bot.text(loopback.general)
    loopback.overwrite(loopback.general, loopback.bot["id"], deny=taken)
    with pytest.raises(discord.Forbidden) as refused:
        await channel.send("no")
    assert refused.value.code == code


async def test_threads_need_their_own_permissions(loopback: LoopbackDiscord, bot: Bot) -> None:
    document = await loopback.create_thread(loopback.general, "work")
    thread = await bot.thread(document["id"])
    denied = Permission.SEND_MESSAGES_IN_THREADS | Permission.CREATE_PUBLIC_THREADS
    loopback.overwrite(loopback.general, loopback.bot["id"], deny=denied)
    with pytest.raises(discord.Forbidden):
        await thread.send("no")
    with pytest.raises(discord.Forbidden):
        await bot.text(loopback.general).create_thread(
            name="no", type=discord.ChannelType.public_thread
        )
    await bot.text(loopback.general).send("yes")


async def test_without_history_permission_there_is_no_history(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    said = await loopback.say(loopback.general, "past")
    loopback.overwrite(loopback.general, loopback.bot["id"], deny=Permission.READ_MESSAGE_HISTORY)
    channel = bot.text(loopback.general)
    assert [message async for message in channel.history()] == []
    with pytest.raises(discord.Forbidden):
        await channel.fetch_message(int(said["id"]))


async def test_the_client_computes_what_the_server_does(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    role = loopback.add_role("helpers", Permission.MANAGE_CHANNELS)
    loopback.give_role(loopback.bot["id"], role["id"])
    loopback.overwrite(loopback.general, loopback.guild_id, deny=Permission.SEND_MESSAGES)
    loopback.overwrite(loopback.general, role["id"], allow=Permission.SEND_MESSAGES)
    sent = await bot.text(loopback.general).send("allowed by the role")
    assert isinstance(sent.author, discord.Member)
    mine = bot.text(loopback.general).permissions_for(sent.author)
    assert mine.value == int(loopback.world.permissions(loopback.bot["id"], loopback.general))


async def test_people_are_bound_too_and_the_owner_is_not(loopback: LoopbackDiscord) -> None:
    loopback.set_role_permissions(loopback.guild_id, EVERYONE & ~Permission.SEND_MESSAGES)
    stranger = loopback.add_user("mallory")
    with pytest.raises(ApiError) as refused:
        await loopback.say(loopback.general, "hi", author=stranger)
    assert refused.value.code == 50013
    await loopback.say(loopback.general, "hi")
