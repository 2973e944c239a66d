"""The runner with real shims, and small programs in the place of the CLI."""

import asyncio
import itertools
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bridge import proc
from bridge.launch import Launch, Launcher
from bridge.runner import Runner
from state import Process, Record, Store

READER = "import sys\nfor line in sys.stdin: pass\n"
DEAF = "import time\ntime.sleep(1000)\n"


class SlowLauncher(Launcher):
    """Takes its time, so that something else can happen meanwhile."""

    def start(self, launch: Launch) -> Process:
        time.sleep(0.3)
        return super().start(launch)


Make = Callable[..., Runner]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "state") as store:
        for thread in (1, 2):
            now = time.time()
            record = Record(
                cwd=str(tmp_path), guild=1, owner=1, title="t", created=now, last_used=now
            )
            store.put(thread, record)
        yield store


@pytest.fixture
async def make(tmp_path: Path, store: Store) -> AsyncIterator[Make]:
    """Make a runner whose CLI is a small program; all of its processes end with the test."""
    made: list[Runner] = []

    def make(program: str, max_processes: int, launcher: type[Launcher] = Launcher) -> Runner:
        cli = tmp_path / "cli"
        cli.write_text(f"#!{sys.executable}\n{program}")
        cli.chmod(0o700)
        runner = Runner(
            store,
            launcher(
                claude=cli,
                environment={"PATH": "/usr/bin:/bin"},
                state_dir=tmp_path / "state",
                orphan_timeout=600,
                grace=0.5,
            ),
            max_processes=max_processes,
            idle_timeout=600,
            grace=0.5,
        )
        made.append(runner)
        return runner

    yield make
    for runner in made:
        for thread in (1, 2):
            await runner.stop(thread)
        await runner.close()


def launch(thread: int, folder: Path) -> Launch:
    return Launch(thread=thread, sid=str(uuid.uuid4()), cwd=folder, readable=folder / "inbox")


def nothing() -> None:
    pass


async def when(holds: Callable[[], bool]) -> None:
    """Let the loop run until something holds that gives no sign of it."""
    for _ in itertools.takewhile(lambda _: not holds(), itertools.count()):
        await asyncio.sleep(0)


async def test_a_start_that_is_called_off_does_not_disturb_the_next_one(
    make: Make, tmp_path: Path
) -> None:
    runner = make(READER, 4, SlowLauncher)
    first = asyncio.create_task(runner.start(launch(1, tmp_path), nothing))
    await when(lambda: runner.count > 0)
    first.cancel()
    await asyncio.wait({first})
    process = await runner.start(launch(1, tmp_path), nothing)
    assert runner.live(1) is process
    assert runner.count == 1
    assert proc.alive(process.identity)


async def test_a_wait_that_is_called_off_does_not_keep_the_place_that_it_made(
    make: Make, tmp_path: Path
) -> None:
    runner = make(DEAF, 1)
    old = await runner.start(launch(1, tmp_path), nothing)
    runner.release(1)
    waiting = asyncio.create_task(runner.start(launch(2, tmp_path), nothing))
    await when(lambda: not old.takes_prompts)
    waiting.cancel()
    await asyncio.wait({waiting})
    await runner.start(launch(2, tmp_path), nothing)
    assert old.ended.done()
    assert runner.live(1) is None


async def test_what_was_started_and_never_written_down_ends_at_the_next_start(
    make: Make, store: Store, tmp_path: Path
) -> None:
    before = make(READER, 4)
    process = await before.start(launch(1, tmp_path), nothing)
    await before.close()
    store.update(1, lambda record: record.model_copy(update={"process": None}))
    after = make(READER, 4)
    await after.attach_all()
    assert not proc.alive(process.identity)
    assert after.count == 0


async def test_a_retired_process_is_nobodys_to_take_and_ends_alone(
    make: Make, tmp_path: Path
) -> None:
    runner = make(READER, 4)
    old = await runner.start(launch(1, tmp_path), nothing)
    runner.release(1)
    seat = runner.retire(1)
    assert seat is not None
    assert runner.take(1) is None
    ending = asyncio.create_task(runner.end(seat))
    new = await runner.start(launch(1, tmp_path), nothing)
    await ending
    assert old.ended.done()
    assert runner.live(1) is new
