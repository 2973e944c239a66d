"""What was said while the bot did not hear it is found, once, whatever comes in between."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from bridge.rehearsal.discord.gateway.connection import guild_create
from state import SEEN_LIMIT, Record
from state.document import record as parse
from tests.e2e.rig import Rig
from tests.e2e.test_delivery import bot_in_this_process

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

FORUM = 15
HISTORY = r".*/channels/\d+/messages"


def me(rig: Rig) -> str:
    """A mention of the bot."""
    return f"<@{rig.discord.bot['id']}>"


async def answered_once(rig: Rig, said: dict[str, str]) -> None:
    """Wait until each of these texts is answered in its thread; none may be asked twice."""
    for text, thread in said.items():
        await rig.answer(thread, f": {text} | saw:", within=60)
    asked = Counter(rig.prompts())
    assert {text: asked[text] for text in said} == dict.fromkeys(said, 1)


async def logged(rig: Rig, words: str, times: int = 1) -> None:
    """Wait until the bot's log has this."""
    await rig.eventually(lambda: rig.log.read_text().count(words) >= times, what=words)


def heartbeat(rig: Rig) -> float:
    """When the bot left its last sign of life; 0 if it left none."""
    try:
        return (rig.state / "heartbeat").stat().st_mtime
    except FileNotFoundError:
        return 0


def long_ago(rig: Rig) -> float:
    """Let the last sign of life be an old one; returns when it was."""
    at = time.time() // 1 - 1000
    os.utime(rig.state / "heartbeat", (at, at))
    return at


@pytest.fixture
async def veteran(rig: Rig) -> str:
    """A thread with a session, of a bot that was started and has gone."""
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await rig.eventually(lambda: heartbeat(rig), what="the bot has caught up")
    await rig.stop()
    return thread


@pytest.mark.parametrize("live", [4, SEEN_LIMIT + 8])
async def test_what_was_handled_is_not_queued_again_though_new_messages_push_it_out(
    rig: Rig, live: int
) -> None:
    d = rig.discord
    thread = await rig.open("SLOW 60 busy")

    def queue() -> list[str]:
        return [item["content"] for item in rig.record(thread).get("queue", [])]

    await rig.asked("SLOW 60 busy")
    for number in range(SEEN_LIMIT + 3):
        await rig.say(thread, f"handled {number}")
    await rig.eventually(lambda: len(queue()) == SEEN_LIMIT + 3)
    await rig.command(thread, "stop")
    await rig.settled(thread, 1)
    await rig.eventually(lambda: not queue())
    await rig.stop()
    await rig.say(thread, "missed")
    # The channel, in which there is something new too, is read before its threads.
    await d.say(d.general, "not for the bot", author=d.add_user("stranger"))
    d.faults.delay("GET", rf".*/channels/{thread}/messages", 3)
    reads = rig.calls("GET", f"/channels/{d.general}/messages")
    await rig.start()
    await rig.eventually(lambda: rig.calls("GET", f"/channels/{d.general}/messages") > reads)
    await rig.say(thread, "SLOW 60 live")
    new = [f"live {number}" for number in range(live)]
    for text in new:
        await rig.say(thread, text)
    await rig.eventually(lambda: "missed" in queue())
    assert sorted(queue()) == sorted(["missed", *new])
    await rig.command(thread, "stop")


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="8")
async def test_a_message_that_comes_as_an_event_does_not_hide_those_that_were_missed(
    rig: Rig,
) -> None:
    d = rig.discord
    forum, side = d.add_channel("forum", FORUM)["id"], d.add_channel("side")["id"]
    rig.settings["BRIDGE_CHANNELS"] = f"{d.general},{forum}"
    await rig.start()
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    own = (await d.create_thread(side, "of a person"))["id"]
    await d.say(own, "not for the bot")
    await rig.eventually(lambda: heartbeat(rig), what="the bot has caught up")
    await rig.stop()
    said: dict[str, str] = {}

    async def say_everywhere(tag: str) -> None:
        await d.say(thread, f"{tag} in a thread")
        said[f"{tag} in a thread"] = thread
        for channel, call in ((d.general, ""), (side, me(rig))):
            opener = await d.say(channel, f"{call} {tag} in {channel}")
            said[f"{tag} in {channel}"] = opener["id"]
        await d.say(own, f"{me(rig)} {tag} in one's own")
        await d.say(post, f"{tag} in a post")
        said[f"{tag} in one's own"] = own
        said[f"{tag} in a post"] = post

    post = (await d.create_thread(forum, "a post", content="missed post"))["id"]
    said["missed post"] = post
    await say_everywhere("missed")
    await d.say(own, "and more in one's own")
    said["and more in one's own"] = own
    await rig.start()
    await say_everywhere("live")
    await answered_once(rig, said)
    assert "not for the bot" not in rig.prompts()


