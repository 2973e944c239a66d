"""The whole examination, through the front door."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from bridge import doctor
from bridge.rehearsal.discord import LoopbackDiscord
from state import Store

TOKEN = "a.valid.token"

Report = Callable[..., Coroutine[Any, Any, tuple[int, str]]]


@pytest.fixture
def environ(
    discord: LoopbackDiscord, make_cli: Callable[..., Path], tmp_path: Path
) -> dict[str, str]:
    """A set-up without a fault."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return {
        "DISCORD_TOKEN": TOKEN,
        "BRIDGE_DISCORD_URL": f"{discord.url}/api/v10",
        "BRIDGE_STATE_DIR": str(tmp_path / "state"),
        "BRIDGE_PROJECT_DIR": str(project),
        "BRIDGE_CHANNELS": discord.general,
        "BRIDGE_PERMISSION_MODE": "bypassPermissions",
        "BRIDGE_CLAUDE": str(make_cli()),
        "IS_SANDBOX": "1",  # in case that the tests run as root
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }


@pytest.fixture
def report(environ: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Report:
    """Examines the set-up with these variables changed: the exit code and the printed report."""

    async def examine(**changed: str | None) -> tuple[int, str]:
        merged = {**environ, **changed}
        code = await doctor.main({key: value for key, value in merged.items() if value is not None})
        out = capsys.readouterr().out
        assert TOKEN not in out
        return code, out

    return examine


async def test_a_good_set_up_is_in_order(report: Report) -> None:
    code, out = await report()
    assert out.splitlines()[-1] == "Everything is in order."
    assert code == 0


async def test_a_warning_is_no_failure(report: Report, tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").rmdir()
    code, out = await report()
    assert out.splitlines()[-1] == "1 warning."
    assert code == 0


async def test_one_fault_does_not_hide_another(report: Report) -> None:
    code, out = await report(DISCORD_TOKEN="wrong.token", IS_SANDBOX="1", BRIDGE_PROJECT_DIR="/no")
    assert code == 1
    faults = [line.split()[1] for line in out.splitlines() if line.startswith("FAIL")]
    assert faults == ["token", "project"]
    assert "wrong.token" not in out


async def test_every_fault_of_the_configuration_is_told_at_once(report: Report) -> None:
    code, out = await report(BRIDGE_MAX_PROCESSES="none", BRIDGE_IDLE_TIMEOUT="-3")
    assert code == 1
    assert "BRIDGE_MAX_PROCESSES" in out
    assert "BRIDGE_IDLE_TIMEOUT" in out


async def test_without_a_token_the_machine_is_still_looked_at(
    report: Report, discord: LoopbackDiscord
) -> None:
    code, out = await report(DISCORD_TOKEN=None)
    assert code == 1
    assert "DISCORD_TOKEN" in out
    assert "project folder" in out
    assert "claude" in out
    assert not discord.exchanges


async def test_a_missing_cli_is_told_with_the_way_to_get_one(report: Report) -> None:
    code, out = await report(BRIDGE_CLAUDE="/no/such/claude")
    assert code == 1
    assert "/no/such/claude" in out
    assert "-> " in out


async def test_a_bot_at_work_is_no_fault(report: Report, tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "state")
    try:
        code, out = await report()
    finally:
        await store.close()
    assert code == 0
    assert "held by a running bot" in out


async def test_the_cli_never_sees_the_token(
    report: Report, make_cli: Callable[..., Path], tmp_path: Path
) -> None:
    make_cli(status=f'env > "{tmp_path}/seen"; echo "{{}}"')
    await report()
    assert TOKEN not in (tmp_path / "seen").read_text()


async def test_the_command_line_examines(environ: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bridge", "doctor"),
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert out.decode().splitlines()[-1] == "Everything is in order."
