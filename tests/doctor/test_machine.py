"""Folders, disk and kernel, on the real ones."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.doctor import Finding, machine

HOLD = """
import fcntl, os, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(os.getpid(), file=lock, flush=True)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A folder in which nobody can make a file, root neither."""
    folder = Path("/proc/self/fdinfo") if os.geteuid() == 0 else tmp_path / "closed"
    if os.geteuid() != 0:
        folder.mkdir(mode=0o500)
    return folder


def test_a_private_state_folder_is_well(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    found = machine.state_folder(folder)
    assert (found.ok, found.detail) == (True, str(folder))


def test_a_state_folder_to_be_made_is_well_and_is_not_made(tmp_path: Path) -> None:
    found = machine.state_folder(tmp_path / "a" / "b")
    assert found.ok is True
    assert "will be made" in found.detail
    assert not list(tmp_path.iterdir())


def test_a_state_folder_open_to_others_is_warned_of(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o755)
    found = machine.state_folder(folder)
    assert found.ok is None
    assert found.todo == (f"chmod 700 '{folder}'",)


@pytest.mark.parametrize("check", [machine.state_folder, machine.project_folder])
def test_an_unwritable_folder_is_a_fault(
    check: Callable[[Path], Finding], unwritable: Path
) -> None:
    found = check(unwritable)
    assert found.ok is False
    assert "cannot be written" in found.detail
    assert found.todo


def test_a_file_in_the_folders_place_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert machine.state_folder(file / "state").ok is False
    assert machine.project_folder(file).ok is False
    assert machine.claude_folder({"HOME": str(file)}).ok is False


def test_the_holder_of_the_lock_is_named_and_not_disturbed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        found = machine.state_folder(tmp_path)
        assert found.ok is True
        assert f"held by a running bot (pid {holder.pid})" in found.detail
        holder.stdin.close()
        assert holder.wait() == 0
    assert "held" not in machine.state_folder(tmp_path).detail


def test_a_missing_project_folder_is_a_fault(tmp_path: Path) -> None:
    found = machine.project_folder(tmp_path / "none")
    assert found.ok is False
    assert "does not exist" in found.detail


def test_a_project_without_git_is_warned_of(tmp_path: Path) -> None:
    assert machine.project_folder(tmp_path).ok is None
    (tmp_path / ".git").mkdir()
    (tmp_path / "part").mkdir()
    assert machine.project_folder(tmp_path).ok is True
    assert machine.project_folder(tmp_path / "part").ok is True


def test_claudes_folder_is_the_one_that_the_cli_will_use(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    assert str(home / ".claude") in machine.claude_folder({"HOME": str(home)}).detail
    environ = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(other)}
    assert str(other) in machine.claude_folder(environ).detail


def test_the_fullest_disk_counts(tmp_path: Path) -> None:
    found = machine.disk([tmp_path, tmp_path / "to be made"])
    assert str(tmp_path) in found.detail
    assert "GB free" in found.detail
    # /proc is a disk without any room
    assert machine.disk([tmp_path, Path("/proc")]).ok is None


def test_this_kernel_has_what_is_needed() -> None:
    assert machine.linux().ok is True


@pytest.mark.parametrize(
    ("uid", "mode", "environ", "ok"),
    [
        (1000, "bypassPermissions", {}, True),
        (0, "default", {}, None),
        (0, "bypassPermissions", {}, False),
        (0, "bypassPermissions", {"IS_SANDBOX": "0"}, False),
        (0, "bypassPermissions", {"IS_SANDBOX": "1"}, True),
    ],
)
def test_root_without_permission_checks_needs_a_sandbox(
    uid: int, mode: str, environ: dict[str, str], ok: bool | None
) -> None:
    found = machine.user(mode, environ, uid)
    assert found.ok is ok
    assert bool(found.todo) is (ok is not True)
