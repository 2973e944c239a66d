"""The command line, as a shell sees it: what it prints, and the code that it exits with."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from bridge.config import describe

ROOT = Path(__file__).parents[1]
COMMANDS = ("run", "doctor", "config", "rehearsal")


def bridge(
    *args: str,
    cwd: Path,
    program: tuple[str, ...] = (sys.executable, "-m", "bridge"),
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run it in an environment that holds nothing of this machine's."""
    kept = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(cwd), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*program, *args],
        cwd=cwd,
        env={**kept, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_names_every_command(tmp_path: Path) -> None:
    done = bridge("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: claude-bridge")
    for command in COMMANDS:
        assert re.search(rf"^    {command}\b", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_and_does_nothing_else_then(tmp_path: Path, command: str) -> None:
    done = bridge(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: claude-bridge {command}")
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    done = bridge("--version", cwd=tmp_path)
    assert done.stdout.strip() == version("claude-thread-bridge")


def test_both_names_are_the_same_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("claude-bridge")
    if not script.exists():
        pytest.skip("the package is not installed in this environment")
    named = bridge("--help", cwd=tmp_path, program=(str(script),))
    assert named.stdout == bridge("--help", cwd=tmp_path).stdout


@pytest.mark.parametrize("args", [["unknown"], ["run", "extra"], ["--port", "1"]])
def test_what_it_does_not_know_is_a_fault_of_usage(tmp_path: Path, args: list[str]) -> None:
    done = bridge(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert "usage: claude-bridge" in done.stderr


def test_config_lists_every_setting_with_its_default(tmp_path: Path) -> None:
    done = bridge("config", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for row in describe():
        meaning = lines[lines.index(row.env) + 1]
        assert row.meaning in meaning
        assert not row.default or f"(default: {row.default})" in meaning


@pytest.mark.parametrize("args", [[], ["run"]])
@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, ["DISCORD_TOKEN"]),
        ({"DISCORD_TOKEN": "a.b.c", "BRIDGE_CHANNELS": "general"}, ["BRIDGE_CHANNELS", "general"]),
        (
            {"BRIDGE_MAX_PROCESSES": "0", "BRIDGE_IDLE_TIMEOUT": "soon"},
            ["DISCORD_TOKEN", "BRIDGE_MAX_PROCESSES", "BRIDGE_IDLE_TIMEOUT"],
        ),
    ],
)
def test_a_faulty_setting_is_named_and_no_manager_should_start_it_again(
    tmp_path: Path, args: list[str], settings: dict[str, str], parts: list[str]
) -> None:
    done = bridge(*args, cwd=tmp_path, env=settings)
    assert done.returncode == os.EX_CONFIG
    for part in [*parts, "claude-bridge doctor"]:
        assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cli_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "no-claude")
    done = bridge(cwd=tmp_path, env={"DISCORD_TOKEN": "a.b.c", "BRIDGE_CLAUDE": missing})
    assert done.returncode == os.EX_CONFIG
    assert missing in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """The bot's memory is no place for the rehearsal, nor a list of settings for Discord."""
    script = (
        "import sys; from bridge.__main__ import main; main(['config']); "
        "sys.exit(any(m in sys.modules for m in ('discord', 'aiohttp', 'bridge.rehearsal')))"
    )
    done = bridge("-c", script, cwd=tmp_path, program=(sys.executable,))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_bot_itself_loads_nothing_of_the_rehearsal(tmp_path: Path) -> None:
    script = "import sys, bridge.service; sys.exit('bridge.rehearsal' in sys.modules)"
    done = bridge("-c", script, cwd=tmp_path, program=(sys.executable, "-W", "ignore"))
    assert (done.returncode, done.stderr) == (0, "")
