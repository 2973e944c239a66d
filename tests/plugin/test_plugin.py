"""The Claude Code plugin in the real CLI: what it hooks, what it changes, when it steps aside."""

import json
import re
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bridge.rehearsal.model import Request, ScriptedModel
from compaction.hook import Options
from tests.plugin.driving import PLUGIN, bundled_cli, command, session

CLI = bundled_cli() or Path("claude")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CLI.exists(), reason="no bundled CLI (install the extra `cli`)"),
]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    model = ScriptedModel()
    await model.start()
    yield model
    await model.stop()
    assert model.violations == []


def results(request: Request) -> list[str]:
    """The texts of all tool results of a request."""
    contents: list[str | list[dict[str, Any]]] = [m["content"] for m in request.messages]
    blocks = chain.from_iterable(content for content in contents if isinstance(content, list))
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def is_summary(request: Request) -> bool:
    """Whether the CLI asks the model for a summary."""
    return "<summary>" in json.dumps(request.messages[-1])


def options_of_manifest() -> dict[str, Any]:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    return manifest["userConfig"]


def test_every_option_is_in_the_readme_and_known_to_the_package() -> None:
    options = options_of_manifest()
    readme = (PLUGIN / "README.md").read_text("utf-8")
    assert [name for name in options if f"`{name}`" not in readme] == []
    of_hooks = {"python", "compactAtPercent", "onSmallGain", "timeoutSeconds"}
    known = {field.alias: field.default for field in Options.model_fields.values()}
    assert set(options) - of_hooks == set(known)
    defaults = {name: option["default"] for name, option in options.items() if "default" in option}
    assert {n: v for n, v in defaults.items() if n not in of_hooks and v != known[n]} == {}


async def test_the_cli_finds_nothing_wrong_and_its_kit_passes(tmp_path: Path) -> None:
    code, said = await command(CLI, tmp_path, "plugin", "validate", str(PLUGIN))
    assert code == 0, said
    assert "Validation passed\n" in said, said
    assert "hooks: session.compact, turn.complete" in said
    code, said = await command(CLI, tmp_path, "plugin", "test", str(PLUGIN))
    assert code == 0, said
    assert re.search(r"^ 0 fail$", said, re.M), said


async def test_a_compaction_shortens_results_and_asks_for_no_summary(
    model: ScriptedModel, tmp_path: Path
) -> None:
    options = {"preserveRecentMessages": 2, "compactAtPercent": 0}
    async with session(CLI, tmp_path, model.url, options) as claude:
        await claude.turn("STEPS: THINK hm ;; RUN: seq 1 3000 ;; SAY: first")
        await claude.turn("STEPS: RUN: seq 1 3000 ;; SAY: second")
        await claude.turn("SAY: third")
        await claude.turn("/compact")
        await claude.turn("SAY: last")
    before, after = model.requests[-2:]
    assert not any(map(is_summary, model.requests))
    assert len(results(after)) == len(results(before)) == 2
    assert sum(map(len, results(after))) < 0.5 * sum(map(len, results(before)))
    assert after.prompts[:3] == before.prompts
    thoughts = [json.dumps(request.body).count('"thinking": "') for request in (before, after)]
    assert thoughts[0] == thoughts[1] > 0
    (toast,) = claude.said("ui_toast")
    assert re.match(r"Compacted: kept (\d+)/\1 messages, -\d\d% \(2 results", toast)


async def test_without_python_the_summary_compacts_and_the_person_learns_why(
    model: ScriptedModel, tmp_path: Path
) -> None:
    missing = str(tmp_path / "no-python")
    async with session(CLI, tmp_path, model.url, {"python": missing}) as claude:
        await claude.turn("RUN: seq 1 3000")
        await claude.turn("/compact")
    assert [is_summary(request) for request in model.requests][-1]
    (toast,) = claude.said("ui_toast")
    assert toast.startswith(f"Summary instead of compaction: there is no {missing}. Install it")


async def test_where_the_host_starts_no_compaction_it_says_so_once(
    model: ScriptedModel, tmp_path: Path
) -> None:
    """Sessions without a terminal compact on `/compact` and by themselves, but not by a plugin."""
    async with session(CLI, tmp_path, model.url, {"compactAtPercent": 1}) as claude:
        for number in range(3):
            await claude.turn(f"SAY: {number}")
        await claude.turn("/compact")
    (complaint,) = [text for text in claude.said("ui_log") if "end of this turn" in text]
    assert "not available in a headless" in complaint


async def test_it_installs_from_its_own_folder_as_a_marketplace(tmp_path: Path) -> None:
    for arguments in (
        ("marketplace", "add", str(PLUGIN)),
        ("install", "compaction@claude-thread-bridge", "--config", "compactAtPercent=70"),
    ):
        code, said = await command(CLI, tmp_path, "plugin", *arguments)
        assert code == 0, said
    settings = json.loads((tmp_path / ".claude" / "settings.json").read_text("utf-8"))
    assert settings["enabledPlugins"] == {"compaction@claude-thread-bridge": True}
    (config,) = settings["pluginConfigs"].values()
    assert config["options"]["compactAtPercent"] == 70
