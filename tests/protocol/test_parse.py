"""Reading the CLI's output: no line breaks it, and one odd field costs that field alone."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.narration import Narration
from bridge.protocol import (
    Assistant,
    Malformed,
    Result,
    TextBlock,
    ToolResultBlock,
    ToolResults,
    ToolUseBlock,
    Unknown,
    parse,
)
from tests.protocol.record import SCENARIOS, load

KNOWN = [event for name in SCENARIOS for event in load(name).events]
RESULTS = [event for event in KNOWN if event["type"] == "result"]

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)

Place = tuple[str | int, ...]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """The ways to all that is inside a JSON value."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield (*here, key)
            yield from places(inner, (*here, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield (*here, index)
            yield from places(inner, (*here, index))


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[Any], None]:
    """A change at one place: it is dropped, it becomes something else, or something is added."""
    kind = draw(st.sampled_from(["drop", "change", "add"]))
    value = draw(anything)
    pick = draw(st.integers(min_value=0))

    def change(event: dict[str, Any]) -> None:
        ways = [way for way in places(event) if way != ("type",)]
        if not ways:
            return
        *way, last = ways[pick % len(ways)]
        parent: Any = event
        for step in way:
            parent = parent[step]
        if kind == "drop":
            del parent[last]
        elif kind == "change":
            parent[last] = value
        elif isinstance(parent, dict):
            parent["an addition"] = value
        else:
            parent.append(value)

    return change


def line(event: object) -> bytes:
    return json.dumps(event).encode()


@given(st.binary())
def test_no_bytes_break_it(data: bytes) -> None:
    parse(data)


@given(anything)
def test_no_json_breaks_it_and_what_is_no_object_is_malformed(value: object) -> None:
    event = parse(line(value))
    assert isinstance(event, Malformed) == (not isinstance(value, dict))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[" * 100_000, b"nonsense", b'{"type":"result"', b"\xff\xfe", b"\0", b'"\\ud800"'],
)
def test_what_is_torn_or_no_json_is_malformed_and_shows_its_start(data: bytes) -> None:
    event = parse(data)
    assert isinstance(event, Malformed)
    assert event.head == data[:200].decode(errors="replace")


@given(st.dictionaries(st.text(), anything), st.text())
def test_a_type_of_a_later_release_is_unknown_and_named(fields: dict[str, Any], kind: str) -> None:
    event = parse(line({**fields, "type": f"made_up_{kind}"}))
    assert isinstance(event, Unknown)
    assert event.type.startswith("made_up_")


@given(st.sampled_from(KNOWN), st.lists(mutations(), min_size=1, max_size=4))
def test_no_change_of_shape_breaks_the_reader_or_the_reply(
    known: dict[str, Any], changes: list[Callable[[Any], None]]
) -> None:
    event = copy.deepcopy(known)
    for change in changes:
        change(event)
    narration = Narration()
    narration.feed(parse(line(event)))
    assert isinstance(narration.segments, list)


@given(st.sampled_from(RESULTS), st.lists(mutations(), min_size=1, max_size=4))
def test_a_result_of_whatever_shape_ends_the_turn(
    known: dict[str, Any], changes: list[Callable[[Any], None]]
) -> None:
    event = copy.deepcopy(known)
    for change in changes:
        change(event)
    result = parse(line(event))
    assert isinstance(result, Result)
    assert isinstance(result.trouble, str)
    assert isinstance(result.interrupted, bool)
    assert isinstance(result.unknown_session, bool)
    assert result.context_window is None or result.context_window > 0


@given(st.sampled_from(KNOWN), st.data())
def test_an_odd_field_costs_no_other_field(known: dict[str, Any], data: st.DataObject) -> None:
    whole = parse(line(known))
    field = data.draw(st.sampled_from(sorted(known.keys() - {"type"})))
    odd = parse(line({**known, field: data.draw(anything)}))
    infos = type(whole).model_fields.items()
    touched = {name for name, info in infos if field in (name, *_aliases(info))}
    if isinstance(odd, Unknown):  # without that one there is nothing to answer to
        assert {"request_id"} == touched or isinstance(whole, Unknown)
        return
    assert type(odd) is type(whole)
    assert [getattr(odd, n) for n, _ in infos if n not in touched] == [
        getattr(whole, n) for n, _ in infos if n not in touched
    ]


def _aliases(info: Any) -> list[str]:
    alias = info.validation_alias
    return [alias] if isinstance(alias, str) else list(getattr(alias, "choices", ()))


def _spoken(**message: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "m", "model": "opus", **message}}


@pytest.mark.parametrize(
    "message",
    [
        {"usage": {"input_tokens": None, "output_tokens": "many"}},
        {"usage": 5},
        {"id": None},
        {"model": 7},
    ],
)
def test_a_text_is_read_whatever_stands_around_it(message: dict[str, Any]) -> None:
    event = parse(line(_spoken(content=[{"type": "text", "text": "words"}], **message)))
    assert isinstance(event, Assistant)
    assert event.message.content == (TextBlock(text="words"),)


ODD_BLOCKS: list[Any] = [
    None,
    "bare",
    5,
    {},
    {"type": ["x"]},
    {"type": "made_up", "data": 1},
    {"type": "tool_use"},
    {"type": "tool_use", "id": 5, "name": "Bash"},
    {"type": "text", "text": None},
    {"type": "tool_result", "content": 5},
]


@given(st.lists(st.sampled_from(ODD_BLOCKS)), st.lists(st.sampled_from(ODD_BLOCKS)))
def test_good_blocks_are_read_between_odd_ones(before: list[Any], after: list[Any]) -> None:
    good = [
        {"type": "text", "text": "words"},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "out"}]},
    ]
    event = parse(line(_spoken(content=[*before, *good, *after])))
    assert isinstance(event, Assistant)
    blocks = event.message.content
    assert TextBlock(text="words") in blocks
    assert ToolUseBlock(id="t", name="Bash", input={"command": "ls"}) in blocks
    assert [b.text for b in blocks if isinstance(b, ToolResultBlock)] == ["out"]


@given(st.text())
def test_content_is_text_or_a_list_of_blocks(text: str) -> None:
    for content in (text, [{"type": "text", "text": text}]):
        event = parse(line({"type": "user", "message": {"role": "user", "content": content}}))
        assert isinstance(event, ToolResults)
        assert event.message.content == (TextBlock(text=text),)


ANSWERS: list[tuple[Any, str]] = [
    ("plain", "plain"),
    ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
    ([{"type": "image", "source": {}}, "bare", None, {"type": "text", "text": "x"}], "x"),
    (None, ""),
    ([], ""),
]


@pytest.mark.parametrize(("content", "text"), ANSWERS)
def test_a_tools_answer_is_all_of_its_text(content: Any, text: str) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content}
    event = parse(line({"type": "user", "message": {"content": [block]}}))
    assert isinstance(event, ToolResults)
    (read,) = event.message.content
    assert isinstance(read, ToolResultBlock)
    assert read.text == text
