"""Troubles on order, as a real discord.py client meets them."""

import asyncio

import aiohttp
import discord
import pytest

from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Bot

SENDS = r"/channels/\d+/messages"


async def test_a_drop_before_the_effect_leaves_nothing(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.drop("POST", SENDS, "before")
    channel = bot.text(loopback.general)
    with pytest.raises(aiohttp.ClientError):
        await channel.send("lost", nonce="n")
    assert loopback.messages(loopback.general) == []
    await channel.send("lost", nonce="n")
    assert loopback.shown(loopback.general) == "lost"


async def test_a_drop_after_the_effect_is_healed_by_the_nonce(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    loopback.faults.drop("POST", SENDS, "after")
    channel = bot.text(loopback.general)
    with pytest.raises(aiohttp.ClientError):
        await channel.send("once", nonce="n")
    [made] = loopback.messages(loopback.general)
    again = await channel.send("once", nonce="n")
    assert str(again.id) == made["id"]
    assert len(loopback.messages(loopback.general)) == 1
    assert [e.fault for e in loopback.exchanges if e.method == "POST"] == ["drop after", None]


async def test_a_429_is_waited_for_and_repeated(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.fail("POST", SENDS, status=429, retry_after=0.01, times=2)
    await bot.text(loopback.general).send("patience")
    statuses = [e.status for e in loopback.exchanges if e.method == "POST"]
    assert statuses == [429, 429, 200]


async def test_a_global_429_holds_everything(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.fail("POST", SENDS, status=429, retry_after=0.01, global_=True)
    await bot.text(loopback.general).send("patience")
    assert loopback.exchanges[-2].response["global"] is True


async def test_a_server_error_is_tried_again(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.fail("POST", SENDS, status=502)
    await bot.text(loopback.general).send("again")
    assert loopback.shown(loopback.general) == "again"


async def test_a_403_on_order_has_no_effect(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.fail("POST", SENDS, status=403)
    with pytest.raises(discord.Forbidden):
        await bot.text(loopback.general).send("no")
    assert loopback.messages(loopback.general) == []
    assert not loopback.faults.pending


async def test_a_delayed_request_lets_others_pass(loopback: LoopbackDiscord, bot: Bot) -> None:
    known = asyncio.create_task(bot.wait_for("guild_channel_create", timeout=10))
    await asyncio.sleep(0)
    other = loopback.add_channel("other")["id"]
    await known
    loopback.faults.delay("POST", rf"/channels/{loopback.general}/messages", 0.2)
    slow = asyncio.create_task(bot.text(loopback.general).send("slow"))
    await bot.text(other).send("fast")
    assert not slow.done()
    await slow


async def test_a_path_must_match_whole(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.fail("POST", SENDS, status=403)
    said = await loopback.say(loopback.general, "start")
    message = await bot.text(loopback.general).fetch_message(int(said["id"]))
    await message.create_thread(name="not a send")
    assert loopback.faults.pending


async def test_a_lost_event_is_never_told(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.lose("MESSAGE_CREATE")
    listening = asyncio.create_task(bot.wait_for("message", timeout=10))
    await asyncio.sleep(0)
    await loopback.say(loopback.general, "lost")
    await loopback.say(loopback.general, "heard")
    assert (await listening).content == "heard"
    missed = [m.content async for m in bot.text(loopback.general).history()]
    assert missed == ["heard", "lost"]


async def test_every_event_is_told_twice_on_order(loopback: LoopbackDiscord, bot: Bot) -> None:
    heard: asyncio.Queue[int] = asyncio.Queue()

    @bot.event
    async def on_message(message: discord.Message) -> None:
        heard.put_nowait(message.id)

    assert on_message
    loopback.faults.duplicate = True
    said = await loopback.say(loopback.general, "echo")
    assert [await heard.get(), await heard.get()] == [int(said["id"])] * 2


async def test_the_cdn_fails_on_order_too(loopback: LoopbackDiscord, bot: Bot) -> None:
    listening = asyncio.create_task(bot.wait_for("message", timeout=10))
    await asyncio.sleep(0)
    await loopback.say(loopback.general, files={"a.txt": b"a"})
    [attachment] = (await listening).attachments
    loopback.faults.fail("GET", r"/cdn/attachments/.*", status=404)
    with pytest.raises(discord.NotFound):
        await attachment.read()
    # A GET on a connection that was used before is repeated once by the HTTP client itself.
    loopback.faults.drop("GET", r"/cdn/attachments/.*", times=2)
    with pytest.raises(aiohttp.ClientError):
        await attachment.read()
    loopback.faults.delay("GET", r"/cdn/attachments/.*", 0.01)
    assert await attachment.read() == b"a"


async def test_orders_can_be_taken_back(loopback: LoopbackDiscord, bot: Bot) -> None:
    loopback.faults.fail("POST", SENDS, times=100)
    loopback.faults.lose("MESSAGE_CREATE")
    loopback.faults.clear()
    await bot.text(loopback.general).send("fine")
