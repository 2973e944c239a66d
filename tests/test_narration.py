"""What a reply shows: each text once, whole and in order, however its events reach the bot."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.narration import Narration
from bridge.protocol import Delta, Event, Result, System
from bridge.protocol.events import parse_object
from bridge.render import Note, Segment, Text, Tool
from bridge.render.segments import State
from tests.protocol.facts import events
from tests.protocol.record import load

Json = dict[str, Any]

WINDOW = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100}


@dataclass
class Played:
    """A turn as the CLI plays it: its stream, its transcript, and what is to be seen of it."""

    stream: list[Json] = field(default_factory=list[Json])
    written: list[Json] = field(default_factory=list[Json])
    written_by: list[int] = field(default_factory=list[int])
    """How long the transcript is when the stream has come this far."""
    shown: list[Segment] = field(default_factory=list[Segment])

    def say(self, *stream: Json) -> None:
        for event in stream:
            self.stream.append(event)
            self.written_by.append(len(self.written))

    def answer(self, call: str, *, failed: bool) -> None:
        content = "\nbroken\n" if failed else "fine"
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": failed}
        record = _results(f"r-{call}", None, block)
        self.written.append(record)
        self.say(record)
        state: State = "error" if failed else "ok"
        detail = "broken" if failed else ""
        for at, segment in enumerate(self.shown):
            if isinstance(segment, Tool) and segment.id == call:
                self.shown[at] = replace(segment, state=state, detail=detail, output=content)

    def events(self) -> list[Event]:
        return [parse_object(event) for event in self.stream]


def _raw(api_message: str, kind: str, **body: Any) -> Json:
    return {
        "type": "stream_event",
        "event": {"type": kind, **body},
        "parent_tool_use_id": None,
        "api_message_id": api_message,
    }


def _assistant(message: str, uuid: str, block: Json, parent: str | None = None) -> Json:
    body = {"id": message, "model": "opus", "content": [block], "usage": WINDOW}
    return {"type": "assistant", "message": body, "parent_tool_use_id": parent, "uuid": uuid}


def _results(uuid: str, parent: str | None, *blocks: Json) -> Json:
    message = {"role": "user", "content": list(blocks)}
    return {"type": "user", "message": message, "parent_tool_use_id": parent, "uuid": uuid}


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@st.composite
def blocks(draw: st.DrawFn, name: str) -> tuple[Json, Json, list[Json]]:
    """A block, how its stream begins, and its deltas; texts are all different."""
    match draw(st.sampled_from(["thinking", "text", "tool_use"])):
        case "tool_use":
            call = {"type": "tool_use", "id": f"toolu-{name}", "name": "Bash"}
            deltas: list[Json] = [{"type": "input_json_delta", "partial_json": "{"}]
            return {**call, "input": {"command": name}}, {**call, "input": dict[str, Any]()}, deltas
        case "text":
            pieces = [f"<{name}>", *draw(st.lists(words, max_size=3)), f"</{name}>"]
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            return {"type": "text", "text": "".join(pieces)}, {"type": "text", "text": ""}, deltas
        case _:
            thought = "SECRET THOUGHT"
            deltas = [{"type": "thinking_delta", "thinking": thought}]
            return {"type": "thinking", "thinking": thought}, {"type": "thinking"}, deltas


@st.composite
def turns(draw: st.DrawFn) -> Played:
    """Messages of thoughts, texts and calls, with a subagent's events in between."""
    played = Played()
    final = ""
    for number in range(draw(st.integers(1, 4))):
        message = f"msg_{number}"
        opening = {"id": message, "model": "opus", "usage": WINDOW}
        played.say(_raw(message, "message_start", message=opening))
        calls: list[str] = []
        records: list[Json] = []
        for index in range(draw(st.integers(0, 4))):
            block, start, deltas = draw(blocks(f"{number}.{index}"))
            whole = _assistant(message, f"{message}-{index}", block)
            played.say(_raw(message, "content_block_start", index=index, content_block=start))
            for delta in deltas:
                played.say(_raw(message, "content_block_delta", index=index, delta=delta))
            played.say(whole, _raw(message, "content_block_stop", index=index))
            records.append(whole)
            if block["type"] == "tool_use":
                calls.append(block["id"])
                played.shown.append(Tool(block["id"], "Bash", block["input"], "running"))
            elif block["type"] == "text":
                final = block["text"]
                played.shown.append(Text(final))
        played.written += records
        played.say(_raw(message, "message_delta", delta={}, usage={"output_tokens": 7}))
        played.say(_raw(message, "message_stop"))
        for call in draw(st.permutations(calls)):
            if draw(st.booleans()):
                played.say(*_agent_says(call, draw(words)))
            played.answer(call, failed=draw(st.booleans()))
    played.say({"type": "result", "subtype": "success", "is_error": False, "result": final})
    return played


