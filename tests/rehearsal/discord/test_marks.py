"""Reactions and pins: who may, how many, and what is told."""

import discord
import pytest

from bridge.rehearsal.discord import ApiError, LoopbackDiscord, Permission
from bridge.rehearsal.discord.permissions import EVERYONE
from tests.rehearsal.discord.rig import Ask, Bot

EMOJI = [chr(0x1F600 + n) for n in range(21)]


async def test_a_message_holds_twenty_different_reactions(loopback: LoopbackDiscord) -> None:
    said = await loopback.say(loopback.general, "react")
    for emoji in EMOJI[:20]:
        await loopback.react(loopback.general, said["id"], emoji)
    with pytest.raises(ApiError) as refused:
        await loopback.react(loopback.general, said["id"], EMOJI[20])
    assert refused.value.code == 30010
    await loopback.react(loopback.general, said["id"], EMOJI[0], author=loopback.bot)


async def test_reacting_twice_counts_once(loopback: LoopbackDiscord) -> None:
    said = await loopback.say(loopback.general, "react")
    for _ in range(2):
        await loopback.react(loopback.general, said["id"], "👍")
    [reaction] = loopback.messages(loopback.general)[0]["reactions"]
    assert (reaction["count"], reaction["me"]) == (1, False)


async def test_joining_a_reaction_needs_less_than_adding_one(loopback: LoopbackDiscord) -> None:
    loopback.set_role_permissions(loopback.guild_id, EVERYONE & ~Permission.ADD_REACTIONS)
    said = await loopback.say(loopback.general, "react")
    stranger = loopback.add_user("mallory")
    with pytest.raises(ApiError):
        await loopback.react(loopback.general, said["id"], "👍", author=stranger)
    await loopback.react(loopback.general, said["id"], "👍")
    await loopback.react(loopback.general, said["id"], "👍", author=stranger)


async def test_only_moderators_take_others_reactions_away(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    said = await loopback.say(loopback.general, "react")
    for emoji in "👍👀":
        await loopback.react(loopback.general, said["id"], emoji)
    message = await bot.text(loopback.general).fetch_message(int(said["id"]))
    alice = discord.Object(int(loopback.owner["id"]))
    loopback.set_role_permissions(loopback.world.bot_role["id"], Permission(0))
    with pytest.raises(discord.Forbidden):
        await message.remove_reaction("👍", alice)
    loopback.set_role_permissions(loopback.world.bot_role["id"], Permission.MANAGE_MESSAGES)
    await message.remove_reaction("👍", alice)
    await message.clear_reaction("👀")
    assert "reactions" not in loopback.messages(loopback.general)[0]


async def test_who_reacted_is_listed(loopback: LoopbackDiscord, bot: Bot) -> None:
    said = await loopback.say(loopback.general, "react")
    await loopback.react(loopback.general, said["id"], "👍")
    message = await bot.text(loopback.general).fetch_message(int(said["id"]))
    [reaction] = message.reactions
    assert [user.id async for user in reaction.users()] == [int(loopback.owner["id"])]


async def test_people_take_their_reactions_back(loopback: LoopbackDiscord) -> None:
    said = await loopback.say(loopback.general, "react")
    await loopback.react(loopback.general, said["id"], "👍")
    seen = loopback.subscribe()
    await loopback.unreact(loopback.general, said["id"], "👍")
    name, payload = seen.get_nowait()
    assert (name, payload["user_id"]) == ("MESSAGE_REACTION_REMOVE", loopback.owner["id"])
    await loopback.unreact(loopback.general, said["id"], "👍")
    assert seen.empty()


async def test_pinning_needs_permission(loopback: LoopbackDiscord, ask: Ask) -> None:
    said = await loopback.say(loopback.general, "pin")
    path = f"/channels/{loopback.general}/messages/pins/{said['id']}"
    loopback.set_role_permissions(loopback.world.bot_role["id"], Permission(0))
    _, body = await ask("PUT", path)
    assert body["code"] == 50013
    loopback.set_role_permissions(loopback.world.bot_role["id"], Permission.PIN_MESSAGES)
    answer, _ = await ask("PUT", path)
    assert answer.status == 204
    _, listed = await ask("GET", f"/channels/{loopback.general}/pins")
    assert [message["id"] for message in listed] == [said["id"]]