@pytest.mark.settings("stopped")
async def test_the_patrol_finds_a_message_whose_event_was_lost_and_after_which_none_came(
    rig: Rig,
) -> None:
    async with bot_in_this_process(rig) as bridge:
        thread = await rig.open("alpha")
        await rig.settled(thread, 1)
        rig.discord.faults.lose("MESSAGE_CREATE", times=2)
        await rig.say(thread, "in the thread")
        opener = await rig.discord.say(rig.discord.general, "in the channel")
        for _ in range(2):
            await bridge.backlog.patrol(active=3600)
        await answered_once(rig, {"in the thread": thread, "in the channel": opener["id"]})


@pytest.mark.settings("stopped")
async def test_the_patrol_looks_at_no_thread_that_is_quiet(rig: Rig) -> None:
    """Each record that it looked at is parsed while all else waits."""
    parsed = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal parsed
        parsed += event == "call" and frame.f_code is parse.__code__

    async with bot_in_this_process(rig) as bridge:
        thread = await rig.open("alpha")
        await rig.settled(thread, 1)
        record = bridge.store.get(int(thread))
        assert record is not None
        for number in range(3000):
            bridge.store.put(number + 1, quiet(record))
        reads = rig.calls("GET", f"/channels/{thread}/messages")
        sys.setprofile(count)
        try:
            await bridge.backlog.patrol(active=3600)
        finally:
            sys.setprofile(None)
        assert rig.calls("GET", f"/channels/{thread}/messages") == reads + 1
        assert parsed < 100


def quiet(record: Record) -> Record:
    """A thread like this one that nobody has used for long."""
    return record.model_copy(update={"last_used": record.last_used - 1e6})


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_page_that_gets_lost_is_asked_for_again(rig: Rig, veteran: str, when: Any) -> None:
    await rig.say(veteran, "in the thread")
    opener = await rig.discord.say(rig.discord.general, "in the channel")
    rig.discord.faults.drop("GET", HISTORY, when, times=2)
    await rig.start()
    await answered_once(rig, {"in the thread": veteran, "in the channel": opener["id"]})


@pytest.mark.settings("stopped", WATCHDOG_USEC="200000")
async def test_what_cannot_be_read_for_now_is_read_later(rig: Rig) -> None:
    """Until then the bot is at work, for systemd, but has not heard all, for the next start."""
    d, loop = rig.discord, asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(rig.folder / "notify"))
        systemd.setblocking(False)
        rig.settings["NOTIFY_SOCKET"] = str(rig.folder / "notify")
        await rig.start()
        thread = await rig.open("alpha")
        await rig.settled(thread, 1)
        side = d.add_channel("side")["id"]
        await rig.eventually(lambda: heartbeat(rig), what="the bot has caught up")
        await rig.stop()
        before = long_ago(rig)
        await rig.say(thread, "in the thread")
        channel = await d.say(d.general, "in the channel")
        mention = await d.say(side, f"{me(rig)} elsewhere")
        d.faults.fail("GET", HISTORY, status=503, times=10_000)
        await rig.start()
        await logged(rig, "cannot be read", 3)
        with contextlib.suppress(BlockingIOError):
            while systemd.recv(1 << 12):
                pass
        while await loop.sock_recv(systemd, 1 << 12) != b"WATCHDOG=1":
            pass
        assert heartbeat(rig) == before
        d.faults.clear()
        said = {"in the thread": thread, "in the channel": channel["id"]}
        await answered_once(rig, {**said, "elsewhere": mention["id"]})
        await rig.eventually(lambda: heartbeat(rig) > before, what="it has heard all")


@pytest.mark.parametrize("place", ["a channel", "elsewhere"])
async def test_what_may_not_be_read_does_not_hold_up_the_rest(
    rig: Rig, veteran: str, place: str
) -> None:
    d = rig.discord
    before = long_ago(rig)
    refused = d.general if place == "a channel" else d.add_channel("side")["id"]
    await d.say(refused, f"{me(rig)} lost")
    await rig.say(veteran, "missed")
    d.faults.fail("GET", rf".*/channels/{refused}/messages", status=403, code=50001, times=100)
    await rig.start()
    await answered_once(rig, {"missed": veteran})
    await rig.eventually(lambda: heartbeat(rig) > before, what="all is read that may be")


