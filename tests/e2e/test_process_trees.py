"""What the CLI's tools start ends with the CLI, and nothing else ever does."""

import asyncio
import json
import secrets
import signal

import pytest

from tests.e2e.programs import running
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TREES = {
    "a session of its own": "setsid sleep {0} &",
    "a cleared environment": "env -i sleep {0} &",
    "deaf to SIGTERM": "(trap '' TERM; exec sleep {0}) &",
    "a daemon": "(setsid sh -c 'sleep {0} & sleep {0}' &)",
    "all of it": "(trap '' TERM; setsid env -i sh -c 'sleep {0} & sleep {0}' &)",
}
"""How a descendant may try to get away; {0} is a time by which it is found."""


def a_time() -> str:
    """Seconds that no other process of the machine sleeps."""
    return f"600.{secrets.randbelow(10**9):09d}"


async def plant(rig: Rig, kind: str, *, then: str = "true") -> tuple[str, str]:
    """Let Claude start such a tree, then something else: (the thread, the time that it sleeps)."""
    time = a_time()
    tree = TREES[kind].format(time)
    thread = await rig.open(f"RUN: {{ {tree} }} >/dev/null 2>&1; {then}")
    await rig.eventually(lambda: running(time), what=f"{kind} runs")
    return thread, time


@pytest.mark.settings(BRIDGE_IDLE_TIMEOUT="0.5", BRIDGE_STOP_GRACE="0.5", BRIDGE_MAX_PROCESSES="10")
async def test_after_a_stop_and_idleness_the_whole_tree_is_gone(rig: Rig) -> None:
    async def grow_and_stop(kind: str) -> None:
        thread, time = await plant(rig, kind, then="sh -c 'sleep 600; true'")
        assert "Stopped" in await rig.command(thread, "stop")
        await rig.eventually(lambda: not running(time), what=f"{kind} is gone")

    async with asyncio.TaskGroup() as group:
        for kind in TREES:
            group.create_task(grow_and_stop(kind))
    await rig.eventually(lambda: not rig.processes(), what="nothing is left")


@pytest.mark.settings(BRIDGE_IDLE_TIMEOUT="0.5", BRIDGE_STOP_GRACE="0.5", BRIDGE_MAX_PROCESSES="10")
async def test_what_a_finished_turn_left_behind_ends_with_the_process(rig: Rig) -> None:
    async def grow(kind: str) -> None:
        thread, time = await plant(rig, kind)
        await rig.answer(thread, "Tool said:")
        await rig.eventually(lambda: not running(time), what=f"{kind} is gone")

    async with asyncio.TaskGroup() as group:
        for kind in TREES:
            group.create_task(grow(kind))


@pytest.mark.settings(BRIDGE_STOP_GRACE="0.5")
async def test_new_ends_the_tree_before_it_answers(rig: Rig) -> None:
    thread, time = await plant(rig, "all of it", then="sh -c 'sleep 600; true'")
    assert "clean session" in await rig.command(thread, "new")
    assert not running(time)
    await rig.say(thread, "again")
    await rig.answer(thread, "Echo #1: again | saw:")


@pytest.mark.settings(BRIDGE_STOP_GRACE="0.5")
async def test_a_shim_that_is_killed_in_mid_turn_costs_one_turn(rig: Rig) -> None:
    """Its CLI is ended before another one goes on with the session."""
    thread = await rig.open("hello")
    session = await rig.session(thread)
    time = a_time()
    prompt = f"RUN: setsid sleep {time} >/dev/null 2>&1 & sh -c 'sleep {time}; true'"
    await rig.say(thread, prompt)
    await rig.say(thread, "queued")
    await rig.eventually(lambda: len(running(time)) > 2, what="the command runs")
    await rig.eventually(lambda: rig.record(thread).get("process"))
    kill_shim(rig, thread)
    shown = await rig.answer(thread, f"queued | saw: hello / {prompt}")
    assert shown.count("its supervisor was killed") == shown.count("⚠️") == 1
    assert await rig.session(thread) == session
    await rig.eventually(lambda: not running(time), what="the tree is gone")
    assert len(rig.clis()) == 1


async def test_a_cli_that_is_killed_in_its_first_turn_keeps_what_was_said(rig: Rig) -> None:
    """There was no result, but the model's answer had begun to stand in the transcript."""
    prompt = "STEPS: RUN: echo done ;; SLOW 30 on"
    thread = await rig.open(prompt)
    await rig.answer(thread, "working")
    (cli,) = rig.clis()
    cli.kill()
    await rig.answer(thread, "it was ended by SIGKILL")
    await rig.say(thread, "again")
    await rig.answer(thread, f"again | saw: {prompt}")


