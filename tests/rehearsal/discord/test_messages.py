"""Messages through a real discord.py client."""

import asyncio
import io

import discord
import pytest

from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Bot


async def heard(bot: Bot, event: str) -> asyncio.Task[object]:
    """A task that ends with the next event of this name; it listens already."""
    task = asyncio.create_task(bot.wait_for(event, timeout=10))
    await asyncio.sleep(0)
    return task


async def test_a_persons_message_reaches_the_bot_whole(loopback: LoopbackDiscord, bot: Bot) -> None:
    listening = await heard(bot, "message")
    said = await loopback.say(loopback.general, "hello", files={"notes.txt": b"inside"})
    message = await listening
    assert isinstance(message, discord.Message)
    assert (str(message.id), message.content) == (said["id"], "hello")
    assert isinstance(message.author, discord.Member)
    assert message.author.id == int(loopback.owner["id"])
    assert message.attachments[0].content_type == "text/plain; charset=utf-8"
    assert await message.attachments[0].read() == b"inside"


async def test_sending_editing_and_deleting_change_what_is_shown(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    channel = bot.text(loopback.general)
    message = await channel.send("one", embed=discord.Embed(title="Title", description="Text"))
    assert loopback.shown(loopback.general) == "one\nTitle\nText"
    await message.edit(content="two", embed=None)
    assert loopback.shown(loopback.general) == "two"
    assert loopback.messages(loopback.general)[-1]["edited_timestamp"] is not None
    await message.delete()
    assert loopback.messages(loopback.general) == []
    with pytest.raises(discord.NotFound) as gone:
        await message.edit(content="three")
    assert gone.value.code == 10008


async def test_an_upload_is_read_back_from_the_cdn(loopback: LoopbackDiscord, bot: Bot) -> None:
    file = discord.File(io.BytesIO(b"\x00binary"), filename="my report.bin", description="what")
    sent = await bot.text(loopback.general).send(file=file)
    attachment = sent.attachments[0]
    assert (attachment.filename, attachment.title) == ("my_report.bin", "my report")
    assert attachment.description == "what"
    assert await attachment.read() == b"\x00binary"
    kept = await sent.edit(attachments=[attachment, discord.File(io.BytesIO(b"b"), "b.txt")])
    assert [file.filename for file in kept.attachments] == ["my_report.bin", "b.txt"]


async def test_a_file_above_the_limit_is_refused(loopback: LoopbackDiscord, bot: Bot) -> None:
    file = discord.File(io.BytesIO(bytes((10 << 20) + 1)), "big.bin")
    with pytest.raises(discord.HTTPException) as refused:
        await bot.text(loopback.general).send(file=file)
    assert (refused.value.status, refused.value.code) == (413, 40005)


async def test_a_nonce_makes_a_repeated_send_harmless(loopback: LoopbackDiscord, bot: Bot) -> None:
    channel = bot.text(loopback.general)
    first = await channel.send("once", nonce="turn-1")
    again = await channel.send("once", nonce="turn-1")
    assert first.id == again.id
    assert len(loopback.messages(loopback.general)) == 1


@pytest.mark.parametrize(("content", "code"), [("x" * 2001, 50035), (" \n ", 50006), ("", 50006)])
async def test_discords_limits_on_content_hold(
    loopback: LoopbackDiscord, bot: Bot, content: str, code: int
) -> None:
    with pytest.raises(discord.HTTPException) as refused:
        await bot.text(loopback.general).send(content)
    assert refused.value.code == code
    assert loopback.messages(loopback.general) == []


async def test_people_may_write_more_than_bots(loopback: LoopbackDiscord, bot: Bot) -> None:
    listening = await heard(bot, "message")
    await loopback.say(loopback.general, "x" * 4000)
    message = await listening
    assert isinstance(message, discord.Message)
    assert len(message.content) == 4000


async def test_length_is_counted_in_code_points(loopback: LoopbackDiscord, bot: Bot) -> None:
    await bot.text(loopback.general).send("👩‍💻"[0] * 2000)
    assert len(loopback.messages(loopback.general)[0]["content"]) == 2000


async def test_text_that_no_encoding_knows_passes(loopback: LoopbackDiscord, bot: Bot) -> None:
    """Half a surrogate pair, as a cut through an emoji leaves it."""
    sent = await bot.text(loopback.general).send("half \ud83d")
    assert sent.content == "half \ud83d"


async def test_replies_name_their_target_and_notify_only_on_request(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    said = await loopback.say(loopback.general, "question")
    target = await bot.text(loopback.general).fetch_message(int(said["id"]))
    silent = await target.reply("answer", mention_author=False)
    loud = await target.reply("answer", mention_author=True)
    assert silent.reference is not None and silent.reference.message_id == target.id
    assert silent.mentions == []
    assert [user.id for user in loud.mentions] == [int(loopback.owner["id"])]


async def test_a_reply_to_a_deleted_message_is_refused(loopback: LoopbackDiscord, bot: Bot) -> None:
    said = await loopback.say(loopback.general, "question")
    target = await bot.text(loopback.general).fetch_message(int(said["id"]))
    await loopback.delete(loopback.general, said["id"])
    with pytest.raises(discord.HTTPException) as refused:
        await target.reply("answer")
    assert refused.value.code == 50035
    sent = await bot.text(loopback.general).send(
        "answer", reference=target.to_reference(fail_if_not_exists=False)
    )
    assert sent.type is discord.MessageType.default


async def test_allowed_mentions_decide_who_is_notified(loopback: LoopbackDiscord, bot: Bot) -> None:
    text = f"<@{loopback.owner['id']}> @everyone `<@{loopback.bot['id']}>`"
    loud = await bot.text(loopback.general).send(text)
    assert [user.id for user in loud.mentions] == [int(loopback.owner["id"])]
    assert loud.mention_everyone
    quiet = await bot.text(loopback.general).send(
        text, allowed_mentions=discord.AllowedMentions.none()
    )
    assert quiet.mentions == [] and not quiet.mention_everyone


async def test_reactions_are_seen_by_both_sides(loopback: LoopbackDiscord, bot: Bot) -> None:
    sent = await bot.text(loopback.general).send("well?")
    own = await heard(bot, "raw_reaction_add")
    await sent.add_reaction("👀")
    shown = loopback.messages(loopback.general)[0]["reactions"]
    assert [(r["emoji"]["name"], r["count"], r["me"]) for r in shown] == [("👀", 1, True)]
    events = [await own]
    listening = await heard(bot, "raw_reaction_add")
    await loopback.react(loopback.general, str(sent.id), "👍")
    events.append(await listening)
    reactors = {
        (str(e.emoji), e.user_id) for e in events if isinstance(e, discord.RawReactionActionEvent)
    }
    assert reactors == {("👀", int(loopback.bot["id"])), ("👍", int(loopback.owner["id"]))}
    assert bot.user is not None
    await sent.remove_reaction("👀", bot.user)
    await sent.clear_reactions()
    assert "reactions" not in loopback.messages(loopback.general)[0]
    with pytest.raises(discord.HTTPException) as unknown:
        await sent.add_reaction("eyes")
    assert unknown.value.code == 10014


async def test_edits_and_deletions_by_people_are_told(loopback: LoopbackDiscord, bot: Bot) -> None:
    said = await loopback.say(loopback.general, "frist")
    edited = await heard(bot, "raw_message_edit")
    await loopback.edit(loopback.general, said["id"], "first")
    event = await edited
    assert isinstance(event, discord.RawMessageUpdateEvent)
    assert event.message.content == "first"
    deleted = await heard(bot, "raw_message_delete")
    await loopback.delete(loopback.general, said["id"])
    gone = await deleted
    assert isinstance(gone, discord.RawMessageDeleteEvent)
    assert gone.message_id == int(said["id"])


async def test_a_bot_edits_its_own_messages_only(loopback: LoopbackDiscord, bot: Bot) -> None:
    said = await loopback.say(loopback.general, "mine")
    message = await bot.text(loopback.general).fetch_message(int(said["id"]))
    with pytest.raises(discord.Forbidden) as refused:
        await message.edit(content="yours")
    assert refused.value.code == 50005


async def test_typing_is_seen_by_people(loopback: LoopbackDiscord, bot: Bot) -> None:
    seen = loopback.subscribe()
    async with bot.text(loopback.general).typing():
        name, payload = await seen.get()
    assert (name, payload["user_id"]) == ("TYPING_START", loopback.bot["id"])


async def test_pins_come_and_go(loopback: LoopbackDiscord, bot: Bot) -> None:
    sent = await bot.text(loopback.general).send("keep this")
    await sent.pin()
    assert [message.id async for message in bot.text(loopback.general).pins()] == [sent.id]
    notice = loopback.messages(loopback.general)[-1]
    assert notice["type"] == 6
    await sent.unpin()
    assert [message.id async for message in bot.text(loopback.general).pins()] == []


async def test_history_pages_in_both_directions(loopback: LoopbackDiscord, bot: Bot) -> None:
    ids = [int((await loopback.say(loopback.general, str(n)))["id"]) for n in range(120)]
    channel = bot.text(loopback.general)
    newest_first = [m.id async for m in channel.history(limit=None)]
    assert newest_first == ids[::-1]
    after = discord.Object(ids[9])
    missed = [m.id async for m in channel.history(limit=None, after=after, oldest_first=True)]
    assert missed == ids[10:]
    around = [m.id async for m in channel.history(limit=5, around=discord.Object(ids[50]))]
    assert sorted(around) == ids[48:53]


async def test_bulk_deletion_takes_many_at_once(loopback: LoopbackDiscord, bot: Bot) -> None:
    for n in range(3):
        await loopback.say(loopback.general, str(n))
    gone = await bot.text(loopback.general).purge(limit=10)
    assert len(gone) == 3
    assert loopback.messages(loopback.general) == []