def _agent_says(call: str, text: str) -> list[Json]:
    """A subagent's words reach the stream and not the main transcript."""
    spoken = {"type": "text", "text": f"SUBAGENT {text}"}
    started = {"type": "content_block_start", "index": 0, "content_block": spoken}
    live = {"type": "stream_event", "event": started, "api_message_id": f"sub-{call}"}
    return [
        {**live, "parent_tool_use_id": call},
        _assistant(f"sub-{call}", f"sub-{call}", spoken, parent=call),
        _results(f"subr-{call}", call, spoken),
    ]


def _fed(narration: Narration, stream: Sequence[Event]) -> Narration:
    for event in stream:
        narration.feed(event)
    return narration


def _texts(narration: Narration) -> list[str]:
    return [s.markdown for s in narration.segments if isinstance(s, Text)]


def _is_subsequence(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(text in rest for text in part)


# --- live -----------------------------------------------------------------------------------------
@given(turns())
def test_a_turn_shows_its_texts_and_calls_once_whole_and_in_order(played: Played) -> None:
    assert _fed(Narration(), played.events()).segments == played.shown


@given(turns())
def test_live_text_only_ever_grows_towards_the_whole(played: Played) -> None:
    narration = Narration()
    whole = "".join(s.markdown for s in played.shown if isinstance(s, Text))
    before = ""
    for event in played.events():
        narration.feed(event)
        now = "".join(_texts(narration))
        assert whole.startswith(now)
        assert len(now) >= len(before)
        before = now


@given(turns(), st.data())
def test_a_finished_event_that_comes_twice_shows_once(played: Played, data: st.DataObject) -> None:
    stream: list[Event] = []
    for event in played.events():
        stream.append(event)
        if not isinstance(event, Delta | System | Result) and data.draw(st.booleans()):
            earlier = [e for e in stream if not isinstance(e, Delta | System | Result)]
            stream.append(data.draw(st.sampled_from(earlier)))
    assert _fed(Narration(), stream).segments == played.shown


@given(turns())
def test_neither_a_subagents_words_nor_a_thought_is_ever_shown(played: Played) -> None:
    narration = Narration()
    for event in played.events():
        narration.feed(event)
        assert "SUBAGENT" not in repr(narration.segments)
        assert "SECRET" not in repr(narration.segments)


@given(turns())
def test_finished_blocks_alone_are_enough(played: Played) -> None:
    stream = [event for event in played.events() if not isinstance(event, Delta)]
    assert _fed(Narration(), stream).segments == played.shown


# --- over a restart of the bot --------------------------------------------------------------------
@given(turns(), st.data())
def test_a_bot_that_comes_in_mid_turn_shows_each_text_once_and_in_order(
    played: Played, data: st.DataObject
) -> None:
    """The CLI writes a message at its end, and goes on writing while nobody reads its stream."""
    lost = data.draw(st.integers(0, len(played.stream)), label="events that the last bot took")
    least = played.written_by[lost - 1] if lost else 0
    written = data.draw(st.integers(least, len(played.written)), label="records at the start")
    narration = Narration()
    narration.recover(played.written[:written])
    whole = [s.markdown for s in played.shown if isinstance(s, Text)]
    recovered = _texts(narration)
    for event in played.events()[lost:]:
        narration.feed(event)
        assert _texts(narration)[: len(recovered)] == recovered
        if not isinstance(event, Delta):
            finished = [t for t in _texts(narration) if t in whole]
            assert _is_subsequence(finished, whole)
    narration.recover(played.written)
    assert narration.segments == played.shown


@given(turns(), st.data())
def test_the_transcript_may_be_read_at_any_time_and_again(
    played: Played, data: st.DataObject
) -> None:
    """It is never behind what is heard of a whole message, and it may be ahead."""
    narration = Narration()
    moments = data.draw(st.sets(st.integers(0, len(played.stream) - 1), max_size=4))
    written = 0
    for at, event in enumerate(played.events()):
        narration.feed(event)
        if at in moments:
            least = max(written, played.written_by[at])
            written = data.draw(st.integers(least, len(played.written)))
            narration.recover(played.written[:written])
        for record in played.written[:written]:
            for block in record["message"]["content"]:
                assert block["type"] != "text" or block["text"] in _texts(narration)
    narration.recover(played.written)
    assert narration.segments == played.shown


@given(turns())
def test_the_transcript_alone_shows_the_same(played: Played) -> None:
    narration = Narration()
    narration.recover(played.written)
    assert narration.segments == played.shown


@pytest.mark.parametrize("name", ["tool", "parallel", "steps", "thinking", "midstream", "denied"])
def test_a_real_turn_is_the_same_wherever_the_bot_comes_in(name: str) -> None:
    recording = load(name)
    stream = events(recording.events)
    records = recording.transcript[1:]
    whole = _fed(Narration(), stream).segments
    assert len(whole) > (name == "steps")
    for lost in range(len(stream) + 1):
        for written in range(len(records) + 1):
            narration = Narration()
            narration.recover(records[:written])
            _fed(narration, stream[lost:])
            narration.recover(records)
            assert narration.segments == whole, (lost, written)


def test_the_bots_own_notes_keep_their_place_when_the_transcript_is_read_again() -> None:
    recording = load("steps")
    narration = Narration()
    narration.note("first of all")
    _fed(narration, events(recording.events))
    before = narration.segments
    narration.recover(recording.transcript[1:])
    assert narration.segments == before
    assert before[0] == Note("first of all")


def test_a_subagents_calls_keep_their_place_when_the_transcript_is_read_again() -> None:
    recording = load("subagent")
    narration = _fed(Narration(), events(recording.events))
    before = narration.segments
    assert [s.agent for s in before if isinstance(s, Tool)] == ["", "Look around"]
    narration.recover(recording.transcript[1:])
    assert narration.segments == before


def test_a_call_of_which_only_the_transcript_knows_the_end_is_finished() -> None:
    recording = load("tool")
    stream = events(recording.events)
    (answer,) = [at for at, e in enumerate(recording.events) if e["type"] == "user"]
    narration = Narration()
    _fed(narration, stream[answer:])
    narration.recover(recording.transcript[1:])
    (call,) = [s for s in narration.segments if isinstance(s, Tool)]
    assert call.state == "ok"


# --- calls ----------------------------------------------------------------------------------------
def _calls(narration: Narration) -> list[tuple[str, str]]:
    return [(s.state, s.detail) for s in narration.segments if isinstance(s, Tool)]


def test_a_call_runs_until_its_result_comes() -> None:
    recording = load("tool")
    (answer,) = [at for at, e in enumerate(recording.events) if e["type"] == "user"]
    stream = events(recording.events)
    narration = _fed(Narration(), stream[:answer])
    assert _calls(narration) == [("running", "")]
    narration.feed(stream[answer])
    assert _calls(narration) == [("ok", "")]


def test_a_call_without_a_result_is_not_finished_when_the_turn_ends() -> None:
    stream = [e for e in load("tool").events if e["type"] != "user"]
    assert _calls(_fed(Narration(), events(stream))) == [("error", "not finished")]


def test_a_refused_call_is_denied_and_not_broken() -> None:
    narration = Narration()
    for event, raw in zip(events(load("denied").events), load("denied").events, strict=True):
        if raw["type"] == "control_request":
            narration.deny(raw["request"]["tool_use_id"])
        narration.feed(event)
    assert _calls(narration) == [("denied", "not now")]


# --- the process speaks ---------------------------------------------------------------------------
def test_a_retry_is_shown_until_the_model_answers() -> None:
    narration = Narration()
    seen: list[str] = []
    for event in events(load("api_retry").events):
        narration.feed(event)
        seen += [s.text for s in narration.segments if isinstance(s, Note)][:1]
    assert "status 529" in seen[0]
    assert "try 1 of 10" in seen[0]
    assert not any(isinstance(s, Note) for s in narration.segments)


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"subtype": "status", "compact_result": "failed", "compact_error": "no room"}, "no room"),
        ({"subtype": "status", "compact_result": "failed"}, "no reason given"),
        (
            {"subtype": "compact_boundary", "compact_metadata": {"pre_tokens": 9999}},
            "Context compacted: 10k → ? tokens",
        ),
        ({"subtype": "compact_boundary"}, "Context compacted"),
    ],
)
def test_a_compaction_leaves_a_note_of_how_it_went(fields: Json, note: str) -> None:
    narration = Narration()
    assert narration.feed(parse_object({"type": "system", **fields}))
    (segment,) = narration.segments
    assert isinstance(segment, Note)
    assert note in segment.text


