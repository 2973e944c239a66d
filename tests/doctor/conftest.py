"""What several of the doctor's tests look at: a loopback Discord, and a program like the CLI."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bridge.doctor.cli import needed_flags
from bridge.rehearsal.discord import LoopbackDiscord

MakeCli = Callable[..., Path]


@pytest.fixture
async def discord() -> AsyncIterator[LoopbackDiscord]:
    server = LoopbackDiscord(token="a.valid.token")
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def make_cli(tmp_path: Path) -> MakeCli:
    """Makes a program that answers the doctor's three questions."""

    def make(
        *,
        usage: str = " ".join(sorted(needed_flags())),
        status: str = """echo '{"loggedIn": true, "authMethod": "api_key"}'""",
    ) -> Path:
        path = tmp_path / "claude"
        path.write_text(
            "#!/bin/sh\n"
            'case "$1" in\n'
            "--version) echo '2.1.197 (Claude Code)' ;;\n"
            f"--help) echo '{usage}' ;;\n"
            f"auth) {status} ;;\n"
            "esac\n"
        )
        path.chmod(0o755)
        return path

    return make
