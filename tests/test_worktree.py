"""A worktree is the thread's own, and nothing in it is thrown away unless somebody says so."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import worktree
from bridge.worktree import GitFault, NoRepository
from state import Worktree

ME = ("-c", "user.name=Me", "-c", "user.email=me@example.invalid")


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *ME, "-C", str(where), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(where: Path, name: str) -> None:
    (where / name).write_text(name)
    git(where, "add", "--all")
    git(where, "commit", "-q", "-m", f"Add {name}")


def present(where: str | Path, *parts: str) -> bool:
    return Path(where, *parts).exists()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    (path / "web").mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    commit(path, "web/page.html")
    return path


@pytest.fixture
async def tree(home: Path, tmp_path: Path) -> Worktree:
    made, folder = await worktree.create(home, tmp_path / "trees" / "5", "claude/x-000005")
    assert folder == Path(made.path)
    return made


async def test_a_worktree_has_the_files_and_a_branch_of_its_own(home: Path, tree: Worktree) -> None:
    path = Path(tree.path)
    assert present(path, "web", "page.html")
    assert git(path, "branch", "--show-current") == "claude/x-000005"
    assert git(home, "branch", "--show-current") == "main"
    assert tree.base == git(home, "rev-parse", "HEAD")
    state = await worktree.look(tree)
    assert state.clean
    assert state.merged
    assert state.words == "clean, nothing unmerged"


async def test_a_thread_that_worked_in_a_subfolder_works_in_the_same_one(
    home: Path, tmp_path: Path
) -> None:
    made, folder = await worktree.create(home / "web", tmp_path / "t", "b")
    assert made.home == str(home / "web")
    assert folder == tmp_path / "t" / "web"


async def test_what_is_not_committed_and_not_merged_is_seen(tree: Worktree) -> None:
    path = Path(tree.path)
    commit(path, "new.txt")
    (path / "draft.txt").write_text("draft")
    (path / "web" / "page.html").write_text("changed")
    state = await worktree.look(tree)
    assert (state.changed, state.ahead) == (2, 1)
    assert state.tip == git(path, "rev-parse", "--short", "HEAD")
    assert "2 uncommitted files, 1 unmerged commits" in state.words


async def test_a_dirty_worktree_is_not_removed(tree: Worktree) -> None:
    (Path(tree.path) / "draft.txt").write_text("draft")
    with pytest.raises(GitFault):
        await worktree.remove(tree)
    assert present(tree.path, "draft.txt")


async def test_an_unmerged_branch_is_not_removed(home: Path, tree: Worktree) -> None:
    commit(Path(tree.path), "new.txt")
    with pytest.raises(GitFault):
        await worktree.remove(tree)
    assert tree.branch in git(home, "branch", "--list", tree.branch)


async def test_what_is_merged_goes_with_its_branch(home: Path, tree: Worktree) -> None:
    commit(Path(tree.path), "new.txt")
    git(home, "merge", "-q", tree.branch)
    await worktree.remove(tree)
    assert not present(tree.path)
    assert git(home, "branch", "--list", tree.branch) == ""
    assert present(home, "new.txt")


async def test_what_is_abandoned_goes_whatever_is_in_it(home: Path, tree: Worktree) -> None:
    commit(Path(tree.path), "new.txt")
    (Path(tree.path) / "draft.txt").write_text("draft")
    await worktree.remove(tree, abandon=True)
    assert not present(tree.path)
    assert git(home, "branch", "--list", tree.branch) == ""


async def test_a_worktree_whose_folder_is_gone_can_still_be_let_go(tree: Worktree) -> None:
    git(Path(tree.home), "worktree", "remove", "--force", tree.path)
    state = await worktree.look(tree)
    assert not state.there
    await worktree.remove(tree)


async def test_a_folder_without_a_repository_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(NoRepository):
        await worktree.create(tmp_path, tmp_path / "t", "b")
    git(tmp_path, "init", "-q")
    with pytest.raises(NoRepository):
        await worktree.create(tmp_path, tmp_path / "t", "b")
    assert not present(tmp_path, "t")


async def test_hooks_of_the_repository_do_not_run(home: Path, tmp_path: Path) -> None:
    hook = home / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    await worktree.create(home, tmp_path / "t", "b")
    assert not present(tmp_path, "ran")


@given(st.text(max_size=120), st.integers(0, 2**63))
def test_a_branch_name_is_one_that_git_takes(title: str, thread: int) -> None:
    name = worktree.branch_name(title, thread)
    assert name.startswith("claude/")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-/")
    assert "--" not in name
    assert len(name) <= 60
