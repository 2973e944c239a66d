"""The gateway, by a real discord.py client and, where that hides too much, by a bare WebSocket."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import discord
import pytest

from bridge.rehearsal.discord import LoopbackDiscord, Permission
from tests.rehearsal.discord.rig import INTENTS, Bot, running


class Socket:
    """A gateway client that shows every frame."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.sequence = 0

    async def send(self, opcode: int, data: Any) -> None:
        await self.ws.send_json({"op": opcode, "d": data})

    async def frame(self) -> dict[str, Any]:
        frame = json.loads(await self.ws.receive_str(timeout=10))
        self.sequence = frame.get("s") or self.sequence
        return frame

    async def opcode(self, opcode: int) -> dict[str, Any]:
        while (frame := await self.frame())["op"] != opcode:
            pass
        return frame

    async def event(self, name: str) -> dict[str, Any]:
        """The next event of this name; others are read past."""
        while True:
            frame = await self.frame()
            if frame.get("t") == name:
                return frame["d"]

    async def identify(self, token: str, intents: int = INTENTS.value) -> dict[str, Any]:
        await self.send(2, {"token": token, "intents": intents, "properties": {}})
        return await self.event("READY")

    async def close_code(self) -> int | None:
        while not self.ws.closed:
            await self.ws.receive(timeout=10)
        return self.ws.close_code


@asynccontextmanager
async def dialled(loopback: LoopbackDiscord, version: int = 10) -> AsyncGenerator[Socket]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{loopback.gateway_url}?v={version}&encoding=json") as ws,
    ):
        yield Socket(ws)


async def test_hello_comes_first(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        assert await socket.frame() == {
            "op": 10,
            "d": {"heartbeat_interval": 41250, "_trace": ["rehearsal"]},
        }


async def test_an_old_version_is_refused(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback, version=7) as socket:
        assert await socket.close_code() == 4012


# With discord.py


async def test_login_fills_the_clients_cache(loopback: LoopbackDiscord, bot: Bot) -> None:
    guild = bot.get_guild(int(loopback.guild_id))
    assert guild is not None
    assert guild.me.id == int(loopback.bot["id"])
    assert guild.me.guild_permissions.manage_threads
    assert guild.owner_id == int(loopback.owner["id"])
    assert bot.text(loopback.general).permissions_for(guild.me).send_messages
    application = await bot.application_info()
    assert application.owner.id == int(loopback.owner["id"])
    assert application.flags.gateway_message_content_limited
    assert bot.user is not None
    assert (await bot.user.display_avatar.read()).startswith(b"\x89PNG")


async def test_the_guild_tells_active_threads_and_last_messages(loopback: LoopbackDiscord) -> None:
    last = await loopback.say(loopback.general, "last in general")
    active = await loopback.create_thread(loopback.general, "active")
    said = await loopback.say(active["id"], "last in thread")
    archived = await loopback.create_thread(loopback.general, "archived")
    await loopback.archive(archived["id"])
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token)
        guild = await socket.event("GUILD_CREATE")
    assert [thread["id"] for thread in guild["threads"]] == [active["id"]]
    assert guild["threads"][0]["last_message_id"] == said["id"]
    [general] = guild["channels"]
    # Starting a thread posts a notice, which is then the channel's last message.
    assert int(general["last_message_id"]) > int(last["id"])
    assert general["last_message_id"] == loopback.messages(loopback.general)[-1]["id"]


