"""How long a transcript takes to be read and written anew, and in how much memory.

Run it as `python -m tests.bench.bench_transcript [MEGABYTES ...]`; without a number it takes the
two figures of the package: 1,000 records, and 60 MB.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compaction.decisions import Decision
from compaction.sibling import write
from compaction.transcript import Transcript

WORDS = "def parse(path: Path) -> dict[str, int]:  # reads what the other side wrote\n"


def records(count: int, size: int) -> Iterator[dict[str, Any]]:
    """A session of `count` records, whose results have `size` characters and a copy each."""
    sid, parent = str(uuid.uuid4()), None
    text = (WORDS * (size // len(WORDS) + 1))[:size]
    for at in range(count // 4):
        name = f"toolu_{at:08}"
        said: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
            ("user", {"role": "user", "content": f"Look at part {at}."}, {}),
            ("assistant", _call(at, name), {}),
            (
                "user",
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": name, "content": text}],
                },
                {"toolUseResult": {"stdout": text, "stderr": ""}},
            ),
            ("assistant", _words(at), {}),
        ]
        for kind, message, more in said:
            own = str(uuid.uuid4())
            yield {
                "parentUuid": parent,
                "isSidechain": False,
                "type": kind,
                "message": message,
                "uuid": own,
                "timestamp": f"2026-11-30T10:{at // 60 % 60:02}:{at % 60:02}.000Z",
                "sessionId": sid,
                **more,
            }
            parent = own


def _call(at: int, name: str) -> dict[str, Any]:
    use = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": f"cat part{at}"}}
    return {"id": f"msg_{at}a", "role": "assistant", "content": [use]}


def _words(at: int) -> dict[str, Any]:
    text = {"type": "text", "text": f"Part {at} is fine."}
    usage = {"input_tokens": 10, "cache_read_input_tokens": 180_000, "output_tokens": 20}
    return {"id": f"msg_{at}b", "role": "assistant", "content": [text], "usage": usage}


def measure(path: Path) -> str:
    """Read and write one file, with all but the newest results removed."""
    start = time.perf_counter()
    transcript = Transcript.read(path)
    read = time.perf_counter()
    calls = [use.tool_use_id for m in transcript.messages for use in m.tool_uses]
    every_other = {name: Decision(name, "stub", "bench") for name in calls[: len(calls) // 2]}
    written = write(transcript, every_other)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (
        f"{len(transcript.records):6} records {path.stat().st_size / 1e6:6.1f} MB: "
        f"read {read - start:.3f} s, write {end - read:.3f} s, in all {end - start:.3f} s; "
        f"peak {peak / 1e6:.0f} MB = {peak / path.stat().st_size:.1f} x the file; "
        f"{written.after_bytes / 1e6:.1f} MB left"
    )


def main() -> None:
    """Measure each size in a process of its own, because of the peak."""
    if len(sys.argv) == 3 and sys.argv[1] == "--file":
        print(measure(Path(sys.argv[2])))
        return
    sizes = [float(size) for size in sys.argv[1:]] or [0.0, 60.0]
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in sizes:
            count = 1000 if megabytes < 1 else 8000
            size = 1500 if megabytes < 1 else int(megabytes * 1e6 / (count / 4) / 2) - 700
            path = Path(folder) / f"{uuid.uuid4()}.jsonl"
            with path.open("w") as file:
                file.writelines(json.dumps(r) + "\n" for r in records(count, size))
            subprocess.run(
                [sys.executable, "-m", "tests.bench.bench_transcript", "--file", str(path)],
                check=True,
            )


if __name__ == "__main__":
    main()
