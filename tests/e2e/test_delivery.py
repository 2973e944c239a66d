"""Every message is answered once, whatever the gateway and the REST API do meanwhile."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge import address
from bridge.bot import Bridge
from bridge.config import child_environment, find_claude, load
from bridge.rehearsal.discord import LoopbackDiscord
from state import Store
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

FORUM = 15


class Places:
    """The kinds of places in which a message can be a turn, and what was said in them."""

    def __init__(self, rig: Rig, thread: str, forum: str) -> None:
        self._rig = rig
        self._thread = thread
        self._forum = forum
        self._side: str = rig.discord.add_channel("side")["id"]
        self.said: dict[str, str] = {}
        """The thread in which each message must be answered."""

    async def say_in_both(self, tag: str) -> None:
        """Write in a session's thread and in a channel."""
        d = self._rig.discord
        await d.say(self._thread, f"{tag} in the thread")
        self.said[f"{tag} in the thread"] = self._thread
        opener = await d.say(d.general, f"{tag} in the channel")
        self.said[f"{tag} in the channel"] = opener["id"]

    async def say_everywhere(self, tag: str) -> None:
        """Write there, with mentions elsewhere, and in a forum."""
        d, me = self._rig.discord, f"<@{self._rig.discord.bot['id']}>"
        await self.say_in_both(tag)
        mention = await d.say(self._side, f"{me} {tag} in another channel")
        self.said[f"{tag} in another channel"] = mention["id"]
        await d.say(self._side, f"{tag} not for the bot")
        own = await d.create_thread(self._side, f"{tag} of a person")
        await d.say(own["id"], f"{tag} not for the bot")
        await d.say(own["id"], f"{tag} in a thread of one's own {me}")
        self.said[f"{tag} in a thread of one's own"] = own["id"]
        post = await d.create_thread(self._forum, "a post", content=f"{tag} in the forum")
        self.said[f"{tag} in the forum"] = post["id"]

    async def all_answered(self) -> None:
        """Wait for all answers; each message was asked once and is answered once."""
        rig = self._rig
        for text, thread in self.said.items():
            await rig.answer(thread, f": {text} | saw:", within=60)
        for thread in self.said.values():
            await rig.eventually(lambda id=thread: idle(rig, id), what="nothing waits any more")
        asked = Counter(rig.prompts())
        assert {text: asked[text] for text in self.said} == dict.fromkeys(self.said, 1)
        assert not [prompt for prompt in asked if "not for the bot" in prompt]
        for text, thread in self.said.items():
            assert rig.shown(thread).count(f": {text} | saw:") == 1


def idle(rig: Rig, thread: str) -> bool:
    """As the disk has it, no turn runs in the thread and none waits."""
    record = rig.record(thread)
    return bool(record) and not record.get("turn") and not record.get("queue")


@pytest.fixture
async def places(rig: Rig) -> Places:
    """A rig whose bot has one session and listens to a forum too; it is started."""
    forum = rig.discord.add_channel("forum", FORUM)["id"]
    rig.settings["BRIDGE_CHANNELS"] = f"{rig.discord.general},{forum}"
    await rig.start()
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    return Places(rig, thread, forum)


async def lost(d: LoopbackDiscord) -> None:
    await d.cut_gateway()
    await d.invalidate_session()


