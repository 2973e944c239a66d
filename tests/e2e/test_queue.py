"""Messages that come while Claude works: none is lost, none runs twice, and each can be undone."""

import asyncio
import json
from typing import Any

import pytest

from tests.e2e.programs import Gate
from tests.e2e.rig import Message, Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HOURGLASS = "⏳"


def hourglasses(rig: Rig, thread: str) -> list[str]:
    """The words of the messages in a thread that are marked as waiting."""
    return [
        message["content"]
        for message in rig.discord.messages(thread)
        if any(r["emoji"]["name"] == HOURGLASS for r in message.get("reactions", ()))
    ]


async def busy_thread(rig: Rig, seconds: float = 30) -> str:
    """A thread in which a turn runs for that long, unless it is stopped."""
    thread = await rig.open(f"SLOW {seconds:g} busy")
    await rig.asked(f"SLOW {seconds:g} busy")
    return thread


async def queued(rig: Rig, thread: str, *texts: str) -> list[Message]:
    """Messages written while a turn runs, each marked as waiting."""
    sent = [await rig.say(thread, text) for text in texts]
    await rig.until(
        lambda: set(texts) <= set(hourglasses(rig, thread)), what=f"{texts} are marked as waiting"
    )
    return sent


async def test_messages_at_once_are_answered_in_order_by_one_process(rig: Rig) -> None:
    """Every event comes twice (B22, B26, B27)."""
    rig.discord.faults.duplicate = True
    thread = await rig.open("begin")
    texts = [f"number {n}" for n in range(10)]
    for text in texts:
        await rig.say(thread, text)
    shown = await rig.settled(thread, 11, within=60)
    assert rig.prompts() == ["begin", *texts]
    for n, text in enumerate(texts, 2):
        before = " / ".join(["begin", *texts][: n - 1])
        assert shown.count(f"Echo #{n}: {text} | saw: {before}\n") == 1
    assert len(rig.starts.all()) == 1
    await rig.until(lambda: not hourglasses(rig, thread), what="no message is marked any more")


@pytest.mark.settings("stopped")
async def test_a_message_that_comes_while_the_process_starts_is_answered(rig: Rig) -> None:
    gate = Gate(rig)
    await rig.start()
    thread = await rig.open("first")
    await gate.reached()
    await queued(rig, thread, "second")
    gate.open()
    await rig.answer(thread, "second | saw: first")
    assert rig.prompts() == ["first", "second"]
    assert len(rig.starts.all()) == 1


async def test_a_waiting_message_is_marked_until_its_turn(rig: Rig) -> None:
    thread = await busy_thread(rig, 1.5)
    await queued(rig, thread, "SLOW 1 next", "last")
    await rig.asked("SLOW 1 next")
    await rig.until(lambda: hourglasses(rig, thread) == ["last"], what="the second one runs")
    await rig.settled(thread, 3)
    await rig.until(lambda: hourglasses(rig, thread) == [], what="none is marked")


@pytest.mark.settings(BRIDGE_QUEUE_MODE="interrupt")
async def test_a_message_interrupts_what_runs_where_that_was_chosen(rig: Rig) -> None:
    thread = await busy_thread(rig)
    await rig.say(thread, "alpha one")
    await rig.answer(thread, "Echo #2: alpha one")
    shown = await rig.settled(thread, 1)
    assert "a newer message" in shown
    assert "END-OF-SLOW" not in shown
    assert len(rig.starts.all()) == 1


@pytest.mark.settings(BRIDGE_MAX_PROCESSES="3")
async def test_more_threads_than_places_are_all_answered_within_the_limit(rig: Rig) -> None:
    texts = [f"thread {n}" for n in range(10)]
    sent = [await rig.discord.say(rig.discord.general, text) for text in texts]
    for message, text in zip(sent, texts, strict=True):
        shown = await rig.answer(message["id"], f"Echo #1: {text} | saw:", within=90)
        assert shown.count("Echo") == 1
    assert sorted(rig.prompts()) == sorted(texts)
    assert len(rig.starts.all()) == 10
    assert rig.starts.most_at_once == 3


@pytest.mark.settings(BRIDGE_MAX_PROCESSES="1")
async def test_waiting_for_a_free_place_is_shown_until_there_is_one(rig: Rig) -> None:
    busy = await busy_thread(rig, 30)
    other = await rig.open("patient")
    await rig.answer(other, "Waiting for a free place")
    await rig.command(busy, "stop")
    shown = await rig.answer(other, "Echo #1: patient")
    assert "Waiting" not in shown
    await rig.say(busy, "again")
    await rig.answer(busy, "again | saw: SLOW 30 busy")


# --- turns that fail --------------------------------------------------------------------------


@pytest.mark.settings(CLAUDE_CODE_MAX_RETRIES="1", BRIDGE_MAX_PROCESSES="10")
async def test_the_queue_goes_on_after_a_turn_that_fails(rig: Rig) -> None:
    kinds = ("401", "429", "500", "overloaded-midstream", "invalid")

    async def fails(kind: str) -> None:
        thread = await rig.open("SLOW 0.5 busy")
        await rig.say(thread, f"ERROR {kind}")
        await rig.say(thread, f"after {kind}")
        shown = await rig.answer(thread, f": after {kind} | saw:", within=60)
        assert shown.count("⚠️") == 1, shown

    async with asyncio.TaskGroup() as group:
        for kind in kinds:
            group.create_task(fails(kind))


