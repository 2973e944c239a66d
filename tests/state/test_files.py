"""Replacing the file: killed at any step, there is a whole state, old or new."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from state.files import StateFile, duplicate

# The child kills itself just before the N-th thing it would do to the folder. Python announces
# each of them to audit hooks, so no step can be forgotten here.
KILLED_AT_STEP = """
import os, signal, sys
from pathlib import Path
from state.files import StateFile

folder, left = Path(sys.argv[1]), int(sys.argv[2])
files = StateFile(folder)
files.remove_leftovers()

def step(event, arguments):
    global left
    if event.startswith(("open", "os.")) and any(str(folder) in str(a) for a in arguments):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
files.replace([sys.argv[3].encode()])
"""


def replace_in_child(folder: Path, step: int, content: str) -> int:
    command = [sys.executable, "-c", KILLED_AT_STEP, str(folder), str(step), content]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, timeout=60, check=False).returncode


def test_a_kill_between_any_two_steps_leaves_a_whole_file(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    files.replace([b"0"])
    content = 0
    for step in range(20):
        before = files.path.read_text()
        content += 1
        ended = replace_in_child(tmp_path, step, str(content))
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
        assert files.path.read_text() in (before, str(content))
        assert not files.backup.exists() or files.backup.read_text() <= before
    else:
        pytest.fail("the replacement never came to its end")
    assert step > 4
    assert files.path.read_text() == str(content)
    assert files.backup.read_text() == before
    files.remove_leftovers()
    assert {path.name for path in tmp_path.iterdir()} == {"state.json", "state.json.bak"}


def test_the_file_before_is_the_backup(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    for content in (b"1", b"2", b"3"):
        files.replace([content])
    assert (files.path.read_bytes(), files.backup.read_bytes()) == (b"3", b"2")


def test_what_people_wrote_is_for_the_owner_only(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    files.replace([b"1"])
    assert files.path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_one_with_its_backup_can_be_replaced(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    files.replace([b"1"])
    os.link(files.path, files.backup)
    files.replace([b"2"])
    files.replace([b"3"])
    assert (files.path.read_bytes(), files.backup.read_bytes()) == (b"3", b"2")


def test_nothing_that_was_set_aside_is_ever_overwritten(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    names: list[str] = []
    for content in (b"1", b"2", b"3"):
        files.replace([content])
        names.append(files.set_aside(files.path, mark="v0", keep=False).name)
    assert names == ["state.json.v0", "state.json.v0-2", "state.json.v0-3"]
    assert [(tmp_path / name).read_bytes() for name in names] == [b"1", b"2", b"3"]
    assert not files.path.exists()


def test_where_there_are_no_hard_links_a_copy_does(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system, between which there are no hard links")
    source = tmp_path / "state.json"
    source.write_bytes(b"1")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        target = Path(folder) / "copy"
        duplicate(source, target)
        source.write_bytes(b"2")
        with pytest.raises(FileExistsError):
            duplicate(source, target)
        assert target.read_bytes() == b"1"
        assert target.stat().st_mode & 0o777 == 0o600