async def test_one_message_that_cannot_be_taken_does_not_hold_up_those_behind_it(
    rig: Rig, veteran: str
) -> None:
    rig.tolerated.append("cannot be taken")
    poison = await rig.say(veteran, "poison", files={"a.txt": b"a"})
    poison["attachments"][0]["size"] = -1
    opener = await rig.discord.say(rig.discord.general, "poison", files={"a.txt": b"a"})
    opener["attachments"][0]["size"] = -1
    await rig.say(veteran, "in the thread")
    later = await rig.discord.say(rig.discord.general, "in the channel")
    await rig.start()
    await answered_once(rig, {"in the thread": veteran, "in the channel": later["id"]})


async def test_a_server_that_is_late_is_caught_up_with_when_it_comes(
    rig: Rig, veteran: str
) -> None:
    d = rig.discord
    side = d.add_channel("side")["id"]
    await rig.say(veteran, "in the thread")
    channel = await d.say(d.general, "in the channel")
    mention = await d.say(side, f"{me(rig)} elsewhere")
    started = rig.log.read_text().count("connected as")
    d.faults.lose("GUILD_CREATE")
    await rig.start()
    await logged(rig, "connected as", started + 1)
    d.events.emit("GUILD_CREATE", guild_create(d.world))
    said = {"in the thread": veteran, "in the channel": channel["id"]}
    await answered_once(rig, {**said, "elsewhere": mention["id"]})


async def test_a_server_is_caught_up_with_after_its_outage(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await rig.eventually(lambda: heartbeat(rig), what="the bot has caught up")
    side = d.add_channel("side")["id"]
    d.events.emit("GUILD_DELETE", {"id": d.guild_id, "unavailable": True})
    d.faults.lose("MESSAGE_CREATE", times=3)
    await rig.say(thread, "in the thread")
    channel = await d.say(d.general, "in the channel")
    mention = await d.say(side, f"{me(rig)} elsewhere")
    d.events.emit("GUILD_CREATE", guild_create(d.world))
    said = {"in the thread": thread, "in the channel": channel["id"]}
    await answered_once(rig, {**said, "elsewhere": mention["id"]})


async def test_a_gateway_that_may_have_been_dead_before_the_end_proves_nothing(rig: Rig) -> None:
    d = rig.discord
    side = d.add_channel("side")["id"]
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await rig.eventually(lambda: heartbeat(rig), what="the bot has caught up")
    d.faults.lose("MESSAGE_CREATE")
    mention = await d.say(side, f"{me(rig)} elsewhere")
    await rig.stop(signal.SIGKILL)
    os.utime(rig.state / "heartbeat", (time.time(), time.time()))
    await rig.start()
    await answered_once(rig, {"elsewhere": mention["id"]})
    assert sorted(rig.prompts()) == ["alpha", "elsewhere"]


@pytest.mark.settings("stopped")
async def test_what_was_said_before_the_first_start_is_not_found_by_the_second(rig: Rig) -> None:
    """However long the gateway may have been dead before the first bot went."""
    d = rig.discord
    side = d.add_channel("side")["id"]
    old = (await d.say(side, f"{me(rig)} old"))["id"]
    await rig.start()
    thread = await rig.open("new")
    await rig.settled(thread, 1)
    await rig.eventually(lambda: heartbeat(rig), what="the bot has caught up")
    await rig.stop()
    await rig.say(thread, "missed")
    await rig.start()
    # Channels are read before threads.
    await answered_once(rig, {"missed": thread})
    assert not rig.record(old)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_thread_that_somebody_deleted_is_not_opened_again(
    rig: Rig, number: signal.Signals
) -> None:
    d = rig.discord
    side = d.add_channel("side")["id"]
    threads = [await rig.open("in the channel")]
    threads.append((await d.say(side, f"{me(rig)} elsewhere"))["id"])
    for thread in threads:
        await rig.answer(thread, "Echo #1")
        await rig.settled(thread, 1)
        await d.delete_channel(thread)
    await rig.eventually(lambda: not any(map(rig.record, threads)), what="both are forgotten")
    await rig.restart(number)
    last = await rig.open("last")
    await rig.settled(last, 1)
    assert sorted(rig.prompts()) == ["elsewhere", "in the channel", "last"]
    assert [thread["id"] for thread in d.threads()] == [last]


@pytest.mark.settings(WATCHDOG_USEC="200000")
async def test_a_sign_of_life_that_fails_once_is_tried_again(rig: Rig) -> None:
    rig.tolerated.append("FileNotFoundError")
    await rig.eventually(lambda: heartbeat(rig), what="the first sign")
    sign = rig.state / "heartbeat"
    away = rig.state / "away"
    away.symlink_to(rig.folder / "nowhere" / "heartbeat")
    away.replace(sign)
    await logged(rig, "FileNotFoundError")
    sign.unlink()
    await rig.eventually(lambda: heartbeat(rig), what="another sign")
