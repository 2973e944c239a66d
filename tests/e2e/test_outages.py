"""Discord is away for longer than anybody waits: what is to be said there still arrives.

Half an hour passes in half a second here: the bot runs in an event loop whose clock is fast. It
is logged in but not connected, for the gateway's own clocks are not those of the loop.
"""

import asyncio
import selectors
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from bridge import address
from bridge.bot import Bridge
from bridge.config import child_environment, find_claude, load
from bridge.rehearsal.discord.faults import Faults
from bridge.rehearsal.discord.permissions import Permission
from state import Queued, Record, Store
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

THREAD = ("POST", r"/channels/\d+/messages/\d+/threads")
LOOK = ("GET", r"/channels/\d+")
POST = ("POST", r"/channels/\d+/messages")
EDIT = ("PATCH", r"/channels/\d+/messages/\d+")
DELETE = ("DELETE", r"/channels/\d+/messages/\d+")
UNARCHIVE = ("PATCH", r"/channels/\d+")

MANY = 1_000_000
OUTAGES: dict[str, Callable[[Faults, str, str], None]] = {
    "server error": lambda faults, method, path: faults.fail(method, path, status=503, times=MANY),
    "no connection": lambda faults, method, path: faults.drop(method, path, times=MANY),
    "rate limit": lambda faults, method, path: faults.fail(
        method, path, status=429, retry_after=0.01, times=MANY
    ),
}


class HastySelector(selectors.EpollSelector):
    """Waits for a fraction of the time that it is given."""

    speed = 1

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout and timeout / self.speed)


class HastyLoop(asyncio.SelectorEventLoop):
    """An event loop in which time can run faster."""

    def __init__(self) -> None:
        self._hasty = HastySelector()
        self._since = self._then = super().time()
        super().__init__(self._hasty)

    def time(self) -> float:
        return self._then + (super().time() - self._since) * self._hasty.speed

    def run_at(self, speed: int) -> None:
        self._then, self._since, self._hasty.speed = self.time(), super().time(), speed


async def time_flies(seconds: float) -> None:
    """Let this time pass for all that runs in this loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, HastyLoop)
    loop.run_at(3000)
    await asyncio.sleep(seconds)
    loop.run_at(1)


def hastily(test: Callable[[Rig], Awaitable[None]]) -> None:
    """Run a test on a stage of its own, in a loop in which time can fly."""

    async def run() -> None:
        async with Rig() as rig:
            await test(rig)
            await rig.check()

    with asyncio.Runner(loop_factory=HastyLoop) as runner:
        runner.run(run())


@asynccontextmanager
async def bot_without_gateway(
    rig: Rig, before: Callable[[Store], None] = lambda _: None
) -> AsyncGenerator[Bridge]:
    """The bot in this process, which goes on with what `before` leaves in its state."""
    environ = rig.environment()
    config = load(environ)
    token = config.token.get_secret_value()
    async with await Store.open(config.state_dir) as store:
        before(store)
        await address.use(str(config.discord_url), token)
        claude = find_claude(config, environ)
        async with Bridge(config, child_environment(config, environ), claude, store) as bridge:
            await bridge.login(token)
            yield bridge


@pytest.mark.parametrize("outage", OUTAGES)
def test_a_reply_that_goes_on_arrives_after_an_outage_of_any_length(outage: str) -> None:
    """A part of it as well as its end; replies behind it wait for their turn."""

    async def check(rig: Rig) -> None:
        d = rig.discord
        async with bot_without_gateway(rig) as bridge:
            for number, (method, path) in enumerate((POST, EDIT, DELETE, UNARCHIVE)):
                thread: str = (await d.create_thread(d.general, f"{method} {number}"))["id"]
                reply = bridge.outbox.reply(int(thread), f"reply-{number}")
                if (method, path) != POST:
                    reply.show(["one", "two"])
                    await rig.answer(thread, "one\ntwo")
                if (method, path) == UNARCHIVE:
                    await d.archive(thread)
                OUTAGES[outage](d.faults, method, path)
                reply.show(["one and more", "two"])
                if (method, path) == DELETE:
                    reply.finish(["one and more"])
                behind = bridge.outbox.post(int(thread), ["behind it"], f"behind-{number}")
                await time_flies(1800)
                assert not reply.settled.done()
                assert not behind.settled.done()
                d.faults.clear()
                await time_flies(60)
                reply.finish(["one and more", "the end"])
                await asyncio.wait([behind.settled], timeout=20)
                last = "" if (method, path) == DELETE else "the end\n"
                assert rig.shown(thread) == f"one and more\n{last}behind it"
                assert (reply.failure, behind.failure) == (None, None)

    hastily(check)


@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize(("method", "path"), [LOOK, THREAD], ids=["look for it", "make it"])
def test_a_thread_is_made_after_an_outage_of_any_length_and_has_the_answer(
    cli: None, method: str, path: str, outage: str
) -> None:
    async def check(rig: Rig) -> None:
        d = rig.discord
        message = await d.say(d.general, "alpha")
        thread = message["id"]

        def begun(store: Store) -> None:
            item = Queued(
                message=int(thread), author=1, author_name="A", content="alpha", at=time.time()
            )
            record = Record(
                cwd=str(rig.work),
                guild=int(d.guild_id),
                parent=int(d.general),
                owner=1,
                title="alpha",
                created=item.at,
                last_used=item.at,
                seen=(item.message,),
                queue=(item,),
            )
            store.put(item.message, record)

        OUTAGES[outage](d.faults, method, path)
        async with bot_without_gateway(rig, begun):
            await rig.eventually(lambda: rig.record(thread).get("unsent"), what="its turn is over")
            await time_flies(1800)
            assert d.threads() == []
            d.faults.clear()
            await time_flies(60)
            await rig.answer(thread, "Echo #1: alpha")
            await rig.settled(thread, 1)

    hastily(check)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_an_answer_that_an_outage_holds_back_survives_the_bot(
    rig: Rig, number: signal.Signals
) -> None:
    thread = await rig.open("SLOW 1 alpha")
    await rig.answer(thread, "working")
    rig.discord.faults.fail(*EDIT, status=503, times=MANY)
    await rig.eventually(lambda: rig.record(thread).get("unsent"), what="its turn is over")
    await rig.restart(number)
    rig.discord.faults.clear()
    shown = await rig.settled(thread, 1)
    assert shown.count("END-OF-SLOW SLOW 1 alpha") == 1


async def test_an_answer_that_the_thread_refuses_after_an_outage_is_announced(rig: Rig) -> None:
    """Somebody has locked it before the next bot could show the answer."""
    d = rig.discord
    d.overwrite(d.general, d.bot["id"], deny=Permission.MANAGE_THREADS)
    thread = await rig.open("SLOW 1 alpha")
    await rig.answer(thread, "working")
    d.faults.fail(*EDIT, status=503, times=MANY)
    await rig.eventually(lambda: rig.record(thread).get("unsent"), what="its turn is over")
    await rig.stop(signal.SIGKILL)
    await d.archive(thread, locked=True)
    d.faults.clear()
    await rig.start()
    notice = f"My answer in <#{thread}> could not be shown"
    await rig.until(lambda: notice in d.shown(d.general), what=lambda: rig.log_tail(12))
    await rig.eventually(lambda: not rig.record(thread).get("unsent"), what="it is told once")
    await rig.restart()
    await d.archive(thread, locked=False)
    await rig.say(thread, "beta")
    await rig.answer(thread, "Echo #2: beta | saw: SLOW 1 alpha")
    assert d.shown(d.general).count(notice) == 1
