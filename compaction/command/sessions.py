"""Where the CLI keeps sessions, and which one is meant."""

import re
from collections.abc import Mapping
from pathlib import Path

_SID = re.compile(r"[0-9A-Za-z-]+")


class NotFound(Exception):
    """No session has that id, and no file that name."""


def projects(environ: Mapping[str, str]) -> Path:
    """The folder of all projects."""
    own = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(own) if own else Path.home() / ".claude") / "projects"


def project(root: Path, cwd: Path) -> Path:
    """The folder of the project that belongs to a working folder."""
    return root / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))


def find(name: str, environ: Mapping[str, str], cwd: Path) -> Path:
    """The transcript of a file's name or a session's id; raises `NotFound`."""
    path = Path(name)
    if path.is_file():
        return path.resolve()
    if not _SID.fullmatch(name):
        raise NotFound(f"there is no file {name}")
    root = projects(environ)
    own = project(root, cwd) / f"{name}.jsonl"
    if own.is_file():
        return own
    others = sorted(root.glob(f"*/{name}.jsonl"))
    if not others:
        raise NotFound(f"there is no session {name} below {root}")
    if len(others) > 1:
        raise NotFound(f"session {name} is in {len(others)} projects: name its file instead")
    return others[0]


def newest_first(folder: Path) -> list[Path]:
    """The sessions of a project."""
    found = ((path.stat().st_mtime, path) for path in folder.glob("*.jsonl"))
    return [path for _, path in sorted(found, reverse=True)]
