"""The real CLI resumes what every strategy leaves, and Claude reads back what was removed."""

import asyncio
import json
import re
import shutil
import uuid
from pathlib import Path
from typing import cast

import pytest

from bridge import protocol
from bridge.config import Config, child_environment, find_claude
from bridge.launch import Launch, arguments
from bridge.rehearsal.stage import Stage
from compaction.choice import RELATIVE, STRATEGIES
from compaction.session import NothingToDo, Outcome, Request, compact_session
from compaction.sibling import Written
from compaction.transcript import Transcript
from tests.compaction.session.work import log, outputs, view
from tests.compaction.transcript import law
from tests.compaction.transcript.sessions import Json
from tests.compaction.transcript.test_resume import (
    blocks,
    cli,
    resume_twice,
    tool,
    transcript_of,
)

SAVED = re.compile(r"(?:saved to: |whole output: )(/[^\n\]\"]+\.txt)")


async def build(stage: Stage) -> Transcript:
    """A session of the CLI itself: parallel calls, thinking, large outputs, an error, an edit."""
    for at in range(3):
        (stage.work / f"part{at}.py").write_text(view(at, 150))
        (stage.work / f"log{at}.txt").write_text(log(at, 250))
    (stage.work / "huge.txt").write_text(log(9, 2000))
    reads = ", ".join(tool("Read", file_path=str(stage.work / f"part{at}.py")) for at in range(3))
    async with cli(stage) as running:
        await running.turn("Make the parser faster.")
        await running.turn(f"STEPS: THINK hard ;; TOOLS: [{reads}] ;; THINK again ;; SAY: looked")
        for at in range(3):
            await running.turn(f"RUN: cat log{at}.txt")
        await running.turn("RUN: cat huge.txt")
        await running.turn("RUN: cat missing.txt")
        for at in range(4):
            await running.turn(f"SAY: part {at} is done")
    return transcript_of(stage, running.sid)


def written(outcome: Outcome) -> Written:
    """The outcome as the writer tells it."""
    assert outcome.path is not None and outcome.sid is not None
    return Written(outcome.path, outcome.sid, outcome.before_tokens, outcome.after_tokens, 0, 0, {})


def archived(text: str) -> str:
    """What the file holds that a stub names."""
    return Path(SAVED.findall(text)[-1]).read_text()


def sent_results(messages: list[Json]) -> dict[str, str]:
    """The texts of the results in a request, by the ids of their calls."""
    return {
        block["tool_use_id"]: block["content"]
        if isinstance(block["content"], str)
        else "\n".join(part.get("text", "") for part in cast(list[Json], block["content"]))
        for block in blocks(messages, "tool_result")
    }


async def test_the_cli_resumes_what_every_strategy_leaves_and_sends_its_stubs() -> None:
    async with Stage() as stage:
        transcript = await build(stage)
        before = transcript.path.read_bytes()
        old = outputs(transcript)
        for strategy in STRATEGIES:
            copy = transcript.path.with_name(f"{uuid.uuid4()}.jsonl")
            shutil.copy(transcript.path, copy)
            request = Request(strategy, target=transcript.tokens // 3, window=30_000)
            try:
                outcome = await asyncio.to_thread(compact_session, copy, request)
            except NothingToDo:
                # Thresholds may find all of so short a session worth keeping.
                assert strategy in RELATIVE
                continue
            assert law.violations(written(outcome).path) == []
            sent = sent_results(await resume_twice(stage, written(outcome)))
            now = outputs(Transcript.read(written(outcome).path))
            changed = [each for each in outcome.calls if each.action != "keep"]
            assert changed, strategy
            for each in changed:
                key = each.tool_use_id
                if each.action == "drop_call":
                    assert key not in sent
                    continue
                assert sent[key] == now[key] != old[key], strategy
                assert archived(sent[key]) == old[key]
        assert transcript.path.read_bytes() == before


@pytest.mark.parametrize("mode", ["default", "plan"])
async def test_claude_reads_the_archive_without_asking_anybody(mode: str) -> None:
    async with Stage() as stage:
        transcript = await build(stage)
        outcome = compact_session(transcript.path, Request("auto", target=0))
        old = outputs(transcript)
        each = next(c for c in outcome.calls if c.action == "stub" and "log" in c.title)
        assert each.file is not None and outcome.sid is not None
        result = await read_file(stage, outcome.sid, mode, each.file)
        assert result["permission_denials"] == []
        back = [*sent_results(stage.model.requests[-1].body["messages"]).values()][-1]
        lines = [re.sub(r"^ *\d+(?:→|\t)", "", line) for line in back.splitlines()]
        assert old[each.tool_use_id] in "\n".join(lines)


async def read_file(stage: Stage, sid: str, mode: str, path: str) -> Json:
    """Let the model read a file in a resumed session; fails where the CLI asks for permission."""
    config = Config(state_dir=stage.state, project_dir=stage.work)
    want = Launch(
        thread=0, sid=sid, cwd=stage.work, readable=stage.state, resume=sid, permission_mode=mode
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
    assert process.stdin is not None and process.stdout is not None
    prompt = f"TOOL: {tool('Read', file_path=path)}"
    process.stdin.write(protocol.user_line(prompt, str(uuid.uuid4())))
    try:
        while line := await process.stdout.readline():
            event: Json = json.loads(line)
            assert event["type"] != "control_request", f"it asks: {line[:500]}"
            if event["type"] == "result":
                return event
        raise AssertionError("the CLI ended without a result")
    finally:
        process.stdin.close()
        if process.returncode is None:
            process.terminate()
        await process.wait()
