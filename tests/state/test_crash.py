"""SIGKILL at random moments: the file is always one whole state, and never older than promised."""

import asyncio
import random
import signal
import sys
from pathlib import Path

from state.document import decode, record
from tests.state.samples import plain

ROUNDS = 12
THREADS = 200

# Every state has one title in all of its records; what was promised to be durable is printed.
WRITER = """
import asyncio, sys
from pathlib import Path
from state import Record, Store

async def write():
    store = await Store.open(Path(sys.argv[1]))
    number = int(store.get(1).title) if store.get(1) else 0
    while True:
        number += 1
        for thread in range(1, int(sys.argv[2]) + 1):
            store.put(thread, Record(cwd="/project", guild=1, owner=2, title=str(number),
                                     created=3.0, last_used=4.0))
        await store.durable()
        print(number, flush=True)

asyncio.run(write())
"""


def state(path: Path) -> int:
    """The number of the state in a file, which must be whole."""
    found = decode(path.read_bytes())
    assert found.faults == ()
    records = {thread: record(line) for thread, line in found.document.lines.items()}
    number = records[1].title
    assert records == {thread: plain(number) for thread in range(1, THREADS + 1)}
    return int(number)


async def test_a_kill_at_any_moment_leaves_one_whole_state(tmp_path: Path) -> None:
    chance = random.Random(1)
    for _ in range(ROUNDS):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WRITER, str(tmp_path), str(THREADS)),
            cwd=Path(__file__).parents[2],
            stdout=asyncio.subprocess.PIPE,
        )
        assert child.stdout is not None
        promised = int(await child.stdout.readline())
        # No event marks these moments: they are meant to fall anywhere within a write.
        await asyncio.sleep(chance.uniform(0, 0.05))
        child.kill()
        rest = (await child.stdout.read()).split(b"\n")[:-1]
        assert await child.wait() == -signal.SIGKILL
        promised = int(rest[-1]) if rest else promised
        assert state(tmp_path / "state.json") in (promised, promised + 1)
        if (tmp_path / "state.json.bak").exists():  # the first write of all has nothing to keep
            assert state(tmp_path / "state.json.bak") in (promised - 1, promised)
