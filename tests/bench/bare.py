"""A bare persistent CLI, as the measure for what the bot adds: no bot, no shim, no Discord."""

import asyncio
import json
import time
import uuid
from pathlib import Path
from typing import Any

from bridge import protocol
from bridge.config import Config, child_environment, find_claude
from bridge.launch import Launch, arguments
from bridge.rehearsal.stage import Stage


class BareCli:
    """One CLI that a benchmark speaks to through plain pipes."""

    def __init__(self, stage: Stage, *, resume: str | None = None) -> None:
        """It uses the home, the folder and the model of `stage`."""
        self._stage = stage
        self.sid = resume or str(uuid.uuid4())
        self._resume = resume
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process; it is ready to be written to at once."""
        stage = self._stage
        config = Config(state_dir=stage.state, project_dir=stage.work)
        want = Launch(
            thread=0,
            sid=self.sid,
            cwd=stage.work,
            readable=stage.work,
            resume=self._resume,
            permission_mode="bypassPermissions",
        )
        self._process = await asyncio.create_subprocess_exec(
            find_claude(config, stage.environment()),
            *arguments(want),
            cwd=stage.work,
            env=child_environment(config, stage.environment()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 28,
        )

    async def turn(self, prompt: str) -> float:
        """Run a turn; returns the time of its result line (`time.monotonic`)."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        process.stdin.write(protocol.user_line(prompt, str(uuid.uuid4())))
        await process.stdin.drain()
        while line := await process.stdout.readline():
            event: dict[str, Any] = json.loads(line)
            if event["type"] == "result":
                return time.monotonic()
        raise RuntimeError("the CLI ended without a result")

    async def stop(self) -> None:
        """End it by the end of its input."""
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            await process.wait()


def long_transcript(stage: Stage, sid: str, size: int) -> Path:
    """Make a session larger: what its first turn wrote, followed by many turns of the same shape.

    Returns the transcript, which then has about `size` bytes.
    """
    path = next(path for path in stage.transcripts() if path.stem == sid)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    chain = [r for r in records if r.get("type") in ("user", "assistant")]
    leaf = next(r["uuid"] for r in reversed(records) if r.get("uuid"))
    text = "lorem ipsum dolor sit amet " * 300
    with path.open("a") as file:
        written = path.stat().st_size
        while written < size:
            for template in chain:
                record = json.loads(json.dumps(template))
                record["parentUuid"], record["uuid"] = leaf, str(uuid.uuid4())
                leaf = record["uuid"]
                message = record["message"]
                if record["type"] == "assistant":
                    message["id"] = f"msg_{uuid.uuid4().hex[:20]}"
                    message["content"] = [{"type": "text", "text": text}]
                else:
                    message["content"] = text
                line = json.dumps(record) + "\n"
                file.write(line)
                written += len(line)
    return path
