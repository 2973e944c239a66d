"""A record that is partly wrong keeps all that is right."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import Record
from state.mending import mend
from tests.state.samples import SID, plain, records

ITEM = {"message": 1, "author": 2, "author_name": "a", "content": "hello", "at": 5.0}
FILE = {"url": "https://cdn/x", "filename": "x", "size": 1}


def stored(**changes: Any) -> dict[str, Any]:
    return json.loads(plain(sid=SID).model_dump_json(exclude_defaults=True)) | changes


def test_a_sound_record_has_no_faults() -> None:
    assert mend(stored()) == (plain(sid=SID), ())


def test_a_sentinel_in_place_of_a_session_id_is_dropped() -> None:
    record, faults = mend(stored(sid="continue"))
    assert record == plain()
    assert len(faults) == 1
    assert faults[0].startswith("sid: ")
    assert "continue" not in faults[0]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"settings": {"model": 5, "effort": "high"}}, {"settings": {"effort": "high"}}),
        ({"settings": "fast"}, {}),
        ({"process": {"pid": 7}}, {}),
        ({"seen": [1, "x", 3]}, {"seen": (1, 3)}),
        ({"queue": [ITEM, {"message": 3}, 4, ITEM]}, {"queue": (ITEM, ITEM)}),
        (
            {"queue": [ITEM | {"attachments": [{"url": 5}, FILE]}]},
            {"queue": (ITEM | {"attachments": (FILE,)},)},
        ),
        ({"lineage": [{"sid": SID, "reason": "mood", "at": 1.0}]}, {}),
        ({"turn": {"item": ITEM, "prompt_id": "x", "started": 1.0}}, {}),
        ({"generation": -1, "usage": {"turns": None, "cost_usd": 2.0}}, {"usage": {"cost_usd": 2}}),
        ({"title": "a\ud800b"}, {"title": "a?b"}),
    ],
)
def test_only_the_invalid_part_is_dropped(changes: Any, kept: Any) -> None:
    record, _ = mend(stored(**changes))
    assert record == plain(sid=SID).model_copy(update=kept)


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [[1]], {"sid": SID}])
def test_what_lacks_the_necessary_is_no_record(value: object) -> None:
    record, faults = mend(value)
    assert record is None
    assert faults


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(records, st.sampled_from(sorted(Record.model_fields)), json_values)
@settings(deadline=None)
def test_any_value_in_any_field_leaves_a_record_or_none(
    record: Record, field: str, value: object
) -> None:
    tree = json.loads(record.model_dump_json(exclude_defaults=True))
    mended, faults = mend(tree | {field: value})
    assert (mended is None) <= bool(faults)
    if mended is not None:
        untouched = set(Record.model_fields) - {field}
        assert {name: getattr(mended, name) for name in untouched} == {
            name: getattr(record, name) for name in untouched
        }
