"""Which folders sessions may work in: those below the roots that the operator allows.

Everything here blocks for a look at the disk.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST = 25
"""Completions that Discord shows."""

_LOOKED_AT = 2000


class Outside(Exception):
    """The folder is not there, or not below any root; the text says which."""


def resolve(text: str, roots: Iterable[Path]) -> Path:
    """The folder that somebody named: absolute, or relative to a root; raises `Outside`.

    Links count as what they lead to.
    """
    roots = tuple(roots)
    wanted = Path(text.strip())
    found = [root / wanted for root in roots if (root / wanted).is_dir()]
    if not text.strip() or not found:
        raise Outside("There is no such folder.")
    real = found[0].resolve()
    if not any(real.is_relative_to(root.resolve()) for root in roots):
        raise Outside("That folder is not one of those that the operator allows.")
    return real


def completions(typed: str, roots: Iterable[Path]) -> list[Path]:
    """Folders to offer: the roots, what stands in them, and what stands below what is typed."""
    roots = tuple(root.resolve() for root in roots)
    offered = dict.fromkeys((*roots, *(path for root in roots for path in _within(root))))
    deeper = typed.strip().rstrip("/")
    if "/" in deeper:
        head = deeper if typed.strip().endswith("/") else deeper.rpartition("/")[0]
        with contextlib.suppress(Outside):
            offered |= dict.fromkeys(_within(resolve(head or "/", roots)))
    words = typed.casefold().split()
    return [path for path in offered if all(w in str(path).casefold() for w in words)][:MOST]


def _within(folder: Path) -> Iterator[Path]:
    """The folders in a folder by name, hidden ones left out; links stay outside."""
    try:
        entries = [path for path, _ in zip(folder.iterdir(), range(_LOOKED_AT), strict=False)]
    except OSError:
        return
    for path in sorted(entries):
        if not path.name.startswith(".") and not path.is_symlink() and path.is_dir():
            yield path
