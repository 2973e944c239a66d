"""The text of the state file."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import Record
from state.document import Document, Unreadable, decode, encode, line, record, salvage
from tests.state.samples import plain, records, snowflakes

threads = st.dictionaries(snowflakes, records, max_size=4)
marks = st.dictionaries(snowflakes, st.integers(0, 2**63), max_size=3)


def text(document: Document) -> bytes:
    return b"".join(encode(document))


def document(
    threads: dict[int, Record], channels: dict[int, int] | None = None, **extras: object
) -> Document:
    lines = {thread: line(thread, record) for thread, record in threads.items()}
    return Document(lines, channels or {}, extras)


@given(threads, marks)
@settings(deadline=None, max_examples=50)
def test_a_document_survives_its_text(threads: dict[int, Record], channels: dict[int, int]) -> None:
    before = document(threads, channels, flag=True, nested={"threads": [1]})
    found = decode(text(before))
    assert found.document == before
    assert found.faults == ()
    assert {t: record(line) for t, line in found.document.lines.items()} == threads


@given(threads, marks, st.sampled_from([None, 1, "\t"]))
@settings(deadline=None, max_examples=50)
def test_the_layout_does_not_matter(
    threads: dict[int, Record], channels: dict[int, int], indent: int | str | None
) -> None:
    before = document(threads, channels)
    other = json.dumps(json.loads(text(before)), indent=indent, sort_keys=True)
    found = decode(other.encode())
    assert found.faults == ()
    assert found.document == before


@given(threads)
@settings(deadline=None, max_examples=50)
def test_every_record_has_one_line_of_its_own(threads: dict[int, Record]) -> None:
    lines = text(document(threads)).decode().split("\n")
    body = lines[lines.index('"threads": {') + 1 : lines.index("}}")]
    assert [int(row.split('"')[1]) for row in body] == list(threads)
    for row in body:
        json.loads(f"{{{row.removesuffix(',')}}}")


def test_defaults_are_left_out() -> None:
    assert line(5, plain()) == (
        b'"5": {"cwd":"/project","guild":1,"owner":2,'
        b'"title":"A thread","created":3.0,"last_used":4.0}'
    )


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b" \n", b"{}", b"[]", b"null", b"7", b"{", b"\0" * 9, b"\xff\xfe", b"[" * 100_000),
        *(b'{"version": 1}', b'{"version": 1, "threads": []}'),
        text(document({1: plain()}))[:-2],
    ],
)
def test_what_is_no_state_file_is_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(raw)


def test_a_bad_record_or_mark_does_not_harm_the_others() -> None:
    tree: dict[str, Any] = json.loads(text(document({1: plain(), 2: plain()}, {7: 8, 9: 10})))
    tree["threads"]["1"]["created"] = "soon"
    tree["threads"]["x"] = tree["threads"]["2"]
    tree["channels"]["9"] = "late"
    found = decode(json.dumps(tree).encode())
    assert found.document == document({2: plain()}, {7: 8})
    assert sorted(fault.split(":")[0] for fault in found.faults) == [
        "channel '9'",
        "thread 'x'",
        "thread 1",
    ]


@pytest.mark.parametrize("version", [None, "1", True, 1.5])
def test_a_version_that_is_not_a_number_is_a_fault_and_the_records_are_kept(version: Any) -> None:
    tree = json.loads(text(document({1: plain()}))) | {"version": version}
    found = decode(json.dumps(tree).encode())
    assert found.document == document({1: plain()})
    assert found.version is None
    assert len(found.faults) == 1


@given(threads, marks, st.data())
@settings(deadline=None, max_examples=50)
def test_each_whole_line_of_a_truncated_file_can_be_salvaged(
    threads: dict[int, Record], channels: dict[int, int], data: st.DataObject
) -> None:
    before = document(threads, channels)
    raw = text(before)
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    found = salvage(cut)
    whole = {t: line for t, line in before.lines.items() if line in cut}
    assert found.lines == whole
    if b'"threads"' in cut:
        assert found.channels == channels


def test_a_line_that_is_damaged_does_not_harm_those_around_it() -> None:
    raw = text(document({n: plain(f"title {n}") for n in range(5)}))
    damaged = raw.replace(b"title 3", b'title "3')
    assert salvage(damaged) == document({n: plain(f"title {n}") for n in (0, 1, 2, 4)})
