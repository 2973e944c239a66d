"""The command as a process, in folders of its own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(home: Path, **variables: str) -> dict[str, str]:
    """What the command is started with: nothing of the machine that runs the tests."""
    return {"PYTHONPATH": str(ROOT), "HOME": str(home), "PYTHONUTF8": "1", **variables}


def command(*words: str) -> list[str]:
    """The command with these words."""
    return [sys.executable, "-m", "compaction", *words]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the command in a folder, with these variables."""

    def start(
        *words: str, cwd: Path = tmp_path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words),
            cwd=cwd,
            env=environment(tmp_path, **variables),
            capture_output=True,
            text=True,
            timeout=60,
        )

    return start
