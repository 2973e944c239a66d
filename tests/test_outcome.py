"""How a turn can end, and the words for it: what happened, what to do, never silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.narration import Narration
from bridge.outcome import (
    Answered,
    Cut,
    Died,
    Limit,
    Outcome,
    Refused,
    Stopped,
    TimedOut,
    session_is_gone,
    tail,
)
from bridge.process import Exit
from bridge.protocol import Result
from bridge.render import MESSAGE_LIMIT
from bridge.render.measure import units
from tests.protocol.facts import events
from tests.protocol.record import load

KEPT = "session is kept"


def words(outcome: Outcome, *, cost: float | None = None) -> str:
    return tail(outcome, Narration(), 12, cost)


def failed(text: str, status: int | None = None) -> Answered:
    return Answered(Result(is_error=True, result=text, api_error_status=status))


def results(name: str) -> list[Result]:
    return [event for event in events(load(name).events) if isinstance(event, Result)]


OUTCOMES: list[tuple[Outcome, list[str]]] = [
    (Died(Exit(3, None, "boom")), ["ended in mid-turn", "exited with code 3", KEPT, "boom"]),
    (Died(Exit(None, 9, "")), ["SIGKILL", KEPT]),
    (Died(Exit(None, 11, "")), ["SIGSEGV", KEPT]),
    (Died(Exit(None, 64, "")), ["ended by SIGRTMAX", KEPT]),
    (Died(Exit(None, 99, "")), ["ended by signal 99", KEPT]),
    (Died(Exit(None, None, "")), ["supervisor was killed", KEPT]),
    (TimedOut(Limit.SILENCE, 90), ["no sign of life for 90 seconds", KEPT, "SILENCE_TIMEOUT"]),
    (TimedOut(Limit.LENGTH, 3600), ["longer than 60 minutes", KEPT, "TURN_TIMEOUT"]),
    (Refused("No folder.", "Make one.", "ENOENT"), ["No folder.", "Make one.", "ENOENT"]),
    (Cut(), ["while the bot was away", KEPT]),
    (failed("Something else"), ["The turn failed", KEPT, "Something else"]),
    (failed("Not logged in · Please run /login"), ["not logged in", "operator", "Please run"]),
    (failed("Invalid API key", 401), ["not logged in", "operator", "Invalid API key"]),
    (failed("Prompt is too long"), ["no longer fits", "`/new`", "Prompt is too long"]),
    (failed("Could not process image", 400), ["refuses an image", "`/new`"]),
    (
        failed("`tool_use` ids were found without `tool_result` blocks"),
        ["history is damaged", "`/new fork:True`"],
    ),
    (failed("Claude AI usage limit reached|1893456000"), ["usage limit", "<t:1893456000:R>"]),
    (failed("You've hit your session limit · resets 10pm (UTC)"), ["session limit", "<t:"]),
    (Answered(Result(is_error=True, subtype="error_max_turns")), ["failed", "error_max_turns"]),
    (Answered(Result(is_error=True, errors=("one", "two"))), ["failed", "one\ntwo"]),
]


@pytest.mark.parametrize(("outcome", "parts"), OUTCOMES)
def test_a_turn_that_went_wrong_says_what_happened_and_what_to_do(
    outcome: Outcome, parts: list[str]
) -> None:
    said = words(outcome)
    assert said.startswith("⚠️ **")
    for part in parts:
        assert part in said
    assert "context" not in said


@pytest.mark.parametrize(("outcome", "parts"), OUTCOMES)
def test_what_to_do_stands_on_a_line_of_its_own(outcome: Outcome, parts: list[str]) -> None:
    what, todo, *_ = words(outcome).splitlines()
    assert what.endswith("**")
    assert todo.strip()
    assert not todo.startswith("```")


@given(st.text(max_size=6000), st.sampled_from([None, 400, 401, 429]))
def test_an_error_of_whatever_words_is_one_message(text: str, status: int | None) -> None:
    assert 0 < units(words(failed(text, status))) <= MESSAGE_LIMIT
    assert 0 < units(words(Died(Exit(1, None, text)))) <= MESSAGE_LIMIT
    assert 0 < units(words(Refused(text, text, text))) <= MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("status", "answer"), [(None, "How rate limits work: You've hit your session limit")]
)
def test_an_answer_about_limits_is_an_answer(status: int | None, answer: str) -> None:
    said = words(Answered(Result(result=answer, api_error_status=status)))
    assert said.startswith("-# ")


def test_a_good_answer_has_a_footer_with_time_context_and_cost() -> None:
    narration = Narration()
    for event in events(load("tool").events):
        narration.feed(event)
    (result,) = results("tool")
    said = tail(Answered(result), narration, 12, 0.25)
    assert said == "-# 12 s · 13k / 1M context (1 %) · $0.25"


def test_what_is_not_known_is_left_out_of_the_footer() -> None:
    assert words(Answered(None)) == "-# 12 s"


def test_a_stopped_turn_names_who_stopped_it_and_cannot_call_anybody() -> None:
    said = words(Stopped("@everyone *Ann*"))
    assert said.startswith("-# 12 s · ⏹️ stopped by ")
    assert "@everyone" not in said
    assert r"\*Ann\*" in said


def test_an_interrupt_is_no_failure() -> None:
    interrupted, _ = results("interrupt")
    assert interrupted.is_error
    assert words(Answered(interrupted)).startswith("-# ")


@pytest.mark.parametrize("name", ["api_error"])
def test_a_real_failure_is_shown_in_the_clis_words(name: str) -> None:
    for result in results(name):
        assert result.subtype == "success"
        assert result.trouble in words(Answered(result))


# --- a session that is gone -----------------------------------------------------------------------
def test_a_gone_session_is_known_by_the_result_or_by_stderr() -> None:
    (stale,) = results("stale")
    assert session_is_gone(Answered(stale))
    assert session_is_gone(Died(Exit(1, None, "No conversation found with session ID: x")))


@pytest.mark.parametrize(
    "outcome",
    [
        Answered(None),
        Answered(Result(result="No conversation found with session ID: is what it says")),
        failed("API Error: 500"),
        Died(Exit(1, None, "")),
        Died(Exit(None, 9, "Killed")),
        TimedOut(Limit.SILENCE, 1),
        Refused("No conversation found", "", "No conversation found"),
        Stopped("x"),
        Cut(),
    ],
)
def test_no_other_end_makes_the_session_count_as_gone(outcome: Outcome) -> None:
    assert not session_is_gone(outcome)
