"""The CLI: the real one, and stand-ins for what a real one cannot be made to be."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.doctor import Finding
from bridge.doctor.cli import examine_cli, needed_flags


def bundled() -> Path | None:
    """The real CLI, as the official SDK brings it."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    claude = Path(spec.origin).with_name("_bundled") / "claude"
    return claude if claude.exists() else None


MakeCli = Callable[..., Path]

REAL = bundled()
needs_cli = pytest.mark.skipif(REAL is None, reason="no bundled CLI is installed")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """What lets a CLI run without a home and without a network."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


async def examine(claude: Path, environ: dict[str, str]) -> dict[str, Finding]:
    return {finding.name: finding for finding in await examine_cli(claude, environ)}


@needs_cli
async def test_the_real_cli_has_all_that_is_used(environ: dict[str, str]) -> None:
    assert REAL is not None
    found = await examine(REAL, {**environ, "ANTHROPIC_API_KEY": "sk-ant-x"})
    assert found["claude"].ok is True
    assert str(REAL) in found["claude"].detail
    assert found["login"].ok is True
    assert "ANTHROPIC_API_KEY" in found["login"].detail
    assert "sk-ant-x" not in found["login"].detail


@needs_cli
async def test_the_real_cli_without_a_login_is_a_fault(environ: dict[str, str]) -> None:
    assert REAL is not None
    found = await examine(REAL, environ)
    assert found["login"].ok is False
    assert found["login"].todo[0].endswith(f"{REAL} auth login")


async def test_an_old_cli_is_told_by_the_flags_that_it_lacks(
    make_cli: MakeCli, environ: dict[str, str]
) -> None:
    usage = " ".join(sorted(needed_flags() - {"--autocompact"}))
    found = await examine(make_cli(usage=usage), environ)
    assert found["claude"].ok is False
    assert found["claude"].detail.endswith("is too old: no --autocompact")
    assert "claude update" in found["claude"].todo[0]


async def test_a_longer_flag_does_not_stand_for_a_shorter_one(
    make_cli: MakeCli, environ: dict[str, str]
) -> None:
    usage = " ".join(f"{flag}-more" for flag in needed_flags())
    found = await examine(make_cli(usage=usage), environ)
    assert found["claude"].ok is False


async def test_a_program_that_cannot_run_is_a_fault(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    claude = tmp_path / "claude"
    claude.write_bytes(b"\x7fELF broken")
    claude.chmod(0o755)
    found = await examine(claude, environ)
    assert found["claude"].ok is False
    assert "does not run" in found["claude"].detail


async def test_a_program_that_fails_is_a_fault(tmp_path: Path, environ: dict[str, str]) -> None:
    claude = tmp_path / "claude"
    claude.write_text("#!/bin/sh\necho 'no room left' >&2\nexit 3\n")
    claude.chmod(0o755)
    found = await examine(claude, environ)
    assert found["claude"].ok is False
    assert "no room left" in found["claude"].detail


@pytest.mark.parametrize("status", ["echo 'unknown command: auth'; exit 1", "echo '[1]'", "true"])
async def test_a_login_that_cannot_be_told_is_a_warning(
    make_cli: MakeCli, environ: dict[str, str], status: str
) -> None:
    found = await examine(make_cli(status=status), environ)
    assert found["claude"].ok is True
    assert found["login"].ok is None


async def test_the_cli_sees_only_the_sessions_environment(
    make_cli: MakeCli, tmp_path: Path, environ: dict[str, str]
) -> None:
    claude = make_cli(status=f'env > "{tmp_path}/seen"; echo "{{}}"')
    await examine(claude, environ)
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert {name: seen[name] for name in environ} == environ
    assert set(seen) - set(environ) <= {"PWD", "SHLVL", "_", "OLDPWD"}


def test_the_flags_are_those_of_a_start_a_resume_and_a_fork() -> None:
    assert {"--session-id", "--resume", "--fork-session", "--autocompact"} <= needed_flags()
    assert "--permission-prompt-tool" not in needed_flags()  # works, but is not listed
