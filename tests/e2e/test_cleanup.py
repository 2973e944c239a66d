"""/cleanup ends what nobody owns, and nothing that it cannot prove to be this bot's."""

import os
import re
import signal
import subprocess
from collections.abc import Generator

import psutil
import pytest

from tests.e2e.programs import running
from tests.e2e.rig import Rig
from tests.e2e.test_process_trees import a_time, kill_shim, plant

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def stranger() -> Generator[subprocess.Popen[bytes]]:
    """Somebody's own `claude`, started by hand as the same user."""
    process = subprocess.Popen(["bash", "-c", 'exec -a claude sleep 600 "$@"'])
    yield process
    process.kill()
    process.wait()


async def orphan(rig: Rig) -> list[psutil.Process]:
    """Kill the bot and its memory: what still lives has no owner any more.

    The next bot does not find it when it starts, but only later.
    """
    await rig.stop(signal.SIGKILL)
    for file in rig.state.glob("state.json*"):
        file.unlink()
    left = rig.processes()
    assert left
    runs, hidden = rig.state / "run", rig.folder / "hidden"
    runs.rename(hidden)
    await rig.start()
    runs.mkdir(exist_ok=True)
    for folder in hidden.iterdir():
        folder.rename(runs / folder.name)
    return left


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


async def test_a_dry_run_lists_each_process_and_ends_none(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    left = await orphan(rig)
    said = await rig.command(rig.discord.general, "cleanup", dry_run=True)
    assert f"{len(left)} processes have no owner" in said
    assert "nothing was ended" in said
    for process in left:
        line = next(line for line in said.splitlines() if f"`{process.pid}`" in line)
        assert re.search(r"[\d.]+ s · \d+ MB · `.+` · no thread owns it$", line), line
    assert alive(left) == left
    assert alive(left) == left


async def test_only_processes_without_an_owner_end(
    rig: Rig, stranger: subprocess.Popen[bytes]
) -> None:
    """A stranger's, another bot's and a live thread's survive; so does every history."""
    lost = await rig.open("lost")
    await rig.settled(lost, 1)
    async with Rig() as other:
        await other.start()
        elsewhere = await other.open("elsewhere")
        await other.settled(elsewhere, 1)
        theirs = other.processes()
        left = await orphan(rig)
        thread = await rig.open("hello")
        await rig.settled(thread, 1)
        (mine,) = [cli for cli in rig.clis() if cli not in left]
        said = await rig.command(thread, "cleanup")
        assert re.search(rf"{len(left)} processes ended, [1-9]\d* MB freed", said), said
        assert "could not be ended" not in said
        assert alive(left) == []
        assert stranger.poll() is None
        assert alive(theirs) == theirs
        assert rig.clis() == [mine]
        assert len(rig.transcripts()) == 2
        await other.say(elsewhere, "again")
        await other.answer(elsewhere, "again | saw: elsewhere")
        await other.check()
    await rig.say(thread, "again")
    await rig.answer(thread, "again | saw: hello")


@pytest.mark.settings(BRIDGE_STOP_GRACE="0.5")
async def test_after_a_shim_was_killed_all_that_carry_the_marker_end(
    rig: Rig, stranger: subprocess.Popen[bytes]
) -> None:
    """Also those that made a session of their own or do not heed SIGTERM."""
    times: list[str] = []
    for kind in ("a session of its own", "deaf to SIGTERM", "a daemon"):
        thread, time = await plant(rig, kind)
        await rig.answer(thread, "Tool said:")
        await rig.eventually(lambda t=thread: rig.record(t).get("process"))
        times.append(time)
    assert rig.bot is not None
    os.kill(rig.bot.pid, signal.SIGSTOP)  # it must not tidy up by itself
    for thread in rig.discord.threads():
        kill_shim(rig, thread["id"])
    left = await orphan(rig)
    assert all(running(time) for time in times)
    said = await rig.command(rig.discord.general, "cleanup")
    assert "its shim is dead" in said
    assert not [time for time in times if running(time)]
    assert alive(left) == []
    assert stranger.poll() is None


async def test_where_all_have_an_owner_nothing_is_done(rig: Rig) -> None:
    """Owned are: an idle process, a busy one, and what a busy one has started."""
    idle = await rig.open("hello")
    await rig.settled(idle, 1)
    time = a_time()
    busy = await rig.open(f"RUN: setsid sleep {time} >/dev/null 2>&1 & sh -c 'sleep {time}; true'")
    await rig.eventually(lambda: len(running(time)) > 2, what="the command runs")
    before = rig.processes()
    for dry_run in (True, False):
        said = await rig.command(busy, "cleanup", dry_run=dry_run)
        assert "Nothing to clean up" in said
    assert alive(before) == before
