"""What a compaction changes for the CLI: the time to its first request, and that request's size.

Run it as `python -m tests.bench.bench_effect [MEGABYTES]` (46 unless told otherwise). A session of
that size is resumed by the real CLI as it is, and after a compaction to a fifth of a window of
200,000 tokens, and after the strategy `balanced`.
"""

import asyncio
import json
import re
import sys
import time
import uuid
from pathlib import Path

from bridge import protocol
from bridge.config import Config, child_environment, find_claude
from bridge.launch import Launch, arguments
from bridge.rehearsal.stage import Stage
from compaction.policy import WINDOW, Policy
from compaction.session import NothingToDo, Outcome, Request, compact_session
from tests.bench.bench_transcript import records

OUTPUT = 28_000
"""Characters of each output; the CLI keeps no larger ones in a conversation."""
PATIENCE = 60.0


def session(stage: Stage, megabytes: float) -> Path:
    """A session of that size, where the CLI looks for it; every output stands in it twice."""
    project = re.sub("[^A-Za-z0-9]", "-", str(stage.work))
    path = stage.home / ".claude" / "projects" / project / f"{uuid.uuid4()}.jsonl"
    path.parent.mkdir(parents=True)
    calls = int(megabytes * 1e6 / (2 * OUTPUT))
    with path.open("w") as file:
        for at, record in enumerate(records(4 * calls, 1)):
            record |= {"sessionId": path.stem, "cwd": str(stage.work), "version": "2.1.332"}
            if "toolUseResult" in record:
                text = output(at)
                record["message"]["content"][0]["content"] = text
                record["toolUseResult"] = {"stdout": text, "stderr": "", "interrupted": False}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
    path.chmod(0o600)
    return path


def output(number: int) -> str:
    """An output that no other one is like."""
    lines = (f"{number}.{at}: value_{number}_{at} = compute(part_{at})" for at in range(9999))
    out: list[str] = []
    size = 0
    while size < OUTPUT:
        out.append(next(lines))
        size += len(out[-1]) + 1
    return "\n".join(out)


def size(path: Path) -> int:
    """The bytes of a file."""
    return path.stat().st_size


async def resume(stage: Stage, sid: str) -> tuple[float, int]:
    """Seconds from the CLI's start to its request, and the bytes of the request's messages."""
    config = Config(state_dir=stage.state, project_dir=stage.work)
    want = Launch(thread=0, sid=sid, cwd=stage.work, readable=stage.state, resume=sid)
    count = len(stage.model.requests)
    start = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        find_claude(config, stage.environment()),
        *arguments(want),
        cwd=stage.work,
        env=child_environment(config, stage.environment()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(protocol.user_line("SAY: resumed", str(uuid.uuid4())))
    try:
        async with asyncio.timeout(PATIENCE):
            while len(stage.model.requests) == count:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        taken = time.perf_counter() - start
    finally:
        process.stdin.close()
        await process.wait()
    body = stage.model.requests[count].body
    return taken, len(json.dumps(body["messages"], ensure_ascii=False).encode())


async def measure(megabytes: float) -> None:
    """Print a line for the session as it is, and one for each way to compact it."""
    goal = Policy().goal(WINDOW)
    ways = {
        f"auto to {goal:,} tokens": Request("auto", target=goal),
        "balanced": Request("balanced"),
    }
    async with Stage() as stage:
        path = session(stage, megabytes)
        print(f"{'':24} {'file':>9} {'ours':>8} {'resume':>8} {'request':>10} {'tokens':>11}")
        outcomes: dict[str, Outcome] = {}
        for name, request in ways.items():
            try:
                outcomes[name] = await asyncio.to_thread(compact_session, path, request)
            except NothingToDo as reason:
                print(f"{name}: {reason}")
        await show(stage, "as it is", path, None)
        for name, outcome in outcomes.items():
            assert outcome.path is not None
            await show(stage, name, outcome.path, outcome)


async def show(stage: Stage, name: str, path: Path, outcome: Outcome | None) -> None:
    """Resume a session twice and print the faster time: the first may have met a cold disk."""
    megabytes = size(path) / 1e6
    runs = [await resume(stage, path.stem) for _ in range(2)]
    taken, sent = min(runs)
    ours = f"{outcome.seconds:6.2f} s" if outcome else ""
    left = f"{outcome.after_tokens:,}" if outcome else ""
    print(f"{name:24} {megabytes:6.1f} MB {ours:>8} {taken:6.2f} s {sent / 1e6:7.2f} MB {left:>11}")


if __name__ == "__main__":
    asyncio.run(measure(float(sys.argv[1]) if len(sys.argv) > 1 else 46.0))