def kill_shim(rig: Rig, thread: str) -> None:
    """End the shim of a thread's process, and nothing else."""
    pid = rig.record(thread)["process"]["pid"]
    (shim,) = [process for process in rig.processes() if process.pid == pid]
    shim.send_signal(signal.SIGKILL)


async def test_a_shim_that_is_killed_while_idle_costs_nothing(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    await rig.eventually(lambda: rig.record(thread).get("process"))
    kill_shim(rig, thread)
    await rig.say(thread, "again")
    shown = await rig.answer(thread, "again | saw: hello")
    assert "⚠️" not in shown


@pytest.mark.settings(BRIDGE_ORPHAN_TIMEOUT="1", BRIDGE_STOP_GRACE="0.5")
async def test_processes_whose_bot_stays_away_end_by_themselves(rig: Rig) -> None:
    thread, time = await plant(rig, "all of it")
    await rig.answer(thread, "Tool said:")
    await rig.session(thread)
    await rig.stop(signal.SIGKILL)
    await rig.eventually(lambda: not running(time), what="the tree is gone")
    await rig.eventually(lambda: not rig.processes(), what="no process is left")
    await rig.start()
    await rig.say(thread, "again")
    await rig.answer(thread, "again | saw: RUN:")


# --- what goes on beside the turns --------------------------------------------------------------


def in_background(command: str) -> str:
    """The prompt by which Claude runs a command in the background."""
    call = {
        "name": "Bash",
        "input": {"command": command, "description": "the build", "run_in_background": True},
    }
    return f"TOOL: {json.dumps(call)}"


@pytest.mark.settings(BRIDGE_IDLE_TIMEOUT="2")
async def test_a_process_is_not_idle_while_something_runs_in_its_background(rig: Rig) -> None:
    """Its end begins a turn (B49); only then is the process idle."""
    thread = await rig.open(in_background("sh -c 'until [ -e go ]; do sleep 0.1; done'"))
    await rig.settled(thread, 1)
    other = await idle_thread(rig, "hello")
    # It was idle for a shorter time, and has nothing in its background.
    await rig.eventually(lambda: other not in with_process(rig), what="the other process is gone")
    assert with_process(rig) == {thread}
    (rig.work / "go").touch()
    await rig.settled(thread, 2)
    await rig.eventually(lambda: not rig.processes(), what="the idle process is gone")
    assert "⚠️" not in rig.shown(thread)


@pytest.mark.settings(BRIDGE_MAX_PROCESSES="2")
async def test_a_process_with_something_in_its_background_gives_way_last(rig: Rig) -> None:
    """And what ended with it is told."""
    time = a_time()
    building = await rig.open(in_background(f"sh -c 'sleep {time}; true'"))
    await rig.settled(building, 1)
    idle = await idle_thread(rig, "hello")
    other = await idle_thread(rig, "another")
    await rig.eventually(lambda: with_process(rig) == {building, other})
    assert running(time)
    await rig.say(other, "SLOW 30 busy")
    await rig.asked("SLOW 30 busy")
    await rig.say(idle, "again")
    await rig.answer(idle, "again | saw: hello")
    shown = await rig.answer(building, "ended with the process: the build")
    assert shown.count("⚠️") == 1
    assert not running(time)


# --- who gives way ------------------------------------------------------------------------------


@pytest.mark.settings(BRIDGE_MAX_PROCESSES="2")
async def test_the_longest_idle_process_gives_way_and_a_busy_one_never(rig: Rig) -> None:
    oldest, older, newest = [await idle_thread(rig, f"number {n}") for n in range(3)]
    await rig.eventually(lambda: with_process(rig) == {older, newest})
    await rig.say(older, "SLOW 30 busy")
    await rig.asked("SLOW 30 busy")
    await rig.say(oldest, "again")
    await rig.answer(oldest, "again | saw: number 0")
    await rig.eventually(lambda: with_process(rig) == {older, oldest})
    await rig.say(newest, "again")
    await rig.answer(newest, "again | saw: number 2")
    await rig.eventually(lambda: with_process(rig) == {older, newest})
    assert rig.starts.most_at_once == 2
    assert "END-OF-SLOW" not in rig.shown(older)


async def idle_thread(rig: Rig, text: str) -> str:
    """A thread with a process that has nothing to do."""
    thread = await rig.open(text)
    await rig.settled(thread, 1)
    return thread


def with_process(rig: Rig) -> set[str]:
    """The threads that have a process."""
    return {t["id"] for t in rig.discord.threads() if rig.record(t["id"]).get("process")}
