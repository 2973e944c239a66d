"""The scripted model with the real CLI: every request passes the rules, every script is played."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bridge.rehearsal.model import Error, Request, ScriptedModel, Text

Event = dict[str, Any]
LIMIT = 64 * 1024 * 1024


def bundled_cli() -> Path | None:
    spec = find_spec("claude_agent_sdk")
    path = Path(spec.origin or "").parent / "_bundled" / "claude" if spec else None
    return path if path and path.exists() else None


CLI = bundled_cli()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(CLI is None, reason="no bundled CLI (install the extra `cli`)"),
]


class Session:
    """One real CLI in stream-json mode."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self._process, self._in, self._out = process, process.stdin, process.stdout

    def write(self, line: Event) -> None:
        self._in.write(json.dumps(line).encode() + b"\n")

    def say(self, prompt: str) -> None:
        message = {"role": "user", "content": prompt}
        self.write(
            {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "x"}
        )

    async def event(self, kind: str) -> Event:
        """The next event of that type."""
        while True:
            line = await asyncio.wait_for(self._out.readline(), 20)
            event: Event = json.loads(line)
            if event["type"] == kind:
                return event

    async def turn(self, prompt: str) -> Event:
        self.say(prompt)
        return await self.event("result")

    async def end(self) -> None:
        self._in.close()
        try:
            await asyncio.wait_for(self._process.wait(), 5)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    model = ScriptedModel()
    await model.start()
    yield model
    await model.stop()
    assert model.violations == []


@pytest.fixture
async def session(
    model: ScriptedModel, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Session]:
    options = getattr(request, "param", ["--permission-mode", "bypassPermissions"])
    process = await asyncio.create_subprocess_exec(
        str(CLI),
        *("-p", "--input-format", "stream-json", "--output-format", "stream-json"),
        *("--verbose", "--include-partial-messages", *options),
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-x",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LIMIT,
    )
    session = Session(process)
    yield session
    if process.returncode is None:
        await session.end()


async def test_a_conversation_of_text_tools_and_thoughts_is_played_by_the_real_cli(
    model: ScriptedModel, session: Session
) -> None:
    assert (await session.turn("alpha"))["result"] == "Echo #1: alpha | saw: "
    assert (await session.turn("RUN: echo a$((1+1))b"))["result"] == "Tool said: a2b"
    assert (await session.turn("THINK hard"))["result"].startswith("Echo #3: THINK hard")
    calls = [{"name": "Bash", "input": {"command": f"echo {word}"}} for word in ("one", "two")]
    assert (await session.turn(f"TOOLS: {json.dumps(calls)}"))["result"] == "Tool said: one | two"
    steps = "STEPS: THINK first ;; RUN: echo 1 ;; RUN: echo 2 ;; SAY: Done."
    assert (await session.turn(steps))["result"] == "Done."
    last = await session.turn("omega")
    assert last["result"].startswith("Echo #6: omega | saw: alpha / RUN: echo a$((1+1))b / ")
    assert last["usage"]["cache_read_input_tokens"] > 0


async def test_failures_reach_the_person_and_the_session_goes_on(
    model: ScriptedModel, session: Session
) -> None:
    for kind, shown in [
        ("401", "Invalid API key"),
        ("usage-limit", "429"),
        ("no-credit", "Credit balance is too low"),
        ("invalid", "400"),
    ]:
        result = await session.turn(f"ERROR {kind}")
        assert result["is_error"]
        assert shown in result["result"]
    assert (await session.turn("ERROR 529 times=1"))["result"].startswith("Echo #")
    model.script("break off", Text("so far"), Error("overloaded-midstream"), Text("done"))
    assert (await session.turn("break off"))["result"] == "done"


async def test_the_clis_own_compaction_is_summarized(
    model: ScriptedModel, session: Session
) -> None:
    await session.turn("alpha one")
    await session.turn("/compact")
    assert (await session.turn("beta"))["result"].startswith("Echo #1: beta")
    assert "alpha one" in json.dumps(model.requests[-1].messages)


async def test_an_interrupt_ends_a_request_that_hangs(
    model: ScriptedModel, session: Session
) -> None:
    session.say("HANG")
    await model.until(lambda: model.open, what="the CLI asks")
    session.write(
        {"type": "control_request", "request_id": "1", "request": {"subtype": "interrupt"}}
    )
    assert (await session.event("result"))["subtype"] == "error_during_execution"
    await model.until(lambda: model.open == 0, what="the CLI lets go")
    assert (await session.turn("next"))["result"].startswith("Echo #2: next")


@pytest.mark.parametrize("session", [["--permission-prompt-tool", "stdio"]], indirect=True)
async def test_questions_and_plans_reach_the_person(model: ScriptedModel, session: Session) -> None:
    session.write(
        {"type": "control_request", "request_id": "0", "request": {"subtype": "initialize"}}
    )
    for prompt, tool in [("ASK which?", "AskUserQuestion"), ("PLAN the move", "ExitPlanMode")]:
        session.say(prompt)
        asked = await session.event("control_request")
        assert asked["request"]["tool_name"] == tool
        answer = {"behavior": "deny", "message": "not now"}
        session.write(
            {
                "type": "control_response",
                "response": {
                    "subtype": "success",
                    "request_id": asked["request_id"],
                    "response": answer,
                },
            }
        )
        assert "not now" in (await session.event("result"))["result"]


async def test_the_programs_own_requests_are_kept(model: ScriptedModel, session: Session) -> None:
    await session.turn("RUN: true")
    first, second = model.requests
    assert isinstance(first, Request)
    assert (first.prompts, first.after_tool, second.after_tool) == (["RUN: true"], False, True)
    assert first.session == second.session is not None
    assert first.at < second.at
