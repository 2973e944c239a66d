"""Replies on their way to Discord: what is wanted last stands there, once and in order."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.discord_io.outbox import Outbox, Reply
from bridge.discord_io.retry import TOO_MANY_OLD_EDITS
from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Bot, running
from tests.support.conform import Conformity

WITHIN = 30.0
MESSAGES = r".*/channels/\d+/messages"
ONE_MESSAGE = rf"{MESSAGES}/\d+"


@dataclass
class Sent:
    """What the store is told: the ids of the messages that show a reply."""

    ids: list[int] = field(default_factory=list[int])

    def gone(self, message: int) -> None:
        self.ids.remove(message)


class Post:
    """A real client on a loopback Discord, and a fresh channel for every reply."""

    def __init__(self, server: LoopbackDiscord, client: discord.Client) -> None:
        self.server = server
        self.client = client
        self.outbox = Outbox(client)
        self._names = count(1)

    def channel(self) -> int:
        return int(self.server.add_channel(f"c{next(self._names)}")["id"])

    async def thread(self) -> int:
        thread = await self.server.create_thread(self.server.general, f"t{next(self._names)}")
        return int(thread["id"])

    def shown(self, channel: int) -> list[str]:
        return [m["content"] for m in self.mine(channel)]

    def ids(self, channel: int) -> list[int]:
        return [int(m["id"]) for m in self.mine(channel)]

    def mine(self, channel: int) -> list[dict[str, Any]]:
        bot = self.server.bot["id"]
        return [m for m in self.server.messages(str(channel)) if m["author"]["id"] == bot]

    def calls(self, method: str) -> int:
        return sum(e.method == method for e in self.server.exchanges)


@pytest.fixture(scope="module")
def shared() -> Generator[tuple[asyncio.Runner, Post]]:
    """One server, one client and one loop for all tests of this module."""
    with asyncio.Runner() as runner:
        stack, conformity = AsyncExitStack(), Conformity()

        async def begin() -> Post:
            server = LoopbackDiscord(audit=conformity, rate_limits="off")
            await server.start()
            stack.push_async_callback(server.stop)
            return Post(server, await stack.enter_async_context(running(server, Bot())))

        yield runner, runner.run(begin())
        runner.run(stack.aclose())
        assert conformity.violations == []


Example = Callable[[Post], Awaitable[None]]


def run(shared: tuple[asyncio.Runner, Post], example: Example) -> None:
    runner, post = shared

    async def limited() -> None:
        async with asyncio.timeout(WITHIN):
            await example(post)

    try:
        runner.run(limited())
    finally:
        post.server.faults.clear()


async def told(reply: Reply, states: Sequence[Sequence[str]], flushed: Sequence[bool]) -> None:
    for state, flush in zip(states, flushed, strict=False):
        reply.show(state)
        if flush:
            await reply.flush()


# --- whatever happens on the way ------------------------------------------------------------------
contents = st.text("ab c*`é漢💥", min_size=1, max_size=8).map(lambda text: f"<{text}>")
states = st.lists(contents, min_size=1, max_size=4)
faults = st.sampled_from(
    ["drop a send", "lose the answer to a send", "drop an edit", "lose the answer to an edit",
     "no more edits", "drop a deletion", "lose the answer to a deletion"]
)  # fmt: skip


def order(server: LoopbackDiscord, fault: str) -> None:
    match fault:
        case "no more edits":
            server.faults.fail("PATCH", ONE_MESSAGE, status=400, code=TOO_MANY_OLD_EDITS)
        case "drop a send" | "lose the answer to a send":
            server.faults.drop("POST", MESSAGES, "before" if "drop" in fault else "after")
        case "drop an edit" | "lose the answer to an edit":
            server.faults.drop("PATCH", ONE_MESSAGE, "before" if "drop" in fault else "after")
        case _:
            server.faults.drop("DELETE", ONE_MESSAGE, "before" if "drop" in fault else "after")


@settings(max_examples=40)
@given(
    st.lists(states, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4), states,
    st.lists(faults, max_size=3),
)  # fmt: skip
def test_what_is_wanted_last_stands_there_once_and_in_order(
    shared: tuple[asyncio.Runner, Post],
    before: list[list[str]],
    flushed: list[bool],
    last: list[str],
    troubles: list[str],
) -> None:
    async def example(post: Post) -> None:
        channel, sent = post.channel(), Sent()
        for trouble in troubles:
            order(post.server, trouble)
        reply = post.outbox.reply(
            channel, f"n{channel:x}", on_sent=sent.ids.append, on_gone=sent.gone
        )
        await told(reply, before, flushed)
        reply.finish(last)
        await reply.over()
        assert reply.failure is None
        assert post.shown(channel) == last
        assert sent.ids == reply.messages == post.ids(channel)

    run(shared, example)


@settings(max_examples=25)
@given(states, states, st.integers(0, 4), st.booleans())
def test_the_next_bot_goes_on_in_the_same_messages(
    shared: tuple[asyncio.Runner, Post],
    shown: list[str],
    last: list[str],
    remembered: int,
    said_more: bool,
) -> None:
    """The bot before it may have sent more than it could write down: the nonce tells."""

    async def example(post: Post) -> None:
        channel, first = post.channel(), Sent()
        nonce = f"n{channel:x}"
        reply = post.outbox.reply(channel, nonce, on_sent=first.ids.append)
        reply.show(shown)
        await reply.flush()
        await post.outbox.drain(WITHIN)
        known = first.ids[:remembered]
        more = [*last, *(shown[len(last) :] if said_more else ())]
        end = more if len(more) >= len(shown) else [*more, *shown[len(more) :]]
        second = Outbox(post.client).reply(channel, nonce, sent=known)
        second.finish(end)
        await second.over()
        assert post.shown(channel) == end
        assert post.ids(channel)[: len(first.ids)] == first.ids

    run(shared, example)


# --- pace -----------------------------------------------------------------------------------------
def test_states_that_follow_each_other_at_once_cost_one_request(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        channel, before = post.channel(), len(post.server.exchanges)
        reply = post.outbox.reply(channel, "pace")
        for number in range(50):
            reply.show([f"state {number}"])
        reply.finish(["the end"])
        await reply.over()
        assert post.shown(channel) == ["the end"]
        assert len(post.server.exchanges) - before == 1

    run(shared, example)


def test_what_already_stands_there_is_not_sent_again(shared: tuple[asyncio.Runner, Post]) -> None:
    async def example(post: Post) -> None:
        reply = post.outbox.reply(post.channel(), "same")
        reply.show(["one", "two"])
        await reply.flush()
        before = len(post.server.exchanges)
        reply.finish(["one", "two"])
        await reply.over()
        assert len(post.server.exchanges) == before

    run(shared, example)


def test_the_first_word_about_the_end_counts(shared: tuple[asyncio.Runner, Post]) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        reply = post.outbox.reply(channel, "twice")
        reply.finish(["the end"])
        reply.finish(["another end"])
        await reply.over()
        assert post.shown(channel) == ["the end"]

    run(shared, example)


# --- order ----------------------------------------------------------------------------------------
def test_replies_reach_a_channel_in_the_order_in_which_they_were_begun(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        channel, other = post.channel(), post.channel()
        replies = [post.outbox.reply(channel, f"o{n}") for n in range(3)]
        for number in (2, 1):
            replies[number].finish([f"reply {number}", "and more"])
        elsewhere = post.outbox.post(other, ["not held up"], "elsewhere")
        await elsewhere.over()
        assert post.shown(channel) == []
        replies[0].finish(["reply 0"])
        await replies[2].over()
        assert post.shown(channel) == ["reply 0", "reply 1", "and more", "reply 2", "and more"]

    run(shared, example)


def test_a_refused_reply_lets_the_next_one_through(shared: tuple[asyncio.Runner, Post]) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        post.server.faults.fail("POST", MESSAGES, status=403, code=50013)
        first = post.outbox.post(channel, ["refused"], "a")
        second = post.outbox.post(channel, ["let through"], "b")
        await second.over()
        assert first.failure is not None
        assert "403 50013" in first.failure
        assert post.shown(channel) == ["let through"]

    run(shared, example)


def test_an_aside_stands_below_what_a_running_reply_shows_so_far(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        reply = post.outbox.reply(channel, "r")
        reply.show(["so far"])
        aside = post.outbox.aside(channel, ["by the way"], "a")
        await aside.over()
        assert post.shown(channel) == ["so far", "by the way"]
        reply.finish(["so far, and the end"])
        await reply.over()
        assert post.shown(channel) == ["so far, and the end", "by the way"]

    run(shared, example)


def test_nothing_goes_to_a_thread_that_is_still_being_made(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        made: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        post.outbox.hold(channel, made)
        reply = post.outbox.post(channel, ["at last"], "held")
        await post.outbox.post(post.channel(), ["elsewhere"], "free").over()
        assert post.shown(channel) == []
        made.set_result(None)
        await reply.over()
        assert post.shown(channel) == ["at last"]

    run(shared, example)


# --- what people and Discord do to it -------------------------------------------------------------
def test_a_message_that_somebody_deleted_is_let_be(shared: tuple[asyncio.Runner, Post]) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        reply = post.outbox.reply(channel, "deleted")
        reply.show(["one", "two"])
        await reply.flush()
        await post.server.delete(str(channel), str(reply.messages[0]))
        reply.finish(["one, changed", "two, changed"])
        await reply.over()
        assert reply.failure is None
        assert post.shown(channel) == ["two, changed"]

    run(shared, example)


@pytest.mark.parametrize("started", [False, True])
def test_an_archived_thread_is_opened_again(
    shared: tuple[asyncio.Runner, Post], started: bool
) -> None:
    async def example(post: Post) -> None:
        thread = await post.thread()
        reply = post.outbox.reply(thread, f"archived{started}")
        if started:
            reply.show(["so far"])
            await reply.flush()
        await post.server.archive(str(thread))
        reply.finish(["the end"])
        await reply.over()
        assert reply.failure is None
        assert post.shown(thread) == ["the end"]
        assert not post.server.channel(str(thread))["thread_metadata"]["archived"]

    run(shared, example)


def test_no_refusal_is_taken_for_another(shared: tuple[asyncio.Runner, Post]) -> None:
    """Only an archived thread is opened again."""

    async def example(post: Post) -> None:
        before = post.calls("PATCH")
        post.server.faults.fail("POST", MESSAGES, status=403, code=50013)
        await post.outbox.post(post.channel(), ["x"], "refused").over()
        assert post.calls("PATCH") == before

    run(shared, example)


def test_a_reply_answers_the_message_it_names_in_its_first_part_only(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        asked = await post.server.say(str(channel), "a question")
        reply = post.outbox.reply(channel, "ref", reference=int(asked["id"]))
        reply.finish(["one", "two"])
        await reply.over()
        references = [m.get("message_reference") for m in post.mine(channel)]
        assert [r and r["message_id"] for r in references] == [asked["id"], None]

    run(shared, example)


# --- the end of the bot ---------------------------------------------------------------------------
def test_a_bot_that_goes_brings_what_is_final_and_leaves_the_rest(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        finished, running_on = post.channel(), post.channel()
        post.server.faults.drop("POST", MESSAGES)
        last = post.outbox.post(finished, ["last words"], "f")
        reply = post.outbox.reply(running_on, "r")
        reply.show(["not final"])
        await post.outbox.drain(WITHIN)
        assert last.settled.done()
        assert post.shown(finished) == ["last words"]
        assert post.shown(running_on) == []

    run(shared, example)


def test_small_signs_that_discord_refuses_are_no_fault(
    shared: tuple[asyncio.Runner, Post],
) -> None:
    async def example(post: Post) -> None:
        channel = post.channel()
        asked = int((await post.server.say(str(channel), "hello"))["id"])
        await post.outbox.react(channel, asked, "⏳")
        await post.outbox.react(channel, asked + 1, "⏳")
        await post.outbox.unreact(channel, asked, "⏳")
        await post.outbox.unreact(channel, asked, "⏳")
        await post.outbox.typing(1)

    run(shared, example)
