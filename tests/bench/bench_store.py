"""The store with many records beside the plain way, which writes everything on the event loop.

    python -m tests.bench.bench_store [--records 10000] [--updates 40] [--folder /var/tmp]

Both ways make the same updates one after the other and wait for each to be on the disk; a ticker
measures how long the event loop was away meanwhile. All times are milliseconds.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from state import Record, Store
from tests.state.samples import numbered


@dataclass(frozen=True, slots=True)
class Row:
    """What one way of storing took, in milliseconds."""

    name: str
    open: float
    median: float
    slowest: float
    blocked: float


class Plain:
    """The baseline: one dictionary, dumped, synced and renamed within the coroutine."""

    def __init__(self, path: Path, records: dict[int, Record]) -> None:
        self._path = path
        self._records = {str(n): r.model_dump(mode="json") for n, r in records.items()}

    async def update(self, thread: int, title: str) -> None:
        self._records[str(thread)]["title"] = title
        new = self._path.with_suffix(".tmp")
        with new.open("w") as file:
            json.dump(self._records, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)

    async def open(self) -> None:
        for record in json.loads(self._path.read_bytes()).values():
            Record.model_validate(record)


class Ticker:
    """Runs at every turn of the event loop and keeps the longest time between two of them."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            self.longest = max(self.longest, 1000 * (now - before))
            before = now


async def measure(
    name: str,
    updates: int,
    update: Callable[[int], Awaitable[None]],
    reopen: Callable[[], Awaitable[None]],
) -> Row:
    took: list[float] = []
    ticker = Ticker()
    ticking = asyncio.create_task(ticker.run())
    for number in range(updates):
        await asyncio.sleep(0)
        start = time.perf_counter()
        await update(number)
        took.append(1000 * (time.perf_counter() - start))
    await asyncio.sleep(0)
    ticking.cancel()
    start = time.perf_counter()
    await reopen()
    opened = 1000 * (time.perf_counter() - start)
    return Row(name, opened, statistics.median(took), max(took), ticker.longest)


async def run(records: int, updates: int, folder: Path) -> list[Row]:
    content = {10**18 + n: numbered(n) for n in range(records)}
    threads = list(content)

    store = await Store.open(folder / "store")
    for thread, record in content.items():
        store.put(thread, record)
    await store.durable()

    async def update_store(number: int) -> None:
        store.update(
            threads[number * 7919 % records],
            lambda record: record.model_copy(update={"title": f"Title {number}"}),
        )
        await store.durable()

    async def reopen_store() -> None:
        await store.close()
        again = await Store.open(folder / "store")
        await again.close()

    plain = Plain(folder / "plain.json", content)

    async def update_plain(number: int) -> None:
        await plain.update(threads[number * 7919 % records], f"Title {number}")

    return [
        await measure("store", updates, update_store, reopen_store),
        await measure("plain json.dump on the loop", updates, update_plain, plain.open),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="on the disk to measure; default: temporary")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = asyncio.run(run(options.records, options.updates, Path(folder)))
    print(f"{options.records} records, {options.updates} updates, milliseconds")
    print("| | durable, median | durable, slowest | loop blocked, longest | open |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.name} | {row.median:.1f} | {row.slowest:.1f} "
            f"| {row.blocked:.1f} | {row.open:.0f} |"
        )


if __name__ == "__main__":
    main()
