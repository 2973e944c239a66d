"""A CLI that fails: the thread says how, the session is kept, and the next message is answered.

The stand-in takes the place of the CLI, for the real one does none of this when asked to.
"""

import asyncio

import pytest

from bridge.process import MAX_LINE, READ_SIZE
from tests.e2e.programs import standin
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

DEATHS = {
    "DIE 9": "it was ended by SIGKILL",
    "DIE 11": "it was ended by SIGSEGV",
    "DIE 6": "it was ended by SIGABRT",
    "DIE 15": "it was ended by SIGTERM",
    "DIE 40": "it was ended by signal 40",
    "EXIT 0": "it exited with code 0",
    "EXIT 1": "it exited with code 1",
    "EXIT 137": "it exited with code 137",
    "CALL 0": "it exited with code 0",
    "CALL 3": "it exited with code 3",
}
"""Words that end the stand-in in mid-turn, and what is said of it."""

ODDITIES = (
    "NOISE",
    "STRING",
    "TWICE",
    "COUNT 5",
    "BULK 5000000",
    "STDERR 1000000",
    f"BULK {MAX_LINE + 2 * READ_SIZE}",
)
"""Words after which the stand-in answers in an odd way, but does answer."""


async def fresh_thread(rig: Rig, name: str) -> str:
    """A thread with a first answer; returns its id."""
    thread = await rig.open(name)
    await rig.answer(thread, f"Echo: {name}")
    return thread


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="20")
async def test_every_death_in_mid_turn_is_told_and_costs_nothing_else(rig: Rig) -> None:
    """B40 and its kind; the exit code or the signal is said, and the queue goes on."""
    standin(rig)
    await rig.start()

    async def dies(words: str, reason: str) -> None:
        thread = await fresh_thread(rig, f"hello {reason}")
        session = await rig.session(thread)
        await rig.say(thread, f"{words} now")
        await rig.say(thread, "queued")
        shown = await rig.answer(thread, "Echo: queued")
        assert shown.count("Claude Code ended in mid-turn") == shown.count("⚠️") == 1, shown
        assert f"{reason}." in shown
        assert "write again" in shown
        assert await rig.session(thread) == session

    async with asyncio.TaskGroup() as group:
        for words, reason in DEATHS.items():
            group.create_task(dies(words, reason))


@pytest.mark.settings("stopped")
async def test_the_last_words_on_stderr_are_shown(rig: Rig) -> None:
    """Only their end, and with its cause: B07, B35."""
    standin(rig)
    await rig.start()
    thread = await fresh_thread(rig, "hello")
    await rig.say(thread, "STDERR 1000000 LAMENT 7")
    shown = await rig.answer(thread, "it exited with code 7")
    assert "the last words" in shown
    assert max(len(m["content"]) for m in rig.discord.messages(thread)) <= 2000
    await rig.say(thread, "again")
    await rig.answer(thread, "Echo: again")


@pytest.mark.settings("stopped")
async def test_a_first_turn_that_dies_leaves_no_session_to_resume(rig: Rig) -> None:
    """B03, B04."""
    standin(rig)
    await rig.start()
    thread = await rig.open("DIE 9")
    await rig.answer(thread, "it was ended by SIGKILL")
    assert rig.record(thread).get("sid") is None
    await rig.say(thread, "again")
    await rig.answer(thread, "Echo: again")


@pytest.mark.settings("stopped", BRIDGE_MAX_PROCESSES="20")
async def test_whatever_the_cli_prints_the_answer_is_shown_once(rig: Rig) -> None:
    """B33, B35, B61, B62: large lines, lines of no sense, floods of stderr."""
    standin(rig)
    await rig.start()

    async def odd(words: str) -> None:
        thread = await fresh_thread(rig, f"hello {words.lower()}")
        await rig.say(thread, f"{words} now")
        await rig.answer(thread, f"Echo: {words} now", within=60)
        await rig.say(thread, "and on")
        shown = await rig.answer(thread, "Echo: and on")
        assert "⚠️" not in shown
        assert shown.count(f"Echo: {words} now") == 1
        # Only a line over the cap is passed over: the call that it would have ended has no end.
        assert shown.count("✅") == (words == "BULK 5000000"), shown

    async with asyncio.TaskGroup() as group:
        for words in ODDITIES:
            group.create_task(odd(words))


@pytest.mark.settings("stopped", BRIDGE_IDLE_TIMEOUT="0.5", BRIDGE_STOP_GRACE="0.3")
async def test_an_answer_is_shown_at_its_result_and_a_lingering_process_ends(rig: Rig) -> None:
    """It ignores the end of its input (B37), and the next message gets another."""
    standin(rig)
    await rig.start()
    thread = await rig.open("STAY please")
    await rig.answer(thread, "Echo: STAY please")
    await rig.eventually(lambda: not rig.processes(), what="the idle process is gone")
    await rig.say(thread, "again")
    shown = await rig.answer(thread, "Echo: again")
    assert "⚠️" not in shown


@pytest.mark.settings("stopped", BRIDGE_SILENCE_TIMEOUT="3", BRIDGE_STOP_GRACE="0.3")
async def test_a_cli_that_hears_nothing_is_ended_by_the_time_limit(rig: Rig) -> None:
    """B38: neither an interrupt nor the end of its input reaches it."""
    standin(rig)
    await rig.start()
    thread = await fresh_thread(rig, "hello")
    (deaf,) = rig.clis()
    session = await rig.session(thread)
    await rig.say(thread, "HANG")
    await rig.say(thread, "queued")
    shown = await rig.answer(thread, "Echo: queued")
    assert shown.count("gave no sign of life for 3 seconds") == 1
    assert "BRIDGE_SILENCE_TIMEOUT" in shown
    assert not deaf.is_running()
    assert await rig.session(thread) == session


@pytest.mark.settings("stopped", BRIDGE_STOP_GRACE="0.3")
async def test_a_cli_that_hears_nothing_is_stopped_all_the_same(rig: Rig) -> None:
    standin(rig)
    await rig.start()
    thread = await fresh_thread(rig, "hello")
    (deaf,) = rig.clis()
    await rig.say(thread, "HANG")
    await rig.eventually(lambda: rig.record(thread).get("turn"), what="the turn runs")
    assert "Stopped" in await rig.command(thread, "stop")
    assert not deaf.is_running()
    await rig.say(thread, "again")
    await rig.answer(thread, "Echo: again")


@pytest.mark.settings("stopped", BRIDGE_CLAUDE="/bin/true")
async def test_a_program_that_is_no_cli_ends_each_turn_with_a_message(rig: Rig) -> None:
    await rig.start()
    thread = await rig.open("hello")
    await rig.answer(thread, "it exited with code 0")
    await rig.say(thread, "again")
    await rig.eventually(lambda: rig.shown(thread).count("it exited with code 0") == 2)


async def test_a_cli_that_went_away_ends_each_turn_with_a_message(rig: Rig) -> None:
    """It was updated, say, and is not where it was."""
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    await rig.kill_clis()
    away = rig.starts.program.rename(rig.folder / "away")
    await rig.say(thread, "lost")
    shown = await rig.answer(thread, "⚠️")
    assert "cannot start" in shown
    away.rename(rig.starts.program)
    await rig.say(thread, "again")
    await rig.answer(thread, "again | saw: hello")
