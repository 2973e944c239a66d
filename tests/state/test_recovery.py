"""Whatever lies in the folder, the store opens, keeps what can be kept, and says what it did."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import Record, Store
from state.document import Document, encode, line, record
from state.files import StateFile
from state.migrations import VERSION, Tree
from state.recovery import Loaded, load
from tests.state.samples import SID, plain, titled

RECORDS = {n: plain(f"thread {n}") for n in range(1, 6)}
OLDER = {n: RECORDS[n] for n in (1, 2, 3)}


def text(records: Mapping[int, Record]) -> bytes:
    return b"".join(encode(Document({n: line(n, r) for n, r in records.items()})))


def loaded(found: Loaded) -> dict[int, Record]:
    return {thread: record(line) for thread, line in found.document.lines.items()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def aside(folder: Path, mark: str) -> list[bytes]:
    return [path.read_bytes() for path in folder.glob(f"state.json.{mark}*")]


UNREADABLE = [b"", b"{}", b"null", b"[1]", b"\0" * 4096, text(RECORDS)[:-5], b'{"version": 1}']


def test_a_first_start_is_silent(tmp_path: Path) -> None:
    assert load(StateFile(tmp_path)) == Loaded(Document())
    assert names(tmp_path) == set()


@pytest.mark.parametrize("raw", UNREADABLE)
def test_an_unreadable_file_gives_way_to_its_backup(tmp_path: Path, raw: bytes) -> None:
    files = StateFile(tmp_path)
    files.path.write_bytes(raw)
    files.backup.write_bytes(text(OLDER))
    found = load(files)
    assert loaded(found) == OLDER
    assert found.changed
    assert aside(tmp_path, "corrupt-") == [raw]
    assert "state.json cannot be read" in found.notices[0]
    assert "backup" in found.notices[1]
    assert files.backup.read_bytes() == text(OLDER)


@pytest.mark.parametrize("raw", [b"", b"{}", b"null", b"\0" * 4096])
def test_without_a_readable_file_the_store_starts_empty(tmp_path: Path, raw: bytes) -> None:
    files = StateFile(tmp_path)
    files.path.write_bytes(raw)
    files.backup.write_bytes(raw)
    found = load(files)
    assert loaded(found) == {}
    assert len(found.notices) == 3
    assert aside(tmp_path, "corrupt-") == aside(tmp_path, "bak.corrupt-") == [raw]


def test_without_a_backup_the_whole_lines_of_a_truncated_file_are_kept(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    files.path.write_bytes(text(RECORDS)[:-20])
    found = load(files)
    assert loaded(found) == {n: RECORDS[n] for n in (1, 2, 3, 4)}
    assert "4 threads" in found.notices[-1]


def test_a_missing_file_is_replaced_by_its_backup(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    files.backup.write_bytes(text(OLDER))
    found = load(files)
    assert loaded(found) == OLDER
    assert len(found.notices) == 1
    assert "missing" in found.notices[0]


def test_an_invalid_record_is_set_aside_and_the_others_are_kept(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    tree = json.loads(text(RECORDS))
    del tree["threads"]["2"]["cwd"]
    tree["threads"]["3"]["sid"] = "continue"
    raw = json.dumps(tree).encode()
    files.path.write_bytes(raw)
    found = load(files)
    assert loaded(found) == {n: r for n, r in RECORDS.items() if n != 2}
    assert aside(tmp_path, "corrupt-") == [raw]
    assert any(notice.startswith("thread 2: cwd") for notice in found.notices)
    assert any(notice.startswith("thread 3: sid") for notice in found.notices)


def test_a_thousand_faults_do_not_become_a_thousand_notices(tmp_path: Path) -> None:
    files = StateFile(tmp_path)
    files.path.write_text(json.dumps({"version": 1, "threads": {n: {} for n in range(1000)}}))
    notices = list(load(files).notices)
    assert len(notices) < 30
    assert "more" in notices[-1]


@pytest.mark.parametrize("version", [VERSION + 1, 99])
def test_of_a_newer_version_what_is_understood_is_kept(tmp_path: Path, version: int) -> None:
    files = StateFile(tmp_path)
    tree = json.loads(text(RECORDS)) | {"version": version, "moods": {"1": "good"}}
    tree["threads"]["2"] = {"id": "of another shape"}
    raw = json.dumps(tree).encode()
    files.path.write_bytes(raw)
    found = load(files)
    assert loaded(found) == {n: r for n, r in RECORDS.items() if n != 2}
    assert found.document.extras == {"moods": {"1": "good"}}
    assert aside(tmp_path, f"v{version}") == [raw]
    assert f"version {version}" in found.notices[0]


def test_an_older_version_is_migrated_and_the_file_is_kept(tmp_path: Path) -> None:
    def named(tree: Tree) -> Tree:
        threads: Any = tree.pop("sessions")
        return tree | {"threads": {n: r | {"title": r["name"]} for n, r in threads.items()}}

    common = {"cwd": "/project", "guild": 1, "owner": 2, "created": 3.0, "last_used": 4.0}
    sessions = {n: common | {"name": r.title} for n, r in RECORDS.items()}
    raw = json.dumps({"version": 0, "sessions": sessions}).encode()
    files = StateFile(tmp_path)
    files.path.write_bytes(raw)
    found = load(files, {0: named})
    assert {n: r.title for n, r in loaded(found).items()} == {
        n: r.title for n, r in RECORDS.items()
    }
    assert found.changed
    assert aside(tmp_path, "v0") == [raw]


async def test_what_was_recovered_is_written_at_once(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(b"{")
    (tmp_path / "state.json.bak").write_bytes(text(OLDER))
    async with await Store.open(tmp_path) as store:
        assert store.notices
        await store.durable()
        assert (tmp_path / "state.json").read_bytes() == text(OLDER)
        assert (tmp_path / "state.json.bak").read_bytes() == text(OLDER)
    async with await Store.open(tmp_path) as store:
        assert store.notices == ()


async def test_the_copy_of_a_partly_bad_file_outlives_the_next_writes(tmp_path: Path) -> None:
    raw = text(RECORDS).replace(b'"title":"thread 5"', b'"title":5')
    (tmp_path / "state.json").write_bytes(raw)
    async with await Store.open(tmp_path) as store:
        for title in ("a", "b"):
            store.update(1, titled(title))
            await store.durable()
    assert aside(tmp_path, "corrupt-") == [raw]


async def test_leftovers_of_a_killed_write_are_removed(tmp_path: Path) -> None:
    for name in ("state.json.tmp", "state.json.bak.tmp"):
        (tmp_path / name).write_bytes(text(RECORDS))
    async with await Store.open(tmp_path) as store:
        assert len(store.threads()) == 0
        assert names(tmp_path) == {"lock"}


def cut(raw: bytes, at: int, _: int) -> bytes:
    return raw[: at % len(raw)] or b" "


def flip(raw: bytes, at: int, byte: int) -> bytes:
    at %= len(raw)
    return raw[:at] + bytes([raw[at] ^ byte]) + raw[at + 1 :]


def insert(raw: bytes, at: int, byte: int) -> bytes:
    at %= len(raw)
    return raw[:at] + bytes([byte]) + raw[at:]


hits = st.tuples(st.sampled_from([cut, flip, insert]), st.integers(0, 2000), st.integers(1, 255))


@given(st.lists(hits, min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_no_damage_makes_opening_fail_or_loses_a_valid_backup(
    hits: list[tuple[Callable[[bytes, int, int], bytes], int, int]],
) -> None:
    raw = text({n: r.model_copy(update={"sid": SID}) for n, r in RECORDS.items()})
    for damage, at, byte in hits:
        raw = damage(raw, at, byte)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = StateFile(folder)
        files.path.write_bytes(raw)
        files.backup.write_bytes(text(OLDER))
        found = load(files)
        assert files.backup.read_bytes() == text(OLDER)
        if files.path.exists():
            kept = [files.path.read_bytes(), *aside(folder, "corrupt-"), *aside(folder, "v")]
            assert set(kept) == {raw}
            assert len(kept) > 1 or not found.notices
            loaded(found)
        else:
            assert aside(folder, "corrupt-") == [raw]
            assert loaded(found) == OLDER
