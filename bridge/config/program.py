"""Finding the Claude Code CLI."""

import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from bridge.config.settings import Config


class ClaudeNotFound(Exception):
    """There is no CLI to run; the text says what to do."""


def find_claude(config: Config, environ: Mapping[str, str]) -> Path:
    """The CLI that the settings name, else `claude` on PATH, else the one that the SDK bundles."""
    if config.claude is not None:
        if _runs(config.claude):
            return config.claude
        raise ClaudeNotFound(
            f"BRIDGE_CLAUDE is {config.claude}, which is no program that can be run. "
            "Let it name the `claude` program, or leave it out to have one found."
        )
    if found := shutil.which("claude", path=environ.get("PATH", "")):
        return Path(found).absolute()
    if (bundled := _bundled()) is not None:
        return bundled
    raise ClaudeNotFound(
        "There is no Claude Code CLI on PATH. Install it (`pip install claude-thread-bridge[cli]` "
        "brings one along), or let BRIDGE_CLAUDE name it."
    )


def _bundled() -> Path | None:
    # Looked for, not imported: the SDK itself would cost the bot many megabytes.
    spec = importlib.util.find_spec("claude_agent_sdk")
    folders = spec.submodule_search_locations if spec is not None else None
    paths = (Path(folder) / "_bundled" / "claude" for folder in folders or ())
    return next(filter(_runs, paths), None)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
