"""The models: what they accept, what they refuse, what they keep."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from state import Process, Record
from state.records import SEEN_LIMIT
from tests.state.samples import OTHER, SID, plain, queued, records, snowflakes


@pytest.mark.parametrize("sid", ["continue", "", "latest", SID[:-1], SID + "\n", f"{SID}-x", 7])
def test_what_is_not_a_uuid_is_refused_as_a_session_id(sid: Any) -> None:
    with pytest.raises(ValidationError):
        plain(sid=sid)
    with pytest.raises(ValidationError):
        plain().model_copy(update={"sid": sid})


def test_a_copy_keeps_the_original_and_changes_only_what_it_is_told() -> None:
    before = plain(sid=SID)
    after = before.model_copy(update={"sid": OTHER})
    assert (before.sid, after.sid) == (SID, OTHER)
    assert after.model_copy(update={"sid": SID}) == before


def test_a_misspelt_field_is_refused_in_a_copy() -> None:
    with pytest.raises(TypeError, match="tilte"):
        plain().model_copy(update={"tilte": "x"})


def test_records_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError):
        plain().title = "x"  # pyright: ignore[reportAttributeAccessIssue]
    hash(plain())


@pytest.mark.parametrize("pid", [1, 0, -1])
def test_a_pid_that_would_address_more_than_one_process_is_refused(pid: int) -> None:
    with pytest.raises(ValidationError):
        Process(pid=pid, started=1, marker="m", run_dir="/run", sid=SID)


def test_errors_do_not_quote_what_people_wrote() -> None:
    with pytest.raises(ValidationError) as caught:
        plain().model_copy(update={"created": "my secret"})
    assert "my secret" not in str(caught.value)


@given(st.lists(snowflakes, max_size=80))
@settings(deadline=None)
def test_the_newest_handled_messages_are_remembered_in_order(messages: list[int]) -> None:
    record = plain()
    for message in messages:
        record = record.with_seen(message)
    newest = sorted(set(messages))[-SEEN_LIMIT:]
    assert record.seen == tuple(newest)
    assert record.last_seen == (newest[-1] if newest else None)


@given(records)
@settings(deadline=None)
def test_a_record_survives_its_json(record: Record) -> None:
    text = record.model_dump_json(exclude_defaults=True)
    assert Record.model_validate_json(text) == record


@given(queued, st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF)))
@settings(deadline=None)
def test_text_that_no_file_can_hold_is_made_writable(item: Any, lone: str) -> None:
    changed = item.model_copy(update={"content": f"a{lone}ü"})
    assert changed.content == f"a{'?' * len(lone)}ü"
    changed.model_dump_json()


def test_keys_of_a_newer_version_are_kept() -> None:
    newer = plain().model_dump() | {"colour": "red", "usage": {"turns": 1, "joules": 5}}
    text = Record.model_validate(newer).model_dump_json(exclude_defaults=True)
    assert '"colour":"red"' in text
    assert '"joules":5' in text
