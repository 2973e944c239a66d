"""The store: changes at once in memory, durable together, and never undone by a late one."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from state import Record, Store, StoreClosed
from state.document import decode, record
from tests.state.samples import OTHER, SID, plain, records, titled


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path) as store:
        yield store


def on_disk(folder: Path) -> dict[int, Record]:
    found = decode((folder / "state.json").read_bytes())
    assert found.faults == ()
    return {thread: record(line) for thread, line in found.document.lines.items()}


async def test_what_was_put_is_there_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        store.put(10, plain(sid=SID))
        store.set_seen(20, 30)
        assert store.get(10) == plain(sid=SID)
        assert store.get(11) is None
    async with await Store.open(tmp_path) as store:
        assert dict(store.threads()) == {10: plain(sid=SID)}
        assert store.get_seen(20) == 30
        assert store.notices == ()


async def test_the_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


async def test_a_hundred_parallel_updates_keep_a_hundred_entries(tmp_path: Path) -> None:
    async def one(store: Store, thread: int) -> None:
        store.put(thread, plain())
        await store.durable()
        store.update(thread, titled(f"thread {thread}"))
        await store.durable()
        assert on_disk(tmp_path)[thread].title == f"thread {thread}"

    async with await Store.open(tmp_path) as store:
        await asyncio.gather(*(one(store, thread) for thread in range(100)))
    assert on_disk(tmp_path) == {n: plain(f"thread {n}") for n in range(100)}


async def test_many_changes_share_one_write(store: Store) -> None:
    async def one(thread: int) -> None:
        store.put(thread, plain())
        await store.durable()

    await asyncio.gather(*(one(thread) for thread in range(1000)))
    assert store.writes <= 2


async def test_changes_are_written_without_anybody_waiting(store: Store, tmp_path: Path) -> None:
    store.put(1, plain())
    while not (tmp_path / "state.json").exists():  # noqa: ASYNC110 - nobody is to wait in the store
        await asyncio.sleep(0)
    assert on_disk(tmp_path) == {1: plain()}


async def test_a_change_that_changes_nothing_is_not_written(store: Store) -> None:
    store.put(1, plain())
    store.set_seen(1, 5)
    await store.durable()
    writes = store.writes
    store.put(1, plain())
    store.update(1, lambda record: record)
    store.set_seen(1, 5)
    store.remove(2)
    await store.durable()
    assert store.writes == writes


async def test_the_mark_of_a_channel_never_moves_back(store: Store) -> None:
    for message in (5, 7, 6, 0):
        store.set_seen(1, message)
    assert store.get_seen(1) == 7


async def test_a_late_change_of_an_older_generation_is_ignored(tmp_path: Path) -> None:
    def cleared(record: Record) -> Record:
        return record.model_copy(update={"sid": None, "generation": record.generation + 1})

    def finished(record: Record) -> Record:
        return record.model_copy(update={"sid": SID})

    async with await Store.open(tmp_path) as store:
        store.put(1, plain(sid=SID))
        store.update(1, cleared)
        assert store.update(1, finished, generation=0) is None
        assert store.update(2, finished) is None
        await store.durable()
    async with await Store.open(tmp_path) as store:
        assert store.get(1) == plain().model_copy(update={"generation": 1})
        assert store.update(1, finished, generation=1) == store.get(1)
        store.remove(1)
        assert store.update(1, finished, generation=1) is None
    assert SID not in (tmp_path / "state.json").read_text()


async def test_what_is_no_session_id_cannot_be_stored(store: Store) -> None:
    store.put(1, plain(sid=SID))
    unchecked = Record.model_construct(None, **dict(plain()) | {"sid": "continue"})
    with pytest.raises(ValidationError):
        store.put(1, unchecked)
    assert store.get(1) == plain(sid=SID)


async def test_a_list_of_threads_does_not_change_under_the_one_who_walks_it(store: Store) -> None:
    for thread in range(3):
        store.put(thread, plain())
    for thread in (threads := store.threads()):
        store.remove(thread)
        store.put(thread + 100, plain())
    assert set(threads) == {0, 1, 2}
    assert set(store.threads()) == {100, 101, 102}
    assert threads.get(5) is None


operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 4), records),
        st.tuples(st.just("update"), st.integers(1, 4), st.sampled_from([None, SID, OTHER])),
        st.tuples(st.just("late"), st.integers(1, 4), st.just(None)),
        st.tuples(st.just("remove"), st.integers(1, 4), st.just(None)),
        st.tuples(st.just("restart"), st.just(0), st.just(None)),
    ),
    max_size=12,
)


@given(operations)
@settings(max_examples=40, deadline=None)
async def test_the_store_is_a_dictionary_that_survives_restarts(
    operations: list[tuple[str, int, Record | str | None]],
) -> None:
    expected: dict[int, Record] = {}
    with tempfile.TemporaryDirectory() as name:
        store = await Store.open(Path(name))
        for kind, thread, value in operations:
            if kind == "restart":
                await store.close()
                store = await Store.open(Path(name))
            elif isinstance(value, Record):
                store.put(thread, value)
                expected[thread] = value
            elif kind == "remove":
                store.remove(thread)
                expected.pop(thread, None)
            elif kind == "late":
                generation = expected[thread].generation + 1 if thread in expected else 0
                assert store.update(thread, titled("late"), generation=generation) is None
            elif thread in expected:
                expected[thread] = expected[thread].model_copy(update={"sid": value})
                changed = store.update(
                    thread,
                    lambda record, sid=value: record.model_copy(update={"sid": sid}),
                    generation=expected[thread].generation,
                )
                assert changed == expected[thread]
            assert dict(store.threads()) == expected
        await store.close()
        async with await Store.open(Path(name)) as store:
            assert dict(store.threads()) == expected
            assert store.notices == ()


async def test_a_full_disk_is_reported_to_all_who_wait_and_nothing_is_lost(tmp_path: Path) -> None:
    store = await Store.open(tmp_path)
    store.put(1, plain("before"))
    await store.durable()
    (tmp_path / "state.json.tmp").symlink_to("/dev/full")
    for thread in (2, 3):
        store.put(thread, plain())
    answers = await asyncio.gather(*(store.durable() for _ in range(5)), return_exceptions=True)
    assert all(isinstance(a, OSError) and a.errno == 28 for a in answers)
    assert on_disk(tmp_path) == {1: plain("before")}
    (tmp_path / "state.json.tmp").unlink()
    await store.durable()
    assert on_disk(tmp_path) == {1: plain("before"), 2: plain(), 3: plain()}
    await store.close()


async def test_a_folder_that_went_away_is_reported_and_its_return_is_enough(tmp_path: Path) -> None:
    folder, hidden = tmp_path / "state", tmp_path / "hidden"
    store = await Store.open(folder)
    folder.rename(hidden)
    store.put(1, plain())
    with pytest.raises(FileNotFoundError):
        await store.durable()
    hidden.rename(folder)
    store.put(2, plain())
    await store.durable()
    assert on_disk(folder) == {1: plain(), 2: plain()}
    await store.close()


async def test_closing_on_a_full_disk_fails_and_still_lets_the_next_one_in(tmp_path: Path) -> None:
    store = await Store.open(tmp_path)
    (tmp_path / "state.json.tmp").symlink_to("/dev/full")
    store.put(1, plain())
    with pytest.raises(OSError, match="No space"):
        await store.close()
    with pytest.raises(OSError, match="No space"):
        await store.durable()
    await (await Store.open(tmp_path)).close()


async def test_a_disk_that_hangs_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    store = await Store.open(tmp_path)
    # A pipe that nobody reads: the write hangs as soon as the pipe is full.
    os.mkfifo(tmp_path / "state.json.tmp")
    store.put(1, plain("x" * 1_000_000))
    waiting = asyncio.create_task(store.durable())
    reader = await asyncio.to_thread(os.open, tmp_path / "state.json.tmp", os.O_RDONLY)
    for number in range(200):
        await asyncio.sleep(0)
        store.update(1, titled(str(number)))
    assert not waiting.done()
    assert store.writes == 0
    (tmp_path / "state.json.tmp").unlink()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        await waiting
    await store.durable()
    assert on_disk(tmp_path) == {1: plain("199")}
    await store.close()


async def test_closing_writes_what_is_left_and_may_be_repeated(tmp_path: Path) -> None:
    store = await Store.open(tmp_path)
    store.put(1, plain())
    await asyncio.gather(store.close(), store.close())
    await store.close()
    await store.durable()
    assert on_disk(tmp_path) == {1: plain()}
    assert store.get(1) == plain()


async def test_a_change_after_closing_is_refused(tmp_path: Path) -> None:
    store = await Store.open(tmp_path)
    store.put(1, plain())
    await store.close()
    for change in (
        lambda: store.put(1, plain("x")),
        lambda: store.update(1, titled("x")),
        lambda: store.remove(1),
        lambda: store.set_seen(1, 2),
    ):
        with pytest.raises(StoreClosed):
            change()


async def test_one_who_stops_waiting_does_not_disturb_the_others(store: Store) -> None:
    store.put(1, plain())
    waiting = [asyncio.create_task(store.durable()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.gather(*waiting[1:])
    assert waiting[0].cancelled()
