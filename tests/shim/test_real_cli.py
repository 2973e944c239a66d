"""The real CLI under a shim, against a scripted model on loopback."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bridge import proc
from bridge.rehearsal.model import ScriptedModel
from tests.shim.harness import ShimRun, Starter, attached

pytestmark = pytest.mark.timeout(60)


def bundled_cli() -> Path:
    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        pytest.skip("the extra `cli` is not installed")
    return Path(spec.origin).parent / "_bundled" / "claude"


@pytest.fixture
async def model() -> AsyncGenerator[ScriptedModel]:
    model = ScriptedModel()
    await model.start()
    yield model
    await model.stop()


@pytest.fixture
def run(start: Starter, model: ScriptedModel, tmp_path: Path) -> ShimRun:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    lines = ["--input-format", "stream-json", "--output-format", "stream-json"]
    return start(
        *(str(bundled_cli()), "-p", *lines, "--verbose", "--include-partial-messages"),
        *("--allowedTools", "Bash"),
        cwd=project,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-x",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )


async def turn(run: ShimRun, prompt: str) -> dict[str, Any]:
    """The result of a turn, by a bot that comes for it and goes."""

    def take() -> dict[str, Any]:
        with attached(run) as bot:
            bot.prompt(prompt)
            return bot.turn()[-1]

    return await asyncio.to_thread(take)


async def test_a_turn_goes_on_without_a_bot_and_the_session_keeps_its_memory(
    run: ShimRun, model: ScriptedModel
) -> None:
    with attached(run) as bot:
        bot.prompt("SLOW 1 first")
    await model.until(lambda: model.requests, what="the first request")
    with attached(run) as bot:
        result = (await asyncio.to_thread(bot.turn))[-1]
    assert result["result"].endswith("END-OF-SLOW SLOW 1 first")
    assert (await turn(run, "second"))["result"] == "Echo #2: second | saw: SLOW 1 first"
    assert proc.alive(run.cli)
    assert model.violations == []


async def test_what_its_tools_started_ends_with_it(run: ShimRun) -> None:
    result = await turn(run, "RUN: setsid sleep 600 > /dev/null 2>&1 & echo started")
    assert "started" in result["result"]
    tree = run.tree()
    assert "sleep" in {proc.cmdline(who.pid)[0] for who in tree}
    assert {proc.marker(who.pid) for who in tree} == {run.marker}
    run.signal(signal.SIGTERM)
    ended = await asyncio.to_thread(run.exit)
    assert (ended["code"], ended["reason"], ended["left"]) == (0, "term", 0)
    assert not [who for who in tree if proc.alive(who)]
