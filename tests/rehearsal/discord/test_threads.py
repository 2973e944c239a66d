"""Threads through a real discord.py client."""

import asyncio

import discord
import pytest

from bridge.rehearsal.discord import ApiError, LoopbackDiscord, Permission
from tests.rehearsal.discord.rig import Bot
from tests.support.conform import Conformity


async def opened(loopback: LoopbackDiscord, bot: Bot) -> discord.Thread:
    """A thread that the bot starts from a person's message."""
    said = await loopback.say(loopback.general, "start here")
    message = await bot.text(loopback.general).fetch_message(int(said["id"]))
    return await message.create_thread(name="work", auto_archive_duration=10080)


async def test_a_thread_from_a_message_bears_its_id(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    [document] = loopback.threads(loopback.general)
    assert document["id"] == str(thread.id) == loopback.messages(loopback.general)[0]["id"]
    assert document["thread_metadata"]["auto_archive_duration"] == 10080
    assert loopback.messages(loopback.general)[0]["flags"] & 32
    starter = loopback.messages(str(thread.id))[0]
    assert (starter["type"], starter["content"]) == (21, "")


async def test_a_message_has_one_thread_only(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    message = await bot.text(loopback.general).fetch_message(thread.id)
    with pytest.raises(discord.HTTPException) as refused:
        await message.create_thread(name="again")
    assert refused.value.code == 160004


async def test_a_guild_has_a_thousand_active_threads_at_most(loopback: LoopbackDiscord) -> None:
    threads = [await loopback.create_thread(loopback.general, str(n)) for n in range(1000)]
    with pytest.raises(ApiError) as refused:
        await loopback.create_thread(loopback.general, "one more")
    assert refused.value.code == 160006
    await loopback.archive(threads[0]["id"])
    await loopback.create_thread(loopback.general, "one more")


async def test_threads_do_not_nest(loopback: LoopbackDiscord) -> None:
    thread = await loopback.create_thread(loopback.general, "outer")
    said = await loopback.say(thread["id"], "here?")
    with pytest.raises(ApiError) as refused:
        await loopback.create_thread(thread["id"], "inner", message_id=said["id"])
    assert refused.value.code == 50024


async def test_a_mention_adds_people_to_a_private_thread(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    bob = loopback.add_user("bob")
    thread = await bot.text(loopback.general).create_thread(name="quiet")
    await thread.send(f"<@{bob['id']}> come in")
    await loopback.say(str(thread.id), "thanks", author=bob)
    assert loopback.channel(str(thread.id))["member_count"] == 2


async def test_members_are_added_and_removed_by_moderators(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    bob = loopback.add_user("bob")
    thread = await bot.text(loopback.general).create_thread(name="quiet")
    await thread.add_user(discord.Object(int(bob["id"])))
    assert await thread.fetch_member(int(bob["id"]))
    await thread.remove_user(discord.Object(int(bob["id"])))
    with pytest.raises(discord.NotFound):
        await thread.fetch_member(int(bob["id"]))
    await loopback.archive(str(thread.id))
    listed = bot.text(loopback.general).archived_threads(private=True)
    assert [found.id async for found in listed] == [thread.id]


async def test_deleting_the_starter_leaves_the_thread(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    await loopback.delete(loopback.general, str(thread.id))
    await thread.send("still here")
    assert loopback.shown(str(thread.id)) == "still here"


async def test_without_a_type_a_thread_is_private(loopback: LoopbackDiscord, bot: Bot) -> None:
    channel = bot.text(loopback.general)
    private = await channel.create_thread(name="quiet")
    public = await channel.create_thread(name="open", type=discord.ChannelType.public_thread)
    assert (private.type.value, public.type.value) == (12, 11)
    stranger = loopback.add_user("mallory")
    with pytest.raises(ApiError) as hidden:
        await loopback.say(str(private.id), "hi", author=stranger)
    assert hidden.value.code == 50001


async def test_forum_posts_start_with_a_message(loopback: LoopbackDiscord, bot: Bot) -> None:
    listening = asyncio.create_task(bot.wait_for("guild_channel_create", timeout=10))
    await asyncio.sleep(0)
    forum_id = loopback.add_channel("ideas", kind=15)["id"]
    forum = await listening
    assert isinstance(forum, discord.ForumChannel)
    post = await forum.create_thread(name="an idea", content="what if")
    assert loopback.shown(str(post.thread.id)) == "what if"
    assert post.message.id == post.thread.id
    created = asyncio.create_task(
        bot.wait_for("thread_create", check=lambda thread: thread.name == "theirs", timeout=10)
    )
    await asyncio.sleep(0)
    by_person = await loopback.create_thread(forum_id, "theirs", content="please")
    assert (await created).id == int(by_person["id"])


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
async def test_names_have_1_to_100_characters(
    loopback: LoopbackDiscord, bot: Bot, audit: Conformity, name: str
) -> None:
    with pytest.raises(discord.HTTPException) as refused:
        await bot.text(loopback.general).create_thread(name=name)
    assert refused.value.code == 50035
    audit.violations.clear()
    assert loopback.threads() == []


async def test_sending_wakes_an_archived_thread(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    await loopback.archive(str(thread.id))
    await thread.send("awake")
    assert not loopback.channel(str(thread.id))["thread_metadata"]["archived"]


async def test_an_archived_thread_refuses_edits_and_reactions(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    thread = await opened(loopback, bot)
    sent = await thread.send("before")
    await loopback.archive(str(thread.id))
    for attempt in (sent.edit(content="after"), sent.add_reaction("👍")):
        with pytest.raises(discord.HTTPException) as refused:
            await attempt
        assert refused.value.code == 50083
    with pytest.raises(ApiError):
        await loopback.slash(str(thread.id), "anything")
    await thread.edit(archived=False)
    await sent.edit(content="after")
    assert loopback.shown(str(thread.id)) == "after"


async def test_a_locked_thread_is_for_moderators(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    await loopback.archive(str(thread.id), locked=True)
    loopback.set_role_permissions(loopback.world.bot_role["id"], Permission(0))
    with pytest.raises(discord.Forbidden) as refused:
        await thread.send("no")
    assert refused.value.code == 160005
    with pytest.raises(discord.Forbidden):
        await thread.edit(archived=False)
    loopback.set_role_permissions(loopback.world.bot_role["id"], Permission.MANAGE_THREADS)
    await thread.send("yes")
    assert loopback.channel(str(thread.id))["thread_metadata"] == (
        loopback.channel(str(thread.id))["thread_metadata"] | {"archived": False, "locked": True}
    )


async def test_archived_threads_are_listed_and_fetched(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    guild = bot.get_guild(int(loopback.guild_id))
    assert guild is not None
    assert [t.id for t in await guild.active_threads()] == [thread.id]
    await loopback.archive(str(thread.id))
    assert await guild.active_threads() == []
    listed = [t.id async for t in bot.text(loopback.general).archived_threads()]
    assert listed == [thread.id]
    assert (await bot.thread(str(thread.id))).archived


async def test_counts_and_last_message_follow_the_messages(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    thread = await opened(loopback, bot)
    sent = await thread.send("one")
    document = loopback.channel(str(thread.id))
    assert document["last_message_id"] == str(sent.id)
    assert (document["message_count"], document["total_message_sent"]) == (1, 1)
    assert document["member_count"] == 1
    await loopback.say(str(thread.id), "two")
    assert loopback.channel(str(thread.id))["member_count"] == 2


async def test_members_join_and_leave(loopback: LoopbackDiscord, bot: Bot) -> None:
    document = await loopback.create_thread(loopback.general, "theirs")
    thread = await bot.thread(document["id"])
    await thread.join()
    assert bot.user is not None
    assert bot.user.id in {member.id for member in await thread.fetch_members()}
    await thread.leave()
    assert bot.user.id not in {member.id for member in await thread.fetch_members()}


async def test_deleting_a_thread_is_told_and_final(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    listening = asyncio.create_task(bot.wait_for("raw_thread_delete", timeout=10))
    await asyncio.sleep(0)
    await loopback.delete_channel(str(thread.id))
    assert (await listening).thread_id == thread.id
    with pytest.raises(discord.NotFound) as gone:
        await thread.send("anyone?")
    assert gone.value.code == 10003


async def test_renaming_a_thread_is_told(loopback: LoopbackDiscord, bot: Bot) -> None:
    thread = await opened(loopback, bot)
    renamed = await thread.edit(name="better")
    assert renamed.name == "better"
    assert loopback.channel(str(thread.id))["name"] == "better"
