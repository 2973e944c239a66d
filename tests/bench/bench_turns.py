"""What the bot adds to a turn, beside bare CLIs in the same run.

    python -m tests.bench.bench_turns [--rounds 20] [warm] [stream] [ten] [cold] [resume] [memory]

Discord and model are on loopback and answer at once; both ways use the same model, and take turns.
All times are milliseconds, medians; a ratio compares the two columns before it.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import cast

import psutil

from bridge.rehearsal.stage import Stage
from state import Record, Store
from tests.bench.bare import BareCli, long_transcript


def median(values: list[float]) -> float:
    """In milliseconds."""
    return statistics.median(values) * 1000


class Bench:
    """A stage with a running bot, and the words of the benchmarks."""

    def __init__(self, stage: Stage, rounds: int) -> None:
        """`rounds` turns are measured each way."""
        self.stage = stage
        self.rounds = rounds
        self._number = 0

    def fresh(self, prefix: str = "round") -> str:
        """A prompt that was not used before."""
        self._number += 1
        return f"{prefix} {self._number:04d}"

    async def visible(self, thread: str, needle: str) -> float:
        """When the final text of a turn (its footer too) is in Discord."""
        stage = self.stage

        def final() -> float | None:
            for exchange in reversed(stage.discord.exchanges):
                if exchange.method not in ("POST", "PATCH") or not exchange.request:
                    continue
                content = str(cast("dict[str, object]", exchange.request).get("content", ""))
                if needle in content and "context (" in content and thread in exchange.path:
                    return exchange.at
            return None

        at = await stage.discord.until(final, timeout=60, what=f"{needle} is visible")
        assert at is not None
        return at

    async def open(self) -> str:
        """A thread with a warm process."""
        prompt = self.fresh("open")
        message = await self.stage.discord.say(self.stage.discord.general, prompt)
        await self.visible(message["id"], prompt)
        return message["id"]

    async def asked(self, prompt: str) -> float:
        """When the model was asked this."""
        model = self.stage.model

        def found() -> float | None:
            return next((r.at for r in reversed(model.requests) if prompt in r.prompts[-1:]), None)

        at = await model.until(found, timeout=60, what=f"{prompt} is asked")
        assert at is not None
        return at

    def first_sign(self, thread: str, after: float) -> float:
        """When the first request of the bot in a thread came, after a moment."""
        return min(e.at for e in self.stage.discord.exchanges if e.at > after and thread in e.path)


async def warm(bench: Bench) -> None:
    """A short turn on a process that is there already."""
    bare = BareCli(bench.stage)
    await bare.start()
    await bare.turn(bench.fresh())
    thread = await bench.open()
    bare_asked: list[float] = []
    bare_done: list[float] = []
    asked: list[float] = []
    done: list[float] = []
    sign: list[float] = []
    calls: list[float] = []
    for _ in range(bench.rounds):
        prompt = bench.fresh()
        begin = time.monotonic()
        bare_done.append(await bare.turn(prompt) - begin)
        bare_asked.append(await bench.asked(prompt) - begin)
        prompt = bench.fresh()
        before = len(bench.stage.discord.exchanges)
        begin = time.monotonic()
        # Sent the instant the last answer was visible: nothing may still hold the thread.
        await bench.stage.discord.say(thread, prompt)
        done.append(await bench.visible(thread, prompt) - begin)
        asked.append(await bench.asked(prompt) - begin)
        sign.append(bench.first_sign(thread, begin) - begin)
        calls.append(len(bench.stage.discord.exchanges) - before)
    await bare.stop()
    print("warm turn")
    _added("to the request at the model", bare_asked, asked)
    _added("to the end", bare_done, done)
    print(f"  first sign in the thread      {median(sign):.1f}")
    print(f"  REST calls                    {statistics.median(calls):.0f}")


async def stream(bench: Bench) -> None:
    """A turn whose answer streams for two seconds."""
    bare = BareCli(bench.stage)
    await bare.start()
    await bare.turn(bench.fresh())
    thread = await bench.open()
    plain: list[float] = []
    ours: list[float] = []
    for _ in range(max(3, bench.rounds // 5)):
        begin = time.monotonic()
        plain.append(await bare.turn(bench.fresh("SLOW 2")) - begin)
        prompt = bench.fresh("SLOW 2")
        begin = time.monotonic()
        await bench.stage.discord.say(thread, prompt)
        ours.append(await bench.visible(thread, f"END-OF-SLOW {prompt}") - begin)
    await bare.stop()
    _ratio("answer streamed for 2 s", plain, ours)


async def ten(bench: Bench) -> None:
    """Ten warm threads at once."""
    async with AsyncExitStack() as stack:
        clis: list[BareCli] = []
        for _ in range(10):
            cli = BareCli(bench.stage)
            await cli.start()
            stack.push_async_callback(cli.stop)
            await cli.turn(bench.fresh())
            clis.append(cli)
        threads = [await bench.open() for _ in range(10)]
        plain: list[float] = []
        ours: list[float] = []
        for _ in range(max(3, bench.rounds // 4)):
            begin = time.monotonic()
            await asyncio.gather(*(cli.turn(bench.fresh()) for cli in clis))
            plain.append(time.monotonic() - begin)
            begin = time.monotonic()
            await _all_at_once(bench, threads)
            ours.append(time.monotonic() - begin)
    _ratio("ten warm threads at once", plain, ours)


async def cold(bench: Bench) -> None:
    """Ten threads at once whose sessions have to be resumed."""
    threads = [await bench.open() for _ in range(10)]
    sids: list[str] = []
    for _ in range(10):
        cli = BareCli(bench.stage)
        await cli.start()
        await cli.turn(bench.fresh())
        await cli.stop()
        sids.append(cli.sid)
    plain: list[float] = []
    ours: list[float] = []
    for _ in range(3):
        clis = [BareCli(bench.stage, resume=sid) for sid in sids]
        begin = time.monotonic()
        await asyncio.gather(*(_start_and_ask(cli, bench.fresh()) for cli in clis))
        plain.append(time.monotonic() - begin)
        await asyncio.gather(*(cli.stop() for cli in clis))
        await _end_all(bench)
        begin = time.monotonic()
        await _all_at_once(bench, threads)
        ours.append(time.monotonic() - begin)
    _ratio("ten cold threads at once", plain, ours)


async def resume(bench: Bench) -> None:
    """A cold resume of a transcript of 10 MB."""
    thread = await bench.open()
    record = await _stored(bench, thread)
    assert record.sid is not None
    await _end_all(bench)
    long_transcript(bench.stage, record.sid, 10_000_000)
    plain: list[float] = []
    ours: list[float] = []
    for _ in range(3):
        cli = BareCli(bench.stage, resume=record.sid)
        begin = time.monotonic()
        await _start_and_ask(cli, bench.fresh("SAY: resumed"))
        plain.append(time.monotonic() - begin)
        await cli.stop()
        # An echo would repeat all of the 10 MB.
        prompt = bench.fresh("SAY: resumed")
        begin = time.monotonic()
        await bench.stage.discord.say(thread, prompt)
        ours.append(await bench.visible(thread, prompt.removeprefix("SAY: ")) - begin)
        await _end_all(bench)
    _ratio("cold resume of 10 MB", plain, ours)


async def memory(bench: Bench) -> None:
    """The bot with 100 mapped threads, and its shims."""
    stage = bench.stage
    await _stored(bench, await bench.open())
    await stage.stop()
    async with await Store.open(stage.state) as store:
        sample = next(iter(store.threads().values()))
        for number in range(100):
            store.put(10**18 + number, sample.model_copy(update={"process": None}))
    await stage.start()
    await bench.open()
    assert stage.bot is not None
    bot = psutil.Process(stage.bot.pid).memory_info().rss
    shims = [p.memory_info().rss for p in stage.processes() if "shim.py" in " ".join(p.cmdline())]
    print(f"memory   bot with 100 threads {bot / 1e6:.1f} MB   shim {max(shims) / 1e6:.1f} MB")


# --- steps that several share ---------------------------------------------------------------------
def _added(name: str, plain: list[float], ours: list[float]) -> None:
    bare, bot = median(plain), median(ours)
    print(f"  {name:28}  bare {bare:6.1f}   bot {bot:6.1f}   added {bot - bare:5.1f}")


def _ratio(name: str, plain: list[float], ours: list[float]) -> None:
    bare, bot = median(plain), median(ours)
    print(f"{name:26}  bare {bare:7.0f}   bot {bot:7.0f}   ratio {bot / bare:.2f}")


async def _all_at_once(bench: Bench, threads: list[str]) -> None:
    async def one(thread: str) -> None:
        prompt = bench.fresh()
        await bench.stage.discord.say(thread, prompt)
        await bench.visible(thread, prompt)

    await asyncio.gather(*(one(thread) for thread in threads))


async def _start_and_ask(cli: BareCli, prompt: str) -> None:
    await cli.start()
    await cli.turn(prompt)


async def _end_all(bench: Bench) -> None:
    """End the sessions' processes, so that the next turn of each thread is a cold one."""
    family = bench.stage.processes()
    shims = [process for process in family if "shim.py" in " ".join(process.cmdline())]
    for process in shims:
        with contextlib.suppress(psutil.NoSuchProcess):
            # The second takes the next rung of the shim's ladder at once: the bot holds stdin open.
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(psutil.wait_procs, family, 30)


async def _stored(bench: Bench, thread: str) -> Record:
    """The thread's record, once its first turn stands in it."""
    while True:
        with contextlib.suppress(OSError, KeyError, ValueError):
            document = json.loads((bench.stage.state / "state.json").read_text())
            record = Record.model_validate(document["threads"][thread])
            if record.sid is not None and record.turn is None:
                return record
        await asyncio.sleep(0.02)


PARTS: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "warm": warm,
    "stream": stream,
    "ten": ten,
    "cold": cold,
    "resume": resume,
    "memory": memory,
}


async def _run(names: list[str], rounds: int) -> None:
    for name in names or PARTS:
        settings = {"BRIDGE_PERMISSION_MODE": "bypassPermissions", "BRIDGE_MAX_PROCESSES": "10"}
        async with Stage(settings=settings) as stage:
            await stage.start()
            await PARTS[name](Bench(stage, rounds))


def main() -> None:
    """Run the benchmarks that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    asyncio.run(_run(options.parts, options.rounds))


if __name__ == "__main__":
    main()