async def test_a_cut_connection_resumes_and_hears_what_it_missed(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    @bot.event
    async def on_message(message: discord.Message) -> None:
        heard.put_nowait(message.content)

    assert on_message
    await loopback.say(loopback.general, "before")
    assert await heard.get() == "before"
    loopback.faults.refuse_gateway = True
    await loopback.cut_gateway()
    assert not loopback.connected
    for n in range(3):
        await loopback.say(loopback.general, f"missed {n}")
    loopback.faults.refuse_gateway = False
    assert [await heard.get() for _ in range(3)] == ["missed 0", "missed 1", "missed 2"]
    assert (loopback.identifies, loopback.resumes) == (1, 1)


async def test_asked_to_reconnect_the_client_resumes(loopback: LoopbackDiscord, bot: Bot) -> None:
    resumed = asyncio.create_task(bot.wait_for("resumed", timeout=10))
    await asyncio.sleep(0)
    await loopback.ask_reconnect()
    await resumed
    assert (loopback.identifies, loopback.resumes) == (1, 1)


async def test_missing_acknowledgements_make_the_client_resume() -> None:
    loopback = LoopbackDiscord(heartbeat=0.1)
    await loopback.start()
    async with running(loopback, Bot(heartbeat_timeout=0.3)):
        loopback.faults.ignore_heartbeats = True
        await loopback.until(lambda: loopback.resumes, 20, "the client resumes")
        loopback.faults.ignore_heartbeats = False
    await loopback.stop()


async def test_an_invalidated_session_means_a_new_one(loopback: LoopbackDiscord, bot: Bot) -> None:
    ready = asyncio.create_task(bot.wait_for("ready", timeout=20))
    await asyncio.sleep(0)
    await loopback.invalidate_session()
    assert not loopback.connected
    lost = await loopback.say(loopback.general, "nobody hears this")
    await ready
    assert (loopback.identifies, loopback.resumes) == (2, 0)
    channel = bot.text(loopback.general)
    assert channel.last_message_id == int(lost["id"])


async def test_a_session_lost_while_cut_cannot_be_resumed(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    ready = asyncio.create_task(bot.wait_for("ready", timeout=20))
    await asyncio.sleep(0)
    loopback.faults.refuse_gateway = True
    await loopback.cut_gateway()
    await loopback.invalidate_session()
    loopback.faults.refuse_gateway = False
    await ready
    assert (loopback.identifies, loopback.resumes) == (2, 0)


async def test_a_switched_off_intent_ends_the_client(loopback: LoopbackDiscord) -> None:
    loopback.application_flags = 0
    with pytest.raises(discord.PrivilegedIntentsRequired):
        async with running(loopback, Bot()):
            pass


async def test_closing_with_4004_ends_the_client(loopback: LoopbackDiscord) -> None:
    with pytest.raises(discord.ConnectionClosed) as ended:
        async with running(loopback, Bot()):
            await loopback.close_gateway(4004, "Authentication failed.")
    assert ended.value.code == 4004


async def test_a_wrong_token_is_refused_at_login(loopback: LoopbackDiscord) -> None:
    loopback.token = "another"
    with pytest.raises(discord.LoginFailure):
        async with running(loopback, Bot()):
            pass


async def test_the_address_survives_a_restart_of_discord(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    port = int(loopback.url.rsplit(":", 1)[1])
    await loopback.stop()
    await loopback.start(port)
    await loopback.until(lambda: loopback.connected, 20, "the client is back")
    assert loopback.resumes == 1


# With a bare WebSocket


@pytest.mark.parametrize(
    ("opcode", "data", "code"),
    [
        (2, {"token": "wrong", "intents": 1}, 4004),
        (2, {"token": "rehearsal-token", "intents": 1 << 40}, 4013),
        (2, {"token": "rehearsal-token"}, 4013),
        (2, {"token": "rehearsal-token", "intents": 1 << 8}, 4014),
        (99, None, 4001),
        (3, {}, 4003),
    ],
)
async def test_bad_openings_end_with_discords_close_codes(
    loopback: LoopbackDiscord, opcode: int, data: Any, code: int
) -> None:
    async with dialled(loopback) as socket:
        await socket.send(opcode, data)
        assert await socket.close_code() == code


async def test_identifying_twice_is_refused(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token)
        await socket.send(2, {"token": loopback.token, "intents": 1})
        assert await socket.close_code() == 4005


async def test_frames_that_are_no_json_or_too_long_are_refused(loopback: LoopbackDiscord) -> None:
    for text in ("{", json.dumps({"op": 1, "d": "x" * 5000})):
        async with dialled(loopback) as socket:
            await socket.ws.send_str(text)
            assert await socket.close_code() == 4002


async def test_too_many_frames_are_refused(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        for _ in range(121):
            await socket.send(1, None)
        assert await socket.close_code() == 4008


async def test_a_silent_client_is_given_up() -> None:
    loopback = LoopbackDiscord(heartbeat=0.05)
    await loopback.start()
    async with dialled(loopback) as socket:
        assert await socket.close_code() == 4009
    await loopback.stop()


async def test_heartbeats_are_acknowledged(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        await socket.send(1, None)
        assert (await socket.opcode(11))["d"] is None


async def test_a_sequence_from_the_future_cannot_be_resumed(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as first:
        ready = await first.identify(loopback.token)
        await loopback.cut_gateway()
    async with dialled(loopback) as second:
        resume = {"token": loopback.token, "session_id": ready["session_id"], "seq": 99}
        await second.send(6, resume)
        assert await second.close_code() == 4007


async def test_after_op_9_the_same_connection_may_identify(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token)
        await loopback.invalidate_session()
        assert (await socket.opcode(9))["d"] is False
        await socket.identify(loopback.token)
        await loopback.say(loopback.general, "again")
        assert (await socket.event("MESSAGE_CREATE"))["content"] == "again"


async def test_a_resume_takes_the_session_from_an_older_connection(
    loopback: LoopbackDiscord,
) -> None:
    async with dialled(loopback) as old, dialled(loopback) as new:
        ready = await old.identify(loopback.token)
        session = {"session_id": ready["session_id"], "seq": old.sequence}
        await new.send(6, {"token": loopback.token, **session})
        await new.event("RESUMED")
        assert (await old.ws.receive(timeout=10)).type is not aiohttp.WSMsgType.PING
        await loopback.say(loopback.general, "to the new one")
        assert (await new.event("MESSAGE_CREATE"))["content"] == "to the new one"


async def test_two_sessions_of_one_bot_both_hear(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as one, dialled(loopback) as two:
        for socket in (one, two):
            await socket.identify(loopback.token)
        await loopback.say(loopback.general, "both")
        for socket in (one, two):
            assert (await socket.event("MESSAGE_CREATE"))["content"] == "both"


async def test_a_goodbye_gives_the_session_up(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as first:
        ready = await first.identify(loopback.token)
        await first.ws.close(code=1000)
    async with dialled(loopback) as second:
        resume = {"token": loopback.token, "session_id": ready["session_id"], "seq": 1}
        await second.send(6, resume)
        assert (await second.opcode(9))["d"] is False


async def test_without_the_content_intent_only_mentions_can_be_read(
    loopback: LoopbackDiscord,
) -> None:
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token, INTENTS.value & ~(1 << 15))
        await loopback.say(loopback.general, "private", files={"a.txt": b"a"})
        hidden = await socket.event("MESSAGE_CREATE")
        assert (hidden["content"], hidden["attachments"]) == ("", [])
        await loopback.say(loopback.general, f"<@{loopback.bot['id']}> public")
        assert "public" in (await socket.event("MESSAGE_CREATE"))["content"]


async def test_events_need_their_intents(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token, discord.Intents(guilds=True).value)
        await socket.event("GUILD_CREATE")
        said = await loopback.say(loopback.general, "unheard")
        await loopback.react(loopback.general, said["id"], "👍")
        await loopback.create_thread(loopback.general, "heard")
        assert (await socket.frame())["t"] == "THREAD_CREATE"


async def test_hidden_channels_are_silent(loopback: LoopbackDiscord) -> None:
    hidden = loopback.add_channel("hidden")["id"]
    loopback.overwrite(hidden, loopback.guild_id, deny=Permission.VIEW_CHANNEL)
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token)
        await socket.event("GUILD_CREATE")
        await loopback.say(hidden, "secret")
        await loopback.say(loopback.general, "open")
        assert (await socket.event("MESSAGE_CREATE"))["content"] == "open"
        loopback.overwrite(hidden, loopback.bot["id"], allow=Permission.VIEW_CHANNEL)
        await loopback.say(hidden, "no longer secret")
        assert (await socket.event("MESSAGE_CREATE"))["content"] == "no longer secret"


async def test_members_are_sent_on_request(loopback: LoopbackDiscord) -> None:
    async with dialled(loopback) as socket:
        await socket.identify(loopback.token)
        await socket.send(8, {"guild_id": loopback.guild_id, "query": "", "limit": 0, "nonce": "n"})
        chunk = await socket.event("GUILD_MEMBERS_CHUNK")
        assert {member["user"]["username"] for member in chunk["members"]} == {"alice", "bridge"}
        assert chunk["nonce"] == "n"
