"""Where the CLI keeps sessions, and which one is meant."""

import re
from collections.abc import Mapping, Sequence
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
    """The transcript of a file's name or a session's id, or the beginning of one that is unique.

    The current folder's project comes first, and a whole id before a beginning. Raises `NotFound`.
    """
    path = Path(name)
    if path.is_file():
        return path.resolve()
    if not _SID.fullmatch(name):
        raise NotFound(f"there is no file {name}")
    root = projects(environ)
    own = project(root, cwd)
    for folders, ending in ((own.name, ""), ("*", ""), (own.name, "*"), ("*", "*")):
        found = sorted(root.glob(f"{folders}/{name}{ending}.jsonl"))
        if len(found) > 1:
            raise NotFound(_several(name, found))
        if found:
            return found[0]
    raise NotFound(f"there is no session {name} below {root}")


def _several(name: str, found: Sequence[Path]) -> str:
    ids = sorted({path.stem for path in found})
    if len(ids) == 1:
        return f"session {ids[0]} is in {len(found)} projects: name its file instead"
    few = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
    return f"{len(ids)} sessions begin with {name}: {few}"


def newest_first(folder: Path) -> list[Path]:
    """The sessions of a project."""
    found = ((path.stat().st_mtime, path) for path in folder.glob("*.jsonl"))
    return [path for _, path in sorted(found, reverse=True)]
