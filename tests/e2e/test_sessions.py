"""Which session a thread has: what keeps it, what ends it, and where its process runs."""

import asyncio
import json
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge import history
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

FRESH = "Claude starts afresh"


async def begun(rig: Rig, text: str = "alpha one") -> tuple[str, str]:
    """A thread with one turn in it, and its session as it stands on the disk."""
    thread = await rig.open(text)
    await rig.settled(thread, 1)
    return thread, await rig.eventually(lambda: rig.record(thread).get("sid"), what="a session")


def edit_state(rig: Rig, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the threads of the state file by hand; the bot is stopped."""
    state = json.loads(rig.state_file.read_bytes())
    change(state["threads"])
    rig.state_file.write_text(json.dumps(state))


# --- sessions that are gone --------------------------------------------------------------------
def delete(transcript: Path) -> None:
    transcript.unlink()


def empty(transcript: Path) -> None:
    transcript.write_bytes(b"")


@pytest.mark.parametrize("lose", [delete, empty])
async def test_a_session_that_is_gone_costs_one_retry_and_one_notice(
    rig: Rig, lose: Callable[[Path], None]
) -> None:
    thread, old = await begun(rig)
    await rig.kill_clis()
    lose(rig.transcripts()[0])
    await rig.say(thread, "beta two")
    shown = await rig.settled(thread, 2)
    assert "Echo #1: beta two | saw: " in shown
    await rig.say(thread, "gamma three")
    shown = await rig.answer(thread, "gamma three | saw: beta two")
    assert shown.count(FRESH) == 1
    assert "exit" not in shown
    assert [start.resumed for start in rig.starts.all()] == [None, old, None]
    new = await rig.eventually(lambda: (s := rig.record(thread)["sid"]) != old and s)
    assert new == rig.starts.all()[-1].sid
    assert [past["reason"] for past in rig.record(thread)["lineage"]] == ["stale"]
    await rig.restart()
    await rig.say(thread, "delta four")
    shown = await rig.answer(thread, "delta four | saw: beta two / gamma three")
    assert shown.count(FRESH) == 1


async def test_a_session_id_that_never_was_costs_one_retry_and_one_notice(rig: Rig) -> None:
    thread, _ = await begun(rig)
    await rig.stop()
    rig.sweep()
    edit_state(rig, lambda threads: threads[thread].update(sid=str(uuid.uuid4()), process=None))
    await rig.start()
    await rig.say(thread, "beta two")
    shown = await rig.settled(thread, 2)
    assert shown.count(FRESH) == 1
    assert len(rig.starts.all()) == 3


@pytest.mark.parametrize("end", ["known", "unseen"])
async def test_a_session_that_goes_while_its_process_lives_is_not_missed_until_that_ends(
    rig: Rig, end: str
) -> None:
    thread, _ = await begun(rig)
    rig.transcripts()[0].unlink()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    await rig.settled(thread, 2)
    assert rig.bot is not None
    if end == "known":
        await rig.kill_clis()
    else:
        rig.bot.send_signal(signal.SIGSTOP)
        (cli,) = rig.clis()
        cli.kill()
        run = rig.state / "run"
        await rig.eventually(lambda: list(run.glob("*/exit.json")), what="the process ends")
    for path in rig.transcripts():
        path.unlink()
    await rig.say(thread, "gamma three")
    rig.bot.send_signal(signal.SIGCONT)
    shown = await rig.answer(thread, "Echo #1: gamma three | saw: ")
    assert shown.count(FRESH) == 1


@pytest.mark.parametrize("value", ["continue", 7])
async def test_a_session_id_that_is_none_is_passed_over_and_named_in_the_log(
    rig: Rig, value: object
) -> None:
    thread, _ = await begun(rig)
    await rig.stop()
    rig.sweep()
    edit_state(rig, lambda threads: threads[thread].update(sid=value))
    await rig.start()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    assert rig.starts.all()[-1].resumed is None
    assert f"thread {thread}: sid" in rig.log.read_text()


# --- what keeps a session ----------------------------------------------------------------------
async def test_a_process_killed_before_its_first_answer_leaves_no_session(rig: Rig) -> None:
    thread = await rig.open("HANG alpha")
    await rig.asked("HANG alpha")
    await rig.kill_clis()
    await rig.answer(thread, "SIGKILL")
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    first, second = rig.starts.all()
    assert second.resumed is None
    assert second.sid != first.sid
    assert FRESH not in rig.shown(thread)


@pytest.mark.parametrize("turn", ["first", "later"])
async def test_a_process_killed_in_a_tool_call_is_followed_by_one_that_knows_of_it(
    rig: Rig, turn: str
) -> None:
    call = f"RUN: touch {rig.work / 'runs'}; sleep 600"
    if turn == "first":
        thread = await rig.open(call)
    else:
        thread, _ = await begun(rig)
        await rig.say(thread, call)
    await rig.eventually((rig.work / "runs").exists, what="the tool runs")
    # The CLI writes its transcript a moment behind; what is not in there, nobody can resume.
    await rig.eventually(
        lambda: any('"tool_use"' in path.read_text() for path in rig.transcripts()),
        what="the call is written down",
    )
    await rig.kill_clis()
    await rig.answer(thread, "SIGKILL")
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: " + "alpha one / " * (turn == "later") + "RUN:")
    first, second = rig.starts.all()
    assert second.resumed == second.sid == first.sid


@pytest.mark.settings(BRIDGE_SILENCE_TIMEOUT="4", BRIDGE_TURN_TIMEOUT="7")
async def test_no_failure_of_a_turn_costs_the_session(rig: Rig) -> None:
    thread, sid = await begun(rig)
    for prompt, words in (
        ("ERROR 401 times=1 a", "not logged in"),
        ("HANG c", "no sign of life"),
        ("SLOW 30 d", "took longer than"),
    ):
        await rig.say(thread, prompt)
        await rig.answer(thread, words)
    await rig.say(thread, "SLOW 6 e")
    await rig.asked("SLOW 6 e")
    assert "Stopped" in await rig.command(thread, "stop")
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    await rig.eventually(lambda: not rig.record(thread).get("turn"), what="it is written")
    assert rig.record(thread)["sid"] == sid
    assert {start.sid for start in rig.starts.all()} == {sid}
    assert FRESH not in rig.shown(thread)


async def test_a_first_turn_that_fails_leaves_a_session_that_goes_on(rig: Rig) -> None:
    thread = await rig.open("ERROR 401 times=1 alpha")
    await rig.answer(thread, "not logged in")
    await rig.restart()
    await rig.kill_clis()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: ")
    await rig.kill_clis()
    await rig.say(thread, "gamma three")
    shown = await rig.answer(thread, "beta two")
    await rig.answer(thread, "gamma three | saw: ")
    assert shown.count(FRESH) == 0


# --- a clean session ---------------------------------------------------------------------------
@pytest.mark.parametrize("end", [None, signal.SIGKILL])
async def test_a_clean_session_sees_nothing_of_the_one_before(
    rig: Rig, end: signal.Signals | None
) -> None:
    thread, old = await begun(rig)
    assert "clean session" in await rig.command(thread, "new")
    if end is not None:
        await rig.restart(end)
    assert rig.record(thread).get("sid") is None
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "Echo #2: gamma three | saw: beta two")
    assert rig.starts.all()[-1].resumed is None
    assert rig.starts.all()[-1].sid != old
    assert len(rig.clis()) == 1


@pytest.mark.parametrize(
    "late",
    [
        "SLOW 20 late",
        "RUN: trap '' INT TERM; sleep 20",
        "HANG late",
    ],
)
async def test_a_turn_that_ends_late_does_not_bring_back_what_was_cut_off(
    rig: Rig, late: str
) -> None:
    thread, old = await begun(rig)
    await rig.say(thread, late)
    await rig.asked(late)
    await rig.say(thread, "still waiting")
    await rig.eventually(lambda: rig.record(thread).get("queue"), what="it waits")
    assert "1 waiting message was dropped" in await rig.command(thread, "new")
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    new = await rig.eventually(lambda: rig.record(thread).get("sid"), what="a new session")
    assert new != old
    assert "still waiting" not in rig.prompts()
    await rig.restart(signal.SIGKILL)
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "Echo #2: gamma three | saw: beta two")
    assert rig.record(thread)["sid"] == new


async def test_a_clean_session_can_be_asked_for_while_the_first_one_starts(rig: Rig) -> None:
    thread = await rig.open("HANG alpha")
    await rig.eventually(rig.starts.all, what="the CLI starts")
    await rig.command(thread, "new")
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    await rig.eventually(lambda: rig.record(thread).get("sid"), what="a session")
    assert rig.record(thread)["sid"] == rig.starts.all()[-1].sid


# --- where it runs -----------------------------------------------------------------------------
async def test_a_session_stays_in_the_folder_in_which_it_began(rig: Rig) -> None:
    thread, _ = await begun(rig)
    other = rig.folder / "other"
    other.mkdir()
    rig.settings["BRIDGE_PROJECT_DIR"] = str(other)
    await rig.restart()
    await rig.kill_clis()
    await rig.say(thread, "RUN: pwd")
    await rig.answer(thread, f"Tool said: {rig.work}")
    await rig.command(thread, "new", fork=True)
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: alpha one")
    await rig.command(thread, "new")
    await rig.say(thread, "delta four")
    await rig.answer(thread, "Echo #1: delta four")
    await begun(rig, "in the other folder")
    cwds = [start.cwd for start in rig.starts.all()]
    assert cwds == [str(rig.work)] * 4 + [str(other)]


async def test_a_folder_that_is_missing_is_named_and_all_is_well_once_it_is_back(rig: Rig) -> None:
    project = rig.folder / "project"
    project.mkdir()
    rig.settings["BRIDGE_PROJECT_DIR"] = str(project)
    await rig.restart()
    thread, sid = await begun(rig)
    await rig.kill_clis()
    project.rename(rig.folder / "away")
    for count in (1, 2):
        await rig.say(thread, "are you there")
        await rig.until(
            lambda count=count: rig.shown(thread).count("is not there any more") == count,
            what="the missing folder is named",
        )
    assert str(project) in rig.shown(thread)
    (rig.folder / "away").rename(project)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert {start.sid for start in rig.starts.all()} == {sid}


@pytest.mark.settings("stopped")
@pytest.mark.parametrize(
    "name", ['a.b_c d/é ü 漢字/😀/it\'s "$HOME" (x) [y]\\n/-rf', "long" * 60], ids=["odd", "long"]
)
async def test_a_project_folder_may_have_any_name(rig: Rig, name: str) -> None:
    """The transcript is found where the CLI keeps it: it is all that is left after a crash."""
    project = rig.folder / "p" / name
    project.mkdir(parents=True)
    rig.settings["BRIDGE_PROJECT_DIR"] = str(project)
    await rig.start()
    thread, _ = await begun(rig)
    (transcript,) = rig.transcripts()
    found = history.find_transcript(transcript.parents[1], transcript.stem, str(project))
    assert found == transcript
    if len(transcript.parent.name) <= 200:  # the CLI cuts longer ones
        assert transcript.parent.name == history.project_folder_name(str(project))
    await rig.kill_clis()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert {start.cwd for start in rig.starts.all()} == {str(project)}


async def test_no_prompt_ever_stands_on_a_command_line(rig: Rig) -> None:
    thread = await rig.open("--version xyzzy")
    await rig.settled(thread, 1)
    await rig.kill_clis()
    await rig.say(thread, "-h xyzzy")
    await rig.settled(thread, 2)
    assert rig.prompts() == ["--version xyzzy", "-h xyzzy"]
    lines = [process.cmdline() for process in rig.processes()]
    assert len(lines) == 2
    assert not any("xyzzy" in word for line in lines for word in line)
    assert not any("xyzzy" in word for start in rig.starts.all() for word in start.arguments)
    first, second = rig.starts.all()
    assert "--resume" not in first.arguments
    assert second.arguments[second.arguments.index("--resume") + 1] == first.sid
    assert "--session-id" not in second.arguments


# --- one owner ---------------------------------------------------------------------------------
@pytest.mark.parametrize("places", ["1", "2"])
async def test_two_threads_with_one_session_never_have_two_processes(rig: Rig, places: str) -> None:
    """`rig` checks at the end of each test that no two processes ran on one session."""
    rig.settings["BRIDGE_MAX_PROCESSES"] = places
    await rig.restart()
    first, sid = await begun(rig, "alpha one")
    second, _ = await begun(rig, "alpha two")
    busy = [await begun(rig, f"busy {n}") for n in range(int(places))]
    await rig.stop()
    await rig.kill_clis()
    edit_state(rig, lambda threads: threads[second].update(sid=sid))
    await rig.start()
    for n, (thread, _) in enumerate(busy):  # all places are taken when the two threads want one
        await rig.say(thread, f"SLOW 2 busy {n}")
    for n, _ in enumerate(busy):
        await rig.asked(f"SLOW 2 busy {n}")
    await asyncio.gather(*(rig.say(t, f"{n} RUN: true") for n in (1, 2) for t in (first, second)))
    for thread in (first, second):
        await rig.settled(thread, 3, within=60)
    assert sum(start.sid == sid for start in rig.starts.all()) >= 2


async def test_a_deleted_thread_leaves_neither_process_nor_record(rig: Rig) -> None:
    idle, _ = await begun(rig)
    busy, _ = await begun(rig, "alpha two")
    await rig.say(busy, "SLOW 20 beta")
    await rig.answer(busy, "working")
    await rig.say(busy, "never asked")
    await rig.eventually(lambda: rig.record(busy).get("queue"), what="it waits")
    for thread in (idle, busy):
        await rig.discord.delete_channel(thread)
    await rig.eventually(lambda: not rig.processes(), what="the processes end")
    for thread in (idle, busy):
        await rig.eventually(lambda t=thread: not rig.record(t), what="the record goes")
    assert "never asked" not in rig.prompts()
    assert len(rig.transcripts()) == 2
