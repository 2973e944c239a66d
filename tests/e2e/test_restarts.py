"""The bot goes and comes back: every turn ends once, and every session goes on."""

import asyncio
import contextlib
import fcntl
import os
import select
import signal
import struct
import termios
from pathlib import Path

import psutil
import pytest

from bridge.rehearsal.model import Text
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

END = [signal.SIGTERM, signal.SIGKILL]
TOOL = "RUN: touch {0}; until [ -e {0}-go ]; do sleep 0.05; done; echo ran >> {0}-ran"
"""A tool call that goes on until the test lets it end, and that leaves a trace of each run."""


async def idle(rig: Rig, thread: str) -> None:
    """Wait until nothing of a thread is under way any more, as far as the disk knows."""

    def quiet() -> bool:
        record = rig.record(thread)
        return bool(record) and not any(record.get(key) for key in ("turn", "queue", "unsent"))

    await rig.eventually(quiet, what="nothing is under way")


async def over(rig: Rig, thread: str, message: str) -> None:
    """Wait until the turn of a message is over, and its last words are on the way."""

    def unsent() -> bool:
        turns = rig.record(thread).get("unsent", ())
        return any(turn["item"]["message"] == int(message) for turn in turns)

    await rig.eventually(unsent, what="the turn is over")


async def crash(rig: Rig) -> None:
    """The machine goes down: the bot and everything that it started end at once."""
    await rig.stop(signal.SIGKILL)
    for process in rig.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    await rig.eventually(lambda: not rig.processes(), what="all processes are gone")


# --- between turns -----------------------------------------------------------------------------
@pytest.mark.parametrize("how", END)
async def test_a_session_goes_on_after_a_restart_in_the_process_that_it_has(
    rig: Rig, how: signal.Signals
) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await rig.restart(how)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert len(rig.starts.all()) == 1
    assert rig.shown(thread).count("Echo #1") == 1


