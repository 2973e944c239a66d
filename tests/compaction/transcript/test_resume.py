"""The real CLI resumes compacted sessions, twice in a row, and sends what was decided.

The model at the other end is strict about pairs, ids and signed thinking, as the real API is.
"""

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from bridge import protocol
from bridge.config import Config, child_environment, find_claude
from bridge.launch import Launch, arguments
from bridge.rehearsal.stage import Stage
from compaction.decisions import Action, Decision
from compaction.sibling import Written, attached, write
from compaction.transcript import Transcript
from tests.compaction.transcript import law
from tests.compaction.transcript.sessions import Json

STUB = "what stood here was archived"
TASK = "the subagent's own task"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Cli:
    """One CLI on plain pipes, on a stage's model."""

    def __init__(self, process: asyncio.subprocess.Process, sid: str) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.sid = process, sid
        self._in, self._out = process.stdin, process.stdout

    async def send(self, line: bytes) -> None:
        self._in.write(line)
        await self._in.drain()

    async def event(self, kind: str, words: bytes = b"") -> Json:
        """The next event of a kind that has these words in it."""
        while line := await self._out.readline():
            event: Json = json.loads(line)
            if event["type"] == kind and words in line:
                return event
        raise AssertionError(f"the CLI ended without {kind}")

    async def turn(self, prompt: str) -> Json:
        await self.send(protocol.user_line(prompt, str(uuid.uuid4())))
        return await self.event("result")

    async def interrupt(self) -> None:
        await self.send(protocol.control_line("1", "interrupt"))
        await self.event("result")

    async def close(self) -> None:
        self._in.close()
        await self.process.wait()