CUTS: dict[str, Callable[[LoopbackDiscord], Awaitable[Any]]] = {
    "cut": lambda d: d.cut_gateway(),
    "cut and forgotten": lost,
    "op 7": lambda d: d.ask_reconnect(),
    "op 9": lambda d: d.invalidate_session(),
}
WIDE = ("cut", "cut and forgotten")
"""Here one writes in all kinds of places; the others differ from these only for the gateway."""


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="8")
async def test_what_is_said_while_the_gateway_is_away_is_answered_once(
    rig: Rig, places: Places
) -> None:
    d = rig.discord
    for name, cut in CUTS.items():
        connections = d.identifies + d.resumes
        d.faults.refuse_gateway = True
        await cut(d)
        await rig.until(lambda: not d.connected, what=f"{name}: the gateway is away")
        places.said.clear()
        await (places.say_everywhere if name in WIDE else places.say_in_both)(name)
        d.faults.refuse_gateway = False
        await rig.until(
            lambda before=connections: d.connected and d.identifies + d.resumes > before,
            within=60,
            what=f"{name}: the bot comes back",
        )
        await places.all_answered()
    assert d.resumes, "some sessions were resumed"
    assert d.identifies > 1, "some sessions were lost"


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="8")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_what_is_said_while_the_bot_is_down_is_answered_once(
    rig: Rig, places: Places, number: signal.Signals
) -> None:
    await places.say_everywhere("before")
    await places.all_answered()
    await rig.stop(number)
    await places.say_everywhere("meanwhile")
    await rig.start()
    await places.all_answered()


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="8")
async def test_what_was_said_before_the_first_start_is_not_for_the_bot(rig: Rig) -> None:
    d, me = rig.discord, f"<@{rig.discord.bot['id']}>"
    forum = d.add_channel("forum", FORUM)["id"]
    side = d.add_channel("side")["id"]
    rig.settings["BRIDGE_CHANNELS"] = f"{d.general},{forum}"
    await d.say(d.general, "old")
    await d.say(side, f"{me} old")
    own = await d.create_thread(side, "a person's")
    await d.say(own["id"], f"{me} old")
    await d.create_thread(forum, "a post", content="old")
    await rig.start()
    await rig.eventually((rig.state / "heartbeat").exists, what="the bot has caught up")
    thread = await rig.open("new")
    await rig.settled(thread, 1)
    assert rig.prompts() == ["new"]
    await rig.restart()
    await rig.say(thread, "newer")
    await rig.settled(thread, 2)
    assert rig.prompts() == ["new", "newer"]


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="8")
async def test_events_that_are_delivered_twice_count_once(rig: Rig, places: Places) -> None:
    d = rig.discord
    d.faults.duplicate = True
    await places.say_everywhere("twice")
    await places.all_answered()
    first = places.said["twice in the thread"]
    late = next(m for m in d.messages(first) if m["content"] == "twice in the thread")
    d.events.emit("MESSAGE_CREATE", {**late, "guild_id": d.guild_id}, channel=first)
    await rig.say(first, "after that")
    await rig.answer(first, "Echo #3: after that | saw: alpha / twice in the thread")
    await rig.settled(first, 3)
    await rig.eventually(lambda: idle(rig, first))
    assert rig.shown(first).count("context (") == 3
    thread = places.said["twice in the channel"]
    for name in ("status", "help", "stop", "new", "cleanup"):
        before = len(rig.discord.messages(thread))
        interaction = await rig.discord.slash(thread, name)
        await interaction.done()
        assert not interaction.followups
        shows = interaction.response
        assert shows is not None
        assert len(rig.discord.messages(thread)) - before <= 1
    await rig.say(thread, "and on")
    await rig.answer(thread, "Echo #1: and on | saw: ")


@asynccontextmanager
async def bot_in_this_process(rig: Rig) -> AsyncGenerator[Bridge]:
    """The bot, so that a test can make it do now what it does every few minutes."""
    environ = rig.environment()
    config = load(environ)
    token = config.token.get_secret_value()
    store = await Store.open(config.state_dir)
    await address.use(str(config.discord_url), token)
    claude = find_claude(config, environ)
    async with Bridge(config, child_environment(config, environ), claude, store) as bridge:
        await bridge.login(token)
        running = asyncio.create_task(bridge.connect())
        await bridge.ready_once.wait()
        yield bridge
    await running
    await store.close()


