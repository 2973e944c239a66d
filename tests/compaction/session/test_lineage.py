"""Where a compacted session came from, the way back, and what is cleared away."""

import json
import os
import shutil
from pathlib import Path

import pytest

from compaction import lineage
from compaction.lineage import ABANDONED, NAME, Manifest, NotCompacted
from compaction.session import Request, compact_session
from compaction.sibling import Refused
from tests.compaction.session.work import save, tree, working
from tests.compaction.transcript.sessions import Json, name

DAY = 86400.0


def compacted(path: Path, strategy: str = "balanced") -> Path:
    """A smaller session beside one."""
    made = compact_session(path, Request(strategy))
    assert made.path is not None
    return made.path


def say(path: Path, words: str, kind: str = "user") -> None:
    """Let something be said in a session."""
    records: list[Json] = [json.loads(line) for line in path.read_bytes().splitlines()]
    tip = next(record for record in reversed(records) if "uuid" in record)
    record = {
        **tip,
        "type": kind,
        "uuid": name(len(records) + 5000),
        "parentUuid": tip["uuid"],
        "message": {"role": kind, "content": [{"type": "text", "text": words}]},
    }
    with path.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")


def used(path: Path, at: float) -> None:
    os.utime(path, (at, at))


def at(path: Path) -> float:
    found = lineage.manifest_of(path)
    assert found is not None
    return found.at


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    manifest = Manifest(name(1), path.stem, 5.0, "auto", 100, 40, {"toolu_1": "0001.txt"})
    with lineage.beside(path, manifest, {"0001.txt": "whole\r\n\ud83d"}):
        pass
    assert lineage.manifest_of(path.with_name(f"{name(1)}.jsonl")) == manifest
    kept = path.with_name(name(1)) / "tool-results" / "0001.txt"
    assert kept.read_bytes() == "whole\r\n\ud83d".encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_a_session_that_is_not_written_leaves_no_trace(
    tmp_path: Path, fault: type[BaseException]
) -> None:
    path = save(working(), tmp_path)
    before = tree(tmp_path)
    manifest = Manifest(name(1), path.stem, 5.0, "auto", 100, 40)
    with pytest.raises(fault), lineage.beside(path, manifest, {"0001.txt": "whole"}):
        raise fault
    assert tree(tmp_path) == before
    assert [*path.parent.iterdir()] == [path]


def test_a_session_that_was_not_compacted_has_no_manifest_and_no_way_back(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    assert lineage.manifest_of(path) is None
    assert lineage.origin(path) == []
    with pytest.raises(NotCompacted, match="was not made by a compaction"):
        lineage.undo(path)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"source": 5}', b"\xff"])
def test_a_manifest_that_is_none_is_no_manifest(tmp_path: Path, data: bytes) -> None:
    path = save(working(), tmp_path)
    path.with_suffix("").mkdir()
    (path.with_suffix("") / NAME).write_bytes(data)
    assert lineage.manifest_of(path) is None


