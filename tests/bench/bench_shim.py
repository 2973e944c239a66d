"""What a shim costs: its memory, and what it adds to starting a process and to a line each way.

    python -m tests.bench.bench_shim [ROUNDS]

The child is `cat`, bare and under a shim, side by side; medians.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from bridge import proc
from tests.shim.harness import ShimRun, attached

LINE = b'{"type": "user", "text": "%b"}\n' % (b"x" * 400)


def milliseconds(what: Callable[[], object], rounds: int) -> float:
    """The median duration of a call."""
    times: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        what()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def echo(into: IO[bytes], out: IO[bytes]) -> None:
    into.write(LINE)
    into.flush()
    out.readline()


def bare_start() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()


def shim_start(state_dir: Path) -> None:
    run = ShimRun(state_dir, ["cat"])
    with attached(run) as bot:
        bot.write(b"\n")
        next(bot.lines())
    run.process.terminate()
    run.process.wait()


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state_dir = Path(folder)
        bare = milliseconds(bare_start, rounds)
        shimmed = milliseconds(lambda: shim_start(state_dir), rounds)
        run = ShimRun(state_dir, ["cat"])
        try:
            with attached(run) as bot:
                lines = bot.lines()

                def pass_by() -> None:
                    bot.write(LINE)
                    next(lines)

                passed = milliseconds(pass_by, rounds * 50)
            memory = proc.rss(run.process.pid)
        finally:
            run.close()
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            into, out = child.stdin, child.stdout
            direct = milliseconds(lambda: echo(into, out), rounds * 50)
    print(
        json.dumps(
            {
                "shim_rss_mb": round(memory / 1e6, 1),
                "start_and_stop_ms": {"bare": round(bare, 1), "shim": round(shimmed, 1)},
                "line_there_and_back_ms": {"bare": round(direct, 3), "shim": round(passed, 3)},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
