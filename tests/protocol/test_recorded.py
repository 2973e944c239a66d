"""What the models find in the real CLI's output: as it was recorded, and as it is today."""

import re
from dataclasses import replace

import pytest

from bridge.protocol import Assistant, Delta, Result, System, ToolResults
from tests.protocol.facts import Facts, Turn, events, facts
from tests.protocol.record import SCENARIOS, find_cli, load, record

CLI = find_cli()
ECHO = "Echo #1: alpha one | saw: "
RUN = "Running it."

SHOWN: dict[str, list[list[str]]] = {
    "text": [[ECHO], ["Echo #2: beta two | saw: alpha one"]],
    "repeated": [[ECHO], ["Echo #2: beta two | saw: alpha one"]],
    "tool": [[RUN, "[Bash: echo hello: ok ]", "Tool said: hello"]],
    "tool_error": [
        [
            RUN,
            "[Bash: echo broken >&2; exit 3: error Exit code 3]",
            "Tool said: Exit code 3\nbroken",
        ]
    ],
    "parallel": [["[Bash: echo one: ok ]", "[Bash: echo two: ok ]", "Tool said: one | two"]],
    "steps": [
        [RUN, "[Bash: echo 1: ok ]", "In between.", RUN, "[Bash: echo 2: ok ]", "Done."],
    ],
    "thinking": [["Echo #1: THINK hard | saw: "]],
    "allowed": [[RUN, "[Bash: touch made: ok ]", "Tool said: (Bash completed with no output)"]],
    "denied": [[RUN, "[Bash: touch made: error not now]", "Tool said: not now"]],
    "interrupt": [["working working wo"], ["Echo #2: beta two | saw: SLOW 60 omega"]],
    "stale": [[]],
    "api_error": [[], []],
    "api_retry": [["Echo #1: ERROR 529 times=1 | saw: "]],
    "midstream": [["So far so good, ", "Echo #1: ERROR overloaded-midstream times=1 | saw: "]],
    "compact": [
        [ECHO],
        ["(🗜️ Context compacted: 13k → 3k tokens)"],
        ["Echo #1: beta two | saw: "],
    ],
    "compact_nothing": [["Error: No messages to compact"]],
}


def _steady(found: Facts) -> Facts:
    """Without the ends of texts, which may tell sizes, times and the versions of things."""
    turns = [replace(turn, shown=[_head(text) for text in turn.shown]) for turn in found.turns]
    return replace(found, turns=[replace(turn, error=_head(turn.error)) for turn in turns])


def _head(text: str) -> str:
    return re.sub(r"\d+k", "Nk", text.partition("\n")[0])[:40]


def _turns(name: str) -> list[Turn]:
    return facts(load(name).events).turns


@pytest.mark.parametrize("name", SCENARIOS)
def test_all_that_the_cli_prints_is_understood(name: str) -> None:
    assert facts(load(name).events).not_understood == set()


@pytest.mark.parametrize("name", SHOWN)
def test_each_turn_shows_its_texts_and_calls_once_and_in_order(name: str) -> None:
    assert [turn.shown for turn in _turns(name)] == SHOWN[name]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_transcripts_records_tell_as_much_as_the_stream(name: str) -> None:
    """The uuids of both are the same, and so are the blocks."""
    recording = load(name)
    written = {r["uuid"]: r for r in recording.transcript if r["type"] == "assistant"}
    for event in recording.events:
        own = event["type"] == "assistant" and event["parent_tool_use_id"] is None
        if own and "local_command_source" not in event:
            record = written.pop(event["uuid"])
            assert record["message"]["id"] == event["message"]["id"]
            assert record["message"]["content"] == event["message"]["content"]
    assert not written


def test_an_interrupted_turn_is_no_failure_and_the_next_one_runs() -> None:
    first, second = _turns("interrupt")
    assert (first.interrupted, second.interrupted, second.error) == (True, False, "")