def test_a_text_that_only_the_result_has_is_shown() -> None:
    narration = Narration()
    narration.feed(Result(result="All there is."))
    assert narration.segments == [Text("All there is.")]
    narration.feed(Result(result="All there is."))
    assert narration.segments == [Text("All there is.")]


def test_an_api_error_stands_in_the_text_only_where_no_result_says_it() -> None:
    recording = load("api_error")
    narration = Narration()
    narration.recover(recording.transcript[1:2])
    assert narration.text.startswith("API Error: 400")
    narration.feed(Result(is_error=True, result="API Error: 400"))
    assert narration.text == ""


# --- usage ----------------------------------------------------------------------------------------
@given(turns())
def test_the_context_is_that_of_the_last_call_with_its_whole_output(played: Played) -> None:
    narration = _fed(Narration(), played.events())
    assert narration.usage is not None
    assert narration.usage.context_tokens == 117
    assert narration.model == "opus"


@pytest.mark.parametrize("name", ["api_error", "slash", "compact_nothing"])
def test_what_the_cli_itself_says_does_not_reset_the_context(name: str) -> None:
    narration = _fed(Narration(), events(load("text").events))
    usage, model = narration.usage, narration.model
    assert usage is not None
    _fed(narration, events(load(name).events))
    assert (narration.usage, narration.model) == (usage, model)