async def test_the_queue_goes_on_after_a_fault_of_the_bot_itself(rig: Rig) -> None:
    rig.tolerated.append("embedded null byte")
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await rig.kill_clis()
    await rig.stop()
    # Nobody can choose such a model, and no process can be started with it.
    choose(rig, thread, "a\0b")
    await rig.start()
    for text in ("one", "two"):
        await rig.say(thread, text)
    told = "The bot itself failed in this turn"
    await rig.until(lambda: rig.shown(thread).count(told) == 2, what="each has its message")
    assert "embedded null byte" in rig.shown(thread)
    await rig.stop()
    choose(rig, thread, None)
    await rig.start()
    await rig.say(thread, "after")
    await rig.answer(thread, "after | saw: alpha")


def choose(rig: Rig, thread: str, model: str | None) -> None:
    """Write a thread's model into the state while no bot runs."""
    state = json.loads(rig.state_file.read_bytes())
    state["threads"][thread]["settings"] = {"model": model}
    rig.state_file.write_text(json.dumps(state))


# --- /stop --------------------------------------------------------------------------------------


@pytest.mark.settings(BRIDGE_STOP_GRACE="300")
async def test_stop_ends_the_turn_and_drops_what_waits(rig: Rig) -> None:
    """The session stays, and its process with it (B14, B30); no time of grace is waited for."""
    thread = await busy_thread(rig)
    (cli,) = rig.clis()
    await queued(rig, thread, "dropped one", "dropped two")
    said = await rig.command(thread, "stop")
    assert "Stopped" in said
    assert "2 waiting messages were dropped" in said
    await rig.answer(thread, f"stopped by {rig.discord.owner['username']}")
    await rig.until(lambda: not hourglasses(rig, thread), what="the marks are gone")
    await rig.say(thread, "go on")
    await rig.answer(thread, "go on | saw: SLOW 30 busy")
    assert "dropped" not in str(rig.prompts())
    assert rig.clis() == [cli]


async def test_stop_while_nothing_runs_says_so(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    assert await rig.command(thread, "stop") == "Nothing is running here."
    await rig.say(thread, "again")
    await rig.answer(thread, "again | saw: hello")


@pytest.mark.settings(BRIDGE_MAX_PROCESSES="1")
async def test_stop_ends_the_wait_for_a_free_place(rig: Rig) -> None:
    busy = await busy_thread(rig)
    waiting = await rig.open("no longer wanted")
    await rig.answer(waiting, "Waiting for a free place")
    assert "Stopped" in await rig.command(waiting, "stop")
    await rig.answer(waiting, "stopped by")
    await rig.command(busy, "stop")
    await rig.say(waiting, "wanted")
    shown = await rig.answer(waiting, "Echo #1: wanted | saw:")
    assert "Waiting" not in shown
    assert "no longer wanted" not in rig.prompts()


@pytest.mark.settings("stopped", BRIDGE_STOP_GRACE="0.5")
async def test_stop_while_the_process_starts_leaves_none_behind(rig: Rig) -> None:
    gate = Gate(rig)
    await rig.start()
    thread = await rig.open("no longer wanted")
    await gate.reached()
    assert "Stopped" in await rig.command(thread, "stop")
    gate.open()
    await rig.say(thread, "wanted")
    await rig.answer(thread, "Echo #1: wanted | saw:")
    assert rig.prompts() == ["wanted"]
    assert len(rig.clis()) == 1


@pytest.mark.settings(BRIDGE_STOP_GRACE="1")
async def test_stop_at_any_moment_leaves_a_thread_that_works(rig: Rig) -> None:
    """Stops race with the start of the process, the first request and the end of the turn."""
    thread = await rig.open("hello")
    for round in range(6):
        await rig.say(thread, f"SAY: round {round}")
        await rig.command(thread, "stop")
    await rig.say(thread, "SAY: the end")
    await rig.answer(thread, "the end")
    assert len(rig.clis()) == 1
    assert len(rig.transcripts()) <= 2


# --- second thoughts ----------------------------------------------------------------------------


async def change(rig: Rig, channel: str, message: Message, how: str) -> None:
    if how == "edit":
        await rig.discord.edit(channel, message["id"], "better words")
    else:
        await rig.discord.delete(channel, message["id"])


def expected(how: str) -> list[str]:
    return ["better words"] if how == "edit" else []


@pytest.mark.parametrize("how", ["edit", "delete"])
async def test_a_change_of_a_waiting_message_takes_effect(rig: Rig, how: str) -> None:
    thread = await busy_thread(rig)
    first, message = await queued(rig, thread, "first", "hasty words")
    del first
    await change(rig, thread, message, how)
    await rig.say(thread, "last")
    interaction: Any = await rig.discord.slash(thread, "status")
    assert f"{2 + len(expected(how))} waiting" in await interaction.done()
    await stop_only_the_turn(rig, thread)
    await rig.answer(thread, ": last | saw:")
    assert rig.prompts()[1:] == ["first", *expected(how), "last"]


async def stop_only_the_turn(rig: Rig, thread: str) -> None:
    """End what runs, as a crash of the CLI would."""
    del thread
    (cli,) = rig.clis()
    cli.kill()


@pytest.mark.parametrize("how", ["edit", "delete"])
@pytest.mark.settings(BRIDGE_MAX_PROCESSES="1")
async def test_a_change_of_a_first_message_that_waits_takes_effect(rig: Rig, how: str) -> None:
    """It waits for a free place; it stands in the channel, not in the thread that it opened."""
    busy = await busy_thread(rig)
    thread = await rig.open("hasty words")
    await rig.answer(thread, "Waiting for a free place")
    starter = rig.discord.world.messages(rig.discord.general)[-1]
    await change(rig, rig.discord.general, starter, how)
    await rig.command(busy, "stop")
    await rig.say(thread, "last")
    await rig.answer(thread, ": last | saw:")
    assert rig.prompts()[1:] == [*expected(how), "last"]