@pytest.mark.settings("stopped")
async def test_a_message_whose_event_was_lost_is_found_though_later_ones_came(rig: Rig) -> None:
    d = rig.discord
    async with bot_in_this_process(rig) as bridge:
        thread = await rig.open("alpha")
        await rig.settled(thread, 1)
        d.faults.lose("MESSAGE_CREATE", times=2)
        await rig.say(thread, "lost in the thread")
        opener = (await d.say(d.general, "lost in the channel"))["id"]
        await rig.say(thread, "later in the thread")
        later = await rig.open("later in the channel")
        await rig.settled(thread, 2)
        await rig.settled(later, 1)
        await bridge.backlog.patrol(active=3600)
        await rig.answer(thread, ": lost in the thread | saw:")
        await rig.answer(opener, ": lost in the channel | saw:")
        assert sorted(Counter(rig.prompts()).values()) == [1] * 5

        await d.delete_channel(opener)
        await rig.eventually(lambda: bridge.store.get(int(opener)) is None)
        await bridge.backlog.patrol(active=3600)
        last = await rig.open("the last")
        await rig.settled(last, 1)
        assert len(rig.prompts()) == 6, "what somebody deleted is not begun again"


KINDS_OF_CALLS = (
    ("POST", r"/channels/\d+/messages/\d+/threads"),
    ("POST", r"/channels/\d+/typing"),
    ("POST", r"/channels/\d+/messages"),
    ("PATCH", r"/channels/\d+/messages/\d+"),
    ("PUT", r".*/reactions/.+/@me"),
    ("DELETE", r".*/reactions/.+"),
    ("POST", r"/interactions/\d+/.+/callback"),
    ("PATCH", r"/webhooks/\d+/.+/messages/@original"),
)


async def exercise(rig: Rig) -> list[str]:
    """A conversation in which the bot makes each kind of call; what it shows in the end."""
    thread = await rig.open("SLOW 1.5 alpha")
    await rig.asked("SLOW 1.5 alpha")
    waits = await rig.say(thread, "beta")
    status = await rig.command(thread, "status")
    assert "a turn runs" in status
    await rig.settled(thread, 2, within=60)
    await rig.until(lambda: not reactions(rig, thread, waits["id"]), what="no ⏳ is left")
    await rig.say(thread, "LONG 4500")
    await rig.settled(thread, 3, within=60)
    mine = [m for m in rig.discord.messages(thread) if m["author"]["id"] == rig.discord.bot["id"]]
    assert len({m["id"] for m in mine}) == len(mine)
    return [m["content"].rsplit("\n-# ", 1)[0] for m in mine if not m["flags"] & 64]


def reactions(rig: Rig, thread: str, message: str) -> list[Any]:
    shown = next(m for m in rig.discord.messages(thread) if m["id"] == message)
    return shown.get("reactions", [])


async def test_a_request_that_fails_once_costs_nothing_and_doubles_nothing(rig: Rig) -> None:
    plain = await exercise(rig)
    faults = rig.discord.faults
    troubles: dict[str, Callable[[str, str], None]] = {
        "dropped before": lambda method, path: faults.drop(method, path, "before"),
        "dropped after": lambda method, path: faults.drop(method, path, "after"),
        "429": lambda method, path: faults.fail(method, path, status=429, retry_after=0.1),
        "global 429": lambda method, path: faults.fail(
            method, path, status=429, retry_after=0.1, global_=True
        ),
        "503": lambda method, path: faults.fail(method, path, status=503),
    }
    for count, (name, order) in enumerate(troubles.items(), 2):
        for method, path in KINDS_OF_CALLS:
            order(method, path)
        assert await exercise(rig) == plain, name
        assert not faults.pending, f"{name}: each kind of call was met"
        assert rig.prompts().count("beta") == count


async def test_each_message_that_is_sent_can_be_sent_again_unharmed(rig: Rig) -> None:
    thread = await rig.open("LONG 9000")
    await rig.settled(thread, 1)
    sent = [
        e.request
        for e in rig.discord.exchanges
        if e.method == "POST" and e.path.endswith("/messages")
    ]
    assert len(sent) > 3
    assert all(body["enforce_nonce"] for body in sent)
    assert len({body["nonce"] for body in sent}) == len(sent)
