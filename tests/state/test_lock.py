"""One process per state folder."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from state import Store, StoreLocked

HOLDER = """
import asyncio, sys
from pathlib import Path
from state import Store

async def hold():
    await Store.open(Path(sys.argv[1]))
    print("held", flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""


def hold(folder: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


async def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        try:
            with pytest.raises(StoreLocked, match=f"process {holder.pid}") as caught:
                await Store.open(tmp_path)
            assert caught.value.pid == holder.pid
        finally:
            holder.kill()
    async with await Store.open(tmp_path):
        pass


async def test_a_closed_store_lets_the_next_one_in(tmp_path: Path) -> None:
    for _ in range(3):
        async with await Store.open(tmp_path):
            with pytest.raises(StoreLocked):
                await Store.open(tmp_path)


async def test_a_child_process_does_not_inherit_the_lock(tmp_path: Path) -> None:
    store = await Store.open(tmp_path)
    child = await asyncio.create_subprocess_exec("sleep", "60", close_fds=False)
    try:
        await store.close()
        await (await Store.open(tmp_path)).close()
    finally:
        child.kill()
        await child.wait()


async def test_an_opening_that_is_cancelled_leaves_no_lock(tmp_path: Path) -> None:
    opening = asyncio.create_task(Store.open(tmp_path))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with asyncio.timeout(20):
        while True:
            try:
                await (await Store.open(tmp_path)).close()
                break
            except StoreLocked:
                await asyncio.sleep(0)


async def test_a_store_that_cannot_be_opened_leaves_no_lock(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(IsADirectoryError):
        await Store.open(tmp_path)
    (tmp_path / "state.json").rmdir()
    await (await Store.open(tmp_path)).close()