def test_a_question_whose_turn_was_interrupted_is_void() -> None:
    found = facts(load("interrupted_question").events)
    assert (found.asked, found.void) == (["Bash"], 1)
    assert found.turns[0].interrupted


@pytest.mark.parametrize("name", ["allowed", "denied"])
def test_a_permission_request_names_its_tool(name: str) -> None:
    assert facts(load(name).events).asked == ["Bash"]


def test_an_unknown_session_is_known_by_its_result_alone() -> None:
    (turn,) = _turns("stale")
    assert turn.unknown_session
    assert not any(turn.unknown_session for turn in _turns("api_error"))


def test_an_api_error_is_a_failure_in_the_clis_words_said_once() -> None:
    """The CLI prints it as a text of the assistant and in a result of subtype `success`."""
    turns = _turns("api_error")
    assert [turn.error for turn in turns] == [
        "API Error: 400 messages.0.content.0.type: Field required",
        "Invalid API key · Fix external API key",
    ]
    spoken = [e for e in events(load("api_error").events) if isinstance(e, Assistant)]
    assert all(e.api_error and e.synthetic for e in spoken)


@pytest.mark.parametrize("name", ["api_error", "slash", "compact_nothing"])
def test_what_the_cli_itself_says_names_no_model(name: str) -> None:
    assert [turn.model for turn in _turns(name)] == [None] * len(_turns(name))


def test_a_slash_command_shows_its_output() -> None:
    (turn,) = _turns("slash")
    assert turn.shown[0].startswith("## Context Usage")


def test_a_retry_says_its_try_and_its_cause() -> None:
    (retry,) = [
        e
        for e in events(load("api_retry").events)
        if isinstance(e, System) and e.subtype == "api_retry"
    ]
    assert (retry.attempt, retry.max_retries, retry.error_status) == (1, 10, 529)


def test_a_compaction_tells_its_sizes() -> None:
    assert facts(load("compact").events).compacted == [True]


def test_a_subagents_calls_name_it_and_its_words_are_not_the_answer() -> None:
    for name in ("subagent", "background"):
        (turn, *_) = _turns(name)
        assert any(words.startswith("[Bash of Look around: echo inner") for words in turn.shown)
        assert "Tool said: inner" not in turn.shown
        assert RUN not in turn.shown


def test_the_end_of_a_background_task_begins_a_turn_that_has_a_result_of_its_own() -> None:
    assert len(_turns("background")) == 2


def test_a_repeated_prompt_id_is_passed_over_in_silence() -> None:
    assert facts(load("repeated").events) == facts(load("text").events)


def test_a_question_to_the_cli_is_answered_or_refused() -> None:
    assert facts(load("asks").events).replies == ["success", "unsupported_request"]


@pytest.mark.parametrize("name", ["text", "tool", "steps", "compact"])
def test_a_good_result_has_a_price_a_window_and_a_context(name: str) -> None:
    for event in events(load(name).events):
        if isinstance(event, Result):
            assert event.total_cost_usd
            assert event.context_window == 1_000_000
            assert event.usage is not None
        if isinstance(event, Delta) and event.event["type"] == "message_start":
            assert event.api_message_id == event.event["message"]["id"]


def test_parallel_results_come_in_events_that_name_their_calls() -> None:
    results = [e for e in events(load("parallel").events) if isinstance(e, ToolResults)]
    assert sum(len(e.message.content) for e in results) == 2


@pytest.mark.e2e
@pytest.mark.skipif(CLI is None, reason="no Claude Code CLI (the extra `cli` brings one)")
@pytest.mark.parametrize("name", sorted({*SCENARIOS} - {"background"}))  # that one is a race
async def test_the_cli_of_today_says_what_was_recorded(name: str) -> None:
    assert CLI is not None
    live = await record(name, CLI)
    assert _steady(facts(live.events)) == _steady(facts(load(name).events))
    assert [r["type"] for r in live.transcript] == [r["type"] for r in load(name).transcript]