def test_the_origin_is_told_back_to_the_first_session(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    third = compacted(second, "aggressive")
    assert lineage.origin(third) == [second, first]
    second.unlink()
    assert lineage.origin(third) == []


def test_undo_removes_a_session_in_which_nothing_was_said(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    before = tree(tmp_path)
    undone = lineage.undo(compacted(first))
    assert (undone.sid, undone.path, undone.since, undone.removed) == (first.stem, first, 0, True)
    assert tree(tmp_path) == before
    assert [*first.parent.iterdir()] == [first]


def test_undo_keeps_a_session_in_which_something_was_said(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    say(second, "And now the lexer.")
    say(second, "It is faster.", "assistant")
    say(second, "Thanks.")
    before = tree(tmp_path)
    undone = lineage.undo(second)
    assert (undone.path, undone.since, undone.removed) == (first, 2, False)
    assert tree(tmp_path) == before


def test_undo_keeps_what_a_later_session_names(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    third = compacted(second, "aggressive")
    before = tree(tmp_path)
    assert lineage.undo(second).removed is False
    assert tree(tmp_path) == before
    assert lineage.undo(third).path == second
    assert lineage.undo(second).removed is True


def test_undo_without_the_first_session_is_refused(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    first.unlink()
    with pytest.raises(NotCompacted, match="is gone"):
        lineage.undo(second)
    assert second.exists()


def test_undo_while_a_process_has_the_session_is_refused(tmp_path: Path) -> None:
    second = compacted(save(working(), tmp_path))
    register = tmp_path / "sessions" / f"{os.getpid()}.json"
    register.parent.mkdir()
    register.write_text(json.dumps({"pid": os.getpid(), "sessionId": second.stem}))
    with pytest.raises(Refused, match="has the session open"):
        lineage.undo(second)
    assert second.exists()


# --- what is cleared away -------------------------------------------------------------------------
def test_archives_in_use_stay_without_a_retention(tmp_path: Path) -> None:
    second = compacted(save(working(), tmp_path))
    before = tree(tmp_path)
    assert lineage.sweep(second.parent, retention_days=0, now=at(second) + 10_000 * DAY) == []
    assert tree(tmp_path) == before


def test_archives_go_with_the_sessions_that_need_them(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    third = compacted(second, "aggressive")
    folders = {second.with_suffix(""), third.with_suffix("")}
    later = at(third) + ABANDONED + 1
    second.unlink()
    assert lineage.sweep(first.parent, retention_days=0, now=later) == []
    third.unlink()
    assert lineage.sweep(first.parent, retention_days=0, now=at(second) + 1) == []
    assert {*lineage.sweep(first.parent, retention_days=0, now=later)} == folders
    assert [*first.parent.iterdir()] == [first]


def test_archives_that_a_fork_names_stay(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    fork = second.with_name(f"{name(77)}.jsonl")
    shutil.copy(second, fork)
    second.unlink()
    later = at(second) + ABANDONED + 1
    assert lineage.sweep(first.parent, retention_days=0, now=later) == []
    fork.unlink()
    assert lineage.sweep(first.parent, retention_days=0, now=later) == [second.with_suffix("")]


def test_a_retention_counts_from_the_last_use(tmp_path: Path) -> None:
    second = compacted(save(working(), tmp_path))
    used(second, 1000 * DAY)
    assert lineage.sweep(second.parent, retention_days=7, now=1007 * DAY) == []
    assert lineage.sweep(second.parent, retention_days=7, now=1007 * DAY + 1) == [
        second.with_suffix("")
    ]
    assert second.exists()
    assert lineage.manifest_of(second) is not None, "the way back stays"
    assert not (second.with_suffix("") / "tool-results").exists()


def test_an_archive_is_used_as_long_as_a_later_session_is(tmp_path: Path) -> None:
    first = save(working(), tmp_path)
    second = compacted(first)
    third = compacted(second, "aggressive")
    used(second, 1000 * DAY)
    used(third, 1010 * DAY)
    assert lineage.sweep(first.parent, retention_days=7, now=1012 * DAY) == []


def test_what_a_crash_left_is_cleared_away_after_an_hour(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    draft = path.with_name(f".{name(1)}.draft")
    draft.write_bytes(b"{")
    folder = path.with_name(f".{name(2)}.tool-results.draft")
    folder.mkdir()
    (folder / "0001.txt").write_text("half")
    for entry in (draft, folder):
        used(entry, 1000 * DAY)
    lineage.sweep(path.parent, retention_days=0, now=1000 * DAY + ABANDONED)
    assert draft.exists() and folder.exists()
    lineage.sweep(path.parent, retention_days=0, now=1000 * DAY + ABANDONED + 1)
    assert [*path.parent.iterdir()] == [path]


def test_folders_of_the_cli_itself_are_left_alone(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    other = path.with_name(name(9)) / "tool-results"
    other.mkdir(parents=True)
    (other / "b.txt").write_text("an output of the CLI")
    before = tree(tmp_path)
    assert lineage.sweep(path.parent, retention_days=1, now=9e9) == []
    assert tree(tmp_path) == before