@asynccontextmanager
async def cli(stage: Stage, resume: str | None = None) -> AsyncGenerator[Cli]:
    sid = resume or str(uuid.uuid4())
    config = Config(state_dir=stage.state, project_dir=stage.work)
    want = Launch(
        thread=0,
        sid=sid,
        cwd=stage.work,
        readable=stage.work,
        resume=resume,
        permission_mode="bypassPermissions",
    )
    process = await asyncio.create_subprocess_exec(
        find_claude(config, stage.environment()),
        *arguments(want),
        cwd=stage.work,
        env=child_environment(config, stage.environment()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 26,
    )
    running = Cli(process, sid)
    try:
        yield running
    finally:
        await running.close()


def tool(tool_name: str, **given: Any) -> str:
    return json.dumps({"name": tool_name, "input": given})


def transcript_of(stage: Stage, sid: str) -> Transcript:
    return Transcript.read(next(path for path in stage.transcripts() if path.stem == sid))


def compact(transcript: Transcript, actions: Iterable[Action] = ("stub",)) -> Written:
    """Decide about every call, by the given actions in turn."""
    kinds = list(actions)
    calls = [use.tool_use_id for m in transcript.messages for use in m.tool_uses]
    decided = {
        name: Decision(name, kinds[at % len(kinds)], "test", text=STUB)
        for at, name in enumerate(calls)
    }
    written = write(transcript, decided)
    assert law.violations(written.path) == []
    return written


async def resume_twice(stage: Stage, written: Written) -> list[Json]:
    """Two processes in a row go on with the session; returns the last request's messages."""
    before = [message.text for message in Transcript.read(written.path).messages if message.text]
    for at in range(2):
        count = len(stage.model.requests)
        async with cli(stage, resume=written.sid) as running:
            ended = await running.turn(f"SAY: resumed {at}")
        assert not ended["is_error"]
        assert ended["session_id"] == written.sid
        assert len(stage.model.requests) == count + 1, "nothing but the prompt was asked"
        sent: list[Json] = stage.model.requests[-1].body["messages"]
        words = json.dumps(sent, ensure_ascii=False)
        for text in before:
            if not text.startswith("<"):
                lines = (json.dumps(line, ensure_ascii=False) for line in text.splitlines())
                assert all(line[1:-1] in words for line in lines)
    assert stage.model.violations == []
    after = Transcript.read(written.path)
    assert after.flags == ()
    assert after.messages[-1].text == "resumed 1"
    return stage.model.requests[-1].body["messages"]


def blocks(messages: list[Json], kind: str) -> list[Json]:
    return [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in cast(list[Json], message["content"])
        if block["type"] == kind
    ]


async def everything(stage: Stage) -> str:
    """A session with parallel calls, thinking, an image, a large output; returns its id."""
    (stage.work / "a.txt").write_text("hello\n" * 2000)
    (stage.work / "i.png").write_bytes(PIXEL)
    image = tool("Read", file_path=str(stage.work / "i.png"))
    async with cli(stage) as running:
        await running.turn("RUN: cat a.txt")
        await running.turn(
            f"STEPS: THINK hard ;; TOOLS: [{image}, {tool('Bash', command='seq 1 3000')},"
            f" {tool('Bash', command='false')}] ;; THINK again ;; SAY: looked"
        )
        await running.turn("RUN: for i in $(seq 1 9000); do echo line $i of many; done")
        await running.turn("THINK once more")
        path = next(path for path in stage.transcripts() if path.stem == running.sid)
        assert attached(path) == running.process.pid
    assert attached(path) is None
    return running.sid


def with_a_subagent(path: Path) -> Transcript:
    """Put a subagent's record into the file, as older versions did."""
    lines = path.read_bytes().splitlines(keepends=True)
    side: Json = json.loads(next(line for line in lines if b'"type":"user"' in line))
    side |= {"isSidechain": True, "agentId": "a1", "uuid": str(uuid.uuid4())}
    side["message"] = {"role": "user", "content": TASK}
    path.write_bytes(b"".join([*lines[:-3], json.dumps(side).encode() + b"\n", *lines[-3:]]))
    return Transcript.read(path)


@pytest.mark.parametrize("actions", [("drop_call",), ("trim", "keep", "stub")], ids=str)
async def test_sessions_with_all_kinds_of_blocks(actions: tuple[Action, ...]) -> None:
    async with Stage() as stage:
        transcript = transcript_of(stage, await everything(stage))
        transcript = with_a_subagent(transcript.path)
        before = transcript.path.read_bytes()
        written = compact(transcript, actions)
        messages = await resume_twice(stage, written)
        answers = {block["tool_use_id"]: block for block in blocks(messages, "tool_result")}
        for name, decision in written.applied.items():
            if decision.action == "drop_call":
                assert name not in answers
            else:
                assert STUB in json.dumps(answers[name]["content"])
        assert {block["id"] for block in blocks(messages, "tool_use")} == answers.keys()
        assert blocks(messages, "thinking") == []
        assert TASK not in json.dumps(messages)
        assert transcript.path.read_bytes() == before


async def test_sessions_that_the_cli_has_compacted_before() -> None:
    async with Stage() as stage:
        async with cli(stage) as running:
            await running.turn("RUN: seq 1 2000")
            await running.turn("SAY: this is preserved")
            await running.turn("/compact")
            await running.turn("RUN: seq 1 100")
            await running.turn("/compact")
            await running.turn("RUN: seq 1 1000")
            await running.turn("SAY: fine")
        transcript = transcript_of(stage, running.sid)
        messages = await resume_twice(stage, compact(transcript))
        assert "1000" not in json.dumps(blocks(messages, "tool_result"))
        assert [block["content"] for block in blocks(messages, "tool_result")] == [STUB]


async def test_sessions_whose_last_turn_was_interrupted() -> None:
    async with Stage() as stage:
        async with cli(stage) as running:
            await running.turn("RUN: seq 1 2000")
            await running.turn("SAY: now the long one")
            await running.send(protocol.user_line("RUN: sleep 60", str(uuid.uuid4())))
            await running.event("assistant", b'"tool_use"')
            await running.interrupt()
        transcript = transcript_of(stage, running.sid)
        messages = await resume_twice(stage, compact(transcript))
        assert STUB in json.dumps(messages)


async def test_a_full_window_is_not_compacted_again_by_the_cli_itself() -> None:
    async with Stage() as stage:
        async with cli(stage) as running:
            await running.turn("THINK first")
            await running.turn("RUN: seq 1 2000")
            await running.turn("THINK second")
        path = transcript_of(stage, running.sid).path
        fill(path, 985_000)
        messages = await resume_twice(stage, compact(Transcript.read(path)))
        # What was thought before the first edit still has its valid signature.
        assert len(blocks(messages, "thinking")) == 1


def fill(path: Path, tokens: int) -> None:
    """Let the first result be so large that the window is as good as full."""
    out: list[bytes] = []
    for line in path.read_bytes().splitlines():
        record: Json = json.loads(line)
        if record["type"] == "assistant":
            usage = record["message"]["usage"]
            usage |= {"input_tokens": 10, "cache_creation_input_tokens": 0}
            usage["cache_read_input_tokens"] = tokens
        if record["type"] == "user" and "toolUseResult" in record:
            record["message"]["content"][0]["content"] = "word " * tokens
        out.append(json.dumps(record).encode() + b"\n")
    path.write_bytes(b"".join(out))
