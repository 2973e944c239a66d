"""A writer that dies at any step leaves no new session or a whole one, and the old one alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from compaction.transcript import Transcript
from tests.compaction.transcript import law
from tests.compaction.transcript.sessions import name, plain

ROOT = Path(__file__).parents[3]
SID = name(-3)

WRITER = """
import os, sys
from pathlib import Path
from compaction.decisions import Decision
from compaction.sibling import write
from compaction.transcript import Transcript

path, at, sid = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
count = 0

def die_in_time(event, arguments):
    # Every step that changes the file system is announced before it is taken.
    global count
    changes = event in ("open", "os.link", "os.remove", "os.rename")
    if changes and str(path.parent) in str(arguments[0]):
        count += 1
        if count == at:
            os._exit(9)

transcript = Transcript.read(path)
calls = [use.tool_use_id for m in transcript.messages for use in m.tool_uses]
sys.addaudithook(die_in_time)
write(transcript, {name: Decision(name, "stub", "test") for name in calls}, sid=sid)
"""


def run(path: Path, at: int) -> int:
    """Write in a process that dies at its `at`-th step; returns its exit code."""
    arguments = [sys.executable, "-c", WRITER, str(path), str(at), SID]
    return subprocess.run(arguments, cwd=ROOT, check=False).returncode


def test_a_crash_at_any_step_leaves_nothing_or_a_whole_session(tmp_path: Path) -> None:
    found: list[bool] = []
    for at in range(1, 20):
        folder = tmp_path / str(at)
        path = plain().save(folder)
        before = path.read_bytes()
        code = run(path, at)
        assert path.read_bytes() == before
        new = path.with_name(f"{SID}.jsonl")
        found.append(new.exists())
        if new.exists():
            assert law.violations(new) == []
            assert len(Transcript.read(new).records) == len(Transcript.read(path).records)
        if code == 0:
            break
        assert code == 9
        again = run(path, 0)
        assert (again == 0) != found[-1], "what a crash left stands in nobody's way"
    assert found[0] is False
    assert found[-1] is True
    assert len(found) >= 4


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_draft_that_was_cut_short_is_no_session(tmp_path: Path, share: float) -> None:
    path = plain().save(tmp_path)
    draft = path.with_name(f".{SID}.draft")
    data = path.read_bytes()
    draft.write_bytes(data[: int(len(data) * share)])
    assert [*path.parent.glob("*.jsonl")] == [path]
    assert run(path, 0) == 0
    assert not draft.exists()
    assert law.violations(path.with_name(f"{SID}.jsonl")) == []
