"""A git worktree with a branch of its own for one thread: made, looked at, and removed with care.

git runs as a program with arguments, never through a shell, and without the hooks of the
repository: nothing of a checkout is to run because somebody pressed Enter in Discord.
"""

import asyncio
import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from state import Worktree

PATIENCE = 120.0
"""Seconds that one call of git may take."""

_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_SLUG = re.compile(r"[^a-z0-9]+")


class GitFault(Exception):
    """git refused, and these are its words."""


class NoRepository(GitFault):
    """The folder is in no git repository, or in one without a commit."""


@dataclass(frozen=True, slots=True)
class State:
    """How a worktree stands. Unreadable counts as dirty: nothing is thrown away unseen."""

    there: bool
    changed: int
    """Files that are not committed, new ones included."""
    ahead: int
    """Commits of the branch that the folder it came from does not have."""
    tip: str
    """The commit at which the branch stands, shortened."""

    @property
    def clean(self) -> bool:
        """Removing the folder would lose nothing."""
        return not self.changed

    @property
    def merged(self) -> bool:
        """Removing the branch would lose nothing."""
        return not self.ahead

    @property
    def words(self) -> str:
        """For a person."""
        if not self.there:
            return "its folder is gone"
        files = f"{self.changed} uncommitted files" if self.changed else "clean"
        commits = "nothing unmerged" if self.merged else f"{self.ahead} unmerged commits"
        return f"{files}, {commits}"


def branch_name(title: str, thread: int) -> str:
    """A branch's name from a thread's title; unique by the thread's id."""
    slug = _SLUG.sub("-", title.lower()).strip("-")[:40].strip("-")
    return f"claude/{slug or 'thread'}-{thread % 1_000_000:06}"


async def create(home: Path, path: Path, branch: str) -> tuple[Worktree, Path]:
    """Make a worktree at `path` from the commit at which `home` stands; raises `GitFault`.

    Also returns the folder to work in: in the worktree what `home` is in its repository.
    """
    try:
        inside = await _git(home, "rev-parse", "--show-prefix")
        base = await _git(home, "rev-parse", "--verify", "HEAD^{commit}")
    except GitFault as fault:
        raise NoRepository(str(fault)) from None
    await asyncio.to_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
    await _git(home, "worktree", "add", "--quiet", "-b", branch, "--", str(path), base)
    tree = Worktree(path=str(path), branch=branch, base=base, home=str(home))
    return tree, path / inside if _is_folder(path / inside) else path


async def look(tree: Worktree) -> State:
    """How a worktree stands now; raises `GitFault` where git cannot tell."""
    home = Path(tree.home)
    tip = await _git(home, "rev-parse", "--short", "--verify", f"refs/heads/{tree.branch}")
    ahead = int(await _git(home, "rev-list", "--count", f"HEAD..refs/heads/{tree.branch}"))
    if not _is_folder(Path(tree.path)):
        return State(False, 0, ahead, tip)
    listed = await _git(Path(tree.path), "status", "--porcelain", "--untracked-files=all")
    return State(True, len(listed.splitlines()), ahead, tip)


async def remove(tree: Worktree, *, abandon: bool = False) -> None:
    """Remove a worktree and its branch; raises `GitFault`.

    Without `abandon`, git itself refuses what is dirty, and what is not merged.
    """
    home = Path(tree.home)
    if _is_folder(Path(tree.path)):
        force = ["--force"] if abandon else []
        await _git(home, "worktree", "remove", *force, "--", tree.path)
    await _git(home, "worktree", "prune")
    await _git(home, "branch", "-D" if abandon else "-d", "--", tree.branch)


def _is_folder(path: Path) -> bool:
    return path.is_dir()


async def _git(where: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        git = await asyncio.create_subprocess_exec(
            *("git", *_OPTIONS, "-C", str(where), *arguments),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as missing:
        raise GitFault(f"git cannot be started: {missing.strerror}") from None
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await git.communicate()
    except TimeoutError:
        raise GitFault(f"git took longer than {PATIENCE:.0f} s") from None
    finally:
        if git.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                git.kill()
            await git.wait()
    if git.returncode:
        raise GitFault(err.decode(errors="replace").strip() or f"git failed ({git.returncode})")
    return out.decode(errors="surrogateescape").rstrip("\n")