async def test_a_session_goes_on_after_the_machine_was_down(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await crash(rig)
    await rig.start()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    first, second = rig.starts.all()
    assert second.resumed == second.sid == first.sid


# --- in a turn ---------------------------------------------------------------------------------
@pytest.mark.settings(BRIDGE_MAX_PROCESSES="8")
@pytest.mark.parametrize("how", END)
async def test_every_turn_under_way_goes_on_after_a_restart_and_ends_once(
    rig: Rig, how: signal.Signals
) -> None:
    async def before(text: str) -> str:
        thread = await rig.open(text)
        await rig.settled(thread, 1)
        return thread

    first_tool = TOOL.format(rig.work / "first")
    later_tool = TOOL.format(rig.work / "later")
    later, queue = await asyncio.gather(before("alpha one"), before("alpha two"))
    await rig.say(later, later_tool)
    await rig.say(queue, "SLOW 5 first")
    for word in ("second", "third", "fourth"):
        await rig.say(queue, word)
    text, tool = await asyncio.gather(rig.open("SLOW 5 text"), rig.open(first_tool))
    for flag in ("first", "later"):
        await rig.eventually((rig.work / flag).exists, what="the tool runs")
    await rig.answer(text, "working")
    await rig.answer(queue, "working")
    await rig.eventually(
        lambda: len(rig.record(queue).get("queue", ())) == 3, what="the queue is kept"
    )
    shown = {t: [m["id"] for m in rig.discord.messages(t)] for t in (later, text, tool)}
    starts = rig.starts.all()

    await rig.stop(how)
    await rig.say(queue, "fifth")
    for flag in ("first-go", "later-go"):
        (rig.work / flag).touch()
    await rig.start()

    await rig.settled(queue, 6)
    for thread, footers in ((later, 2), (text, 1), (tool, 1)):
        await rig.settled(thread, footers)
        assert rig.footers(thread) == footers
    for thread, ids in shown.items():
        assert [m["id"] for m in rig.discord.messages(thread)][: len(ids)] == ids
    assert rig.shown(text).count("END-OF-SLOW SLOW 5 text") == 1
    for thread, flag in ((later, "later"), (tool, "first")):
        assert rig.shown(thread).count("Tool said") == 1
        assert (rig.work / f"{flag}-ran").read_text() == "ran\n"
    order = ["second", "third", "fourth", "fifth"]
    assert [p for p in rig.prompts() if p in order] == order
    assert len(rig.prompts()) == len(set(rig.prompts()))
    assert rig.starts.all() == starts
    for thread in (later, text, tool, queue):
        await idle(rig, thread)


async def test_a_turn_outlives_any_number_of_restarts(rig: Rig) -> None:
    thread = await rig.open("SLOW 4 alpha")
    await rig.asked("SLOW 4 alpha")
    for _ in range(3):
        await rig.restart(signal.SIGKILL)
    shown = await rig.settled(thread, 1)
    assert shown.count("END-OF-SLOW") == 1
    assert rig.prompts() == ["SLOW 4 alpha"]
    assert len(rig.starts.all()) == 1


@pytest.mark.parametrize("moment", ["the CLI starts", "the model is asked"])
async def test_a_bot_killed_while_a_turn_begins_has_it_answered_once(rig: Rig, moment: str) -> None:
    await rig.discord.say(rig.discord.general, "SLOW 1 alpha")
    if moment == "the CLI starts":
        await rig.eventually(rig.starts.all, what="the CLI starts")
    else:
        await rig.asked("SLOW 1 alpha")
    await rig.restart(signal.SIGKILL)
    await rig.until(rig.discord.threads, what="a thread opens")
    (thread,) = [thread["id"] for thread in rig.discord.threads()]
    shown = await rig.settled(thread, 1)
    assert shown.count("END-OF-SLOW") == 1
    assert rig.prompts() == ["SLOW 1 alpha"]
    assert len(rig.starts.all()) == 1


async def test_a_bot_killed_while_it_writes_a_prompt_has_it_answered_once(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    (cli,) = rig.clis()
    cli.suspend()  # so that the pipe fills up
    rig.model.script("beta two", Text("beta was read"))
    rig.model.script("gamma three", Text("gamma was read"))
    paste = "漢".encode() * 400_000
    await rig.say(thread, "beta two", files={"message.txt": paste})
    (fifo,) = (rig.state / "run").glob("*/in")
    await rig.eventually(lambda: is_full(fifo), what="the pipe is full")
    await rig.stop(signal.SIGKILL)
    cli.resume()
    await rig.start()
    await rig.settled(thread, 2)
    assert rig.shown(thread).count("beta was read") == 1
    assert [prompt[:8] for prompt in rig.prompts()] == ["alpha on", "beta two"]
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma was read")
    assert [prompt[:8] for prompt in rig.model.requests[-1].prompts] == [
        "alpha on",
        "beta two",
        "gamma th",
    ]


def is_full(fifo: Path) -> bool:
    """Whether a pipe holds so much that the bot has to wait before it can write more."""
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        (held,) = struct.unpack("i", fcntl.ioctl(end, termios.FIONREAD, bytes(4)))
        return held > fcntl.fcntl(end, fcntl.F_GETPIPE_SZ) - select.PIPE_BUF
    finally:
        os.close(end)


# --- the last words ----------------------------------------------------------------------------
@pytest.mark.parametrize("commit", ["refused", "shown"])
async def test_an_answer_that_discord_did_not_confirm_is_shown_once_after_a_restart(
    rig: Rig, commit: str
) -> None:
    """The turn is over, its result is known to nobody but the dying bot."""
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    messages = rf".*/channels/{thread}/messages"
    if commit == "shown":
        rig.discord.faults.drop("POST", messages, when="after")
    rig.discord.faults.fail("POST", messages, status=503, times=1000)
    asked = await rig.say(thread, "beta two")
    await over(rig, thread, asked["id"])
    await rig.stop(signal.SIGKILL)
    rig.discord.faults.clear()
    await rig.start()
    shown = await rig.settled(thread, 2)
    assert shown.count("Echo #2: beta two | saw: alpha one") == 1
    assert rig.footers(thread) == 2
    assert rig.prompts().count("beta two") == 1
    await idle(rig, thread)


async def test_answers_that_wait_for_discord_are_whole_after_a_restart_whatever_came_next(
    rig: Rig,
) -> None:
    """`/new` and the turn after it leave the words of the turns before as they were."""
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    rig.discord.faults.fail("POST", rf".*/channels/{thread}/messages", status=503, times=1000)
    for text in ("beta two", "gamma three"):
        asked = await rig.say(thread, text)
        await over(rig, thread, asked["id"])
        await rig.command(thread, "new")
    await rig.stop(signal.SIGKILL)
    rig.discord.faults.clear()
    await rig.start()
    shown = await rig.settled(thread, 3)
    answers = ["Echo #1: alpha one", "Echo #2: beta two", "Echo #1: gamma three"]
    places = [shown.find(answer) for answer in answers]
    assert -1 not in places
    assert places == sorted(places)
    await idle(rig, thread)


# --- the thread itself -------------------------------------------------------------------------
@pytest.mark.parametrize("commit", ["refused", "made"])
async def test_a_thread_that_was_being_made_is_there_after_a_restart_with_its_answer_once(
    rig: Rig, commit: str
) -> None:
    making = r".*/messages/\d+/threads"
    if commit == "made":
        rig.discord.faults.drop("POST", making, when="after", times=2)
    rig.discord.faults.fail("POST", making, status=503, times=1000)
    ended = await rig.discord.say(rig.discord.general, "alpha one")
    running = await rig.discord.say(rig.discord.general, "SLOW 4 beta")
    await over(rig, ended["id"], ended["id"])
    await rig.asked("SLOW 4 beta")
    await rig.stop(signal.SIGKILL)
    rig.discord.faults.clear()
    await rig.start()
    for message, answer in ((ended, "Echo #1: alpha one"), (running, "END-OF-SLOW")):
        shown = await rig.settled(message["id"], 1)
        assert shown.count(answer) == 1
        await idle(rig, message["id"])
    assert sorted(rig.prompts()) == ["SLOW 4 beta", "alpha one"]
    assert len(rig.discord.threads()) == 2
    assert len(rig.starts.all()) == 2


async def test_the_first_turn_of_a_forum_post_goes_on_after_a_restart(rig: Rig) -> None:
    forum = rig.discord.add_channel("questions", kind=15)
    rig.settings["BRIDGE_CHANNELS"] = f"{rig.discord.general},{forum['id']}"
    await rig.restart()
    post = await rig.discord.create_thread(forum["id"], "SLOW 3 alpha")
    await rig.answer(post["id"], "working")
    await rig.restart(signal.SIGKILL)
    shown = await rig.settled(post["id"], 1)
    assert shown.count("END-OF-SLOW") == 1
    assert rig.prompts() == ["SLOW 3 alpha"]
    assert "could not open a thread" not in rig.shown(post["id"])


# --- the process went, too ---------------------------------------------------------------------
async def test_a_turn_cut_by_a_crash_of_the_machine_says_so_and_the_session_goes_on(
    rig: Rig,
) -> None:
    """Whether it was the first turn of the session or a later one: what was done is not redone."""
    later = await rig.open("alpha one")
    await rig.settled(later, 1)
    await rig.say(later, TOOL.format(rig.work / "later"))
    first = await rig.open(TOOL.format(rig.work / "first"))
    for flag in ("first", "later"):
        await rig.eventually((rig.work / flag).exists, what="the tool runs")
    await crash(rig)
    await rig.start()
    for thread in (first, later):
        await rig.answer(thread, "stopped in the middle of this turn")
        await rig.say(thread, "beta two")
    await rig.answer(later, "saw: alpha one / RUN:")
    await rig.answer(first, "Echo #2: beta two | saw: RUN:")
    assert all(start.resumed == start.sid for start in rig.starts.all()[2:])


async def test_a_turn_of_which_nothing_was_done_is_asked_again_after_a_crash(rig: Rig) -> None:
    later = await rig.open("alpha one")
    await rig.settled(later, 1)
    await rig.say(later, "SLOW 3 beta")
    first = await rig.open("SLOW 3 gamma")
    await rig.asked("SLOW 3 beta")
    await rig.asked("SLOW 3 gamma")
    await crash(rig)
    await rig.start()
    for thread, footers in ((first, 1), (later, 2)):
        shown = await rig.settled(thread, footers)
        assert shown.count("END-OF-SLOW") == 1
    await rig.say(later, "delta")
    await rig.answer(later, "Echo #")
    await rig.answer(later, "delta | saw: alpha one")


@pytest.mark.settings(BRIDGE_ORPHAN_TIMEOUT="4")
@pytest.mark.parametrize("back", ["while it ends", "after its end"])
async def test_a_turn_that_ended_while_the_bot_stayed_away_is_shown_once(
    rig: Rig, back: str
) -> None:
    """The shim gave up waiting for the bot, and let the turn be the last of its process.

    The turn ends between one orphan timeout, and two: by then it would be cut.
    """
    thread = await rig.open("SLOW 6 alpha")
    await rig.answer(thread, "working")
    await rig.stop(signal.SIGKILL)
    if back == "while it ends":
        await rig.eventually(lambda: list((rig.state / "run").glob("*/closing")), what="it closes")
    else:
        await rig.eventually(lambda: not rig.processes(), what="the process ends")
    await rig.start()
    shown = await rig.settled(thread, 1)
    assert shown.count("END-OF-SLOW") == 1
    assert rig.prompts() == ["SLOW 6 alpha"]
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #2: beta two | saw: SLOW 6 alpha")
    assert rig.starts.all()[-1].resumed == rig.starts.all()[0].sid
