"""The programs that the scripts start: each tells how it was started."""

import json
import os
import sys
from pathlib import Path


def bridge() -> None:
    """In the place of `claude-bridge`."""
    started = {
        "arguments": sys.argv[1:],
        "folder": str(Path.cwd()),
        "claude": os.environ.get("BRIDGE_CLAUDE"),
    }
    print(json.dumps(started))  # noqa: T201 - a command line speaks to a terminal


def ruff() -> None:
    """In the place of the linter, which STANDIN_RUFF can make fail."""
    sys.exit(int(os.environ.get("STANDIN_RUFF", "0")))


def pyright() -> None:
    """In the place of the type checker."""
