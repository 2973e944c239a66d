"""The state: what the scorer is shown, and how it is made to fit, stage by stage."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.estimate import tokens
from compaction.jev import (
    Beyond,
    FittedState,
    Options,
    TooLargeError,
    collect_tool_calls,
    fit_state,
)
from compaction.messages import Message, ToolResult, ToolUse
from tests.compaction.jev.conversations import call, history, result, user, work

FULL = 10**9


def fit(messages: list[Message], limit: int = FULL, **options: Any) -> FittedState:
    settings = Options(max_state_tokens=limit, **options)
    return fit_state(messages, collect_tool_calls(messages, settings), settings)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_texts_inputs_and_notes_are_shown_but_no_results() -> None:
    messages = [
        user("Fix it."),
        call("a", text="I read it.", file_path="x.py"),
        result("a", "SECRET BODY"),
        call("b", "Bash", command="pytest"),
        result("b", "BOOM BODY", is_error=True),
    ]
    fitted = fit(messages)
    assert fitted.stage == "full"
    assert history(fitted.state) == [
        {"i": 0, "role": "user", "text": "Fix it."},
        {
            "i": 1,
            "role": "assistant",
            "text": "I read it.",
            "tool_calls": [
                {
                    "id": "t1",
                    "tool": "Read",
                    "input": '{"file_path":"x.py"}',
                    "result": "ok, 11 chars (omitted)",
                }
            ],
        },
        {
            "i": 3,
            "role": "assistant",
            "text": "",
            "tool_calls": [
                {
                    "id": "t2",
                    "tool": "Bash",
                    "input": '{"command":"pytest"}',
                    "result": "error, 9 chars (omitted)",
                }
            ],
        },
    ]
    assert "BODY" not in as_json(fitted.state)
    assert list(fitted.state) == ["context", "goal", "history"]


def test_the_goal_is_the_last_three_prompts_unless_one_is_given() -> None:
    prompts = [user("one"), user("two"), user("  "), user("x" * 600), user("four")]
    assert fit([*prompts]).state["goal"] == f"two\n{'x' * 499}…\nfour"
    assert fit(prompts[:2]).state["goal"] == "one\ntwo"
    assert fit(prompts, goal="mine").state["goal"] == "mine"
    assert fit(prompts, goal=" ").state["goal"].startswith("two")
    answered = [user("one"), Message("user", "no prompt", (), (ToolResult("a", "r"),))]
    assert fit(answered).state["goal"] == "one"


def test_instructions_are_appended_to_the_goal_and_blank_ones_are_not() -> None:
    assert fit([user("one")], instructions="keep the SQL").state["goal"] == "one\nkeep the SQL"
    assert fit([user("x")], goal="g", instructions="i").state["goal"] == "g\ni"
    assert fit([user("one")], instructions=" \n").state["goal"] == "one"


def test_inputs_are_cut_before_texts_are() -> None:
    messages = [
        user("Write it. " + "y" * 600),
        call("a", "Write", content="word " * 1000),
        result("a", "ok"),
    ]
    fitted = fit(messages, limit=360, goal="Write it.")
    assert fitted.stage == "inputs<=200"
    shown = history(fitted.state)
    assert shown[0]["text"] == messages[0].text
    assert len(shown[1]["tool_calls"][0]["input"]) == 200
    assert len(history(fit(messages).state)[1]["tool_calls"][0]["input"]) == 1000


FORTY = work(40)


def test_old_calls_become_lines_when_inputs_and_texts_are_short_already() -> None:
    full = fit(FORTY, preserve_recent_messages=0)
    fitted = fit(FORTY, int(full.tokens * 0.8), preserve_recent_messages=0)
    assert fitted.stage == "old calls compacted"
    assert history(fitted.state)[1]["tool_calls"] == [
        "t1 Read file_path=src/module_0.ts → ok 2000ch"
    ]
    assert fitted.tokens >= tokens(as_json(fitted.state))
    assert isinstance(history(fitted.state)[40]["tool_calls"][0], dict), "no more than needed"


def test_lines_are_merged_last() -> None:
    full = fit(FORTY, preserve_recent_messages=1)
    fitted = fit(FORTY, int(full.tokens * 0.45), preserve_recent_messages=1)
    assert fitted.stage == "old calls merged"
    shown = history(fitted.state)
    assert len(shown) == 3
    assert len(shown[1]["tool_calls"]) == 40
    assert fitted.shown == {f"t{n}" for n in range(1, 41)}


def test_arguments_in_a_line_are_one_line_of_sixty_characters_at_most() -> None:
    messages = [
        user("x"),
        call("a", "Bash", command="ls\n  -la", timeout=5),
        result("a", ""),
        call("b", "Bash", command="y" * 100),
        result("b", "no", is_error=True),
        call("c", "List"),
        result("c", "1"),
        user("z"),
    ]
    full = fit(messages, preserve_recent_messages=0).tokens
    for limit in range(full, 0, -1):
        fitted = fit(messages, limit, preserve_recent_messages=0)
        if fitted.stage == "old calls merged":
            break
    else:  # pragma: no cover
        raise AssertionError
    assert history(fitted.state)[1]["tool_calls"] == [
        't1 Bash command=ls -la {"timeout":5} → ok 0ch',
        f"t2 Bash command={'y' * 51}… → error 2ch",
        "t3 List → ok 1ch",
    ]


LONG = [
    user("first " * 800),
    Message("assistant", "middle " * 800),
    Message("assistant", "second " * 800),
    user("last"),
]


def test_old_texts_are_abridged_before_pinned_ones() -> None:
    fitted = fit(LONG, 1800, preserve_recent_messages=1)
    assert fitted.stage == "texts abridged"
    shown = history(fitted.state)
    assert shown[0]["text"] == LONG[0].text
    text = LONG[1].text
    note = f"[… {len(text) - 550} chars omitted …]"
    assert shown[1]["text"] == f"{text[:400]}\n{note}\n{text[-150:]}"


def test_old_texts_are_collapsed_and_pinned_ones_only_abridged() -> None:
    fitted = fit(LONG, 420, preserve_recent_messages=1)
    assert fitted.stage == "old messages collapsed"
    shown = history(fitted.state)
    assert shown[0]["text"].startswith("first first")
    assert "[… 4250 chars omitted …]" in shown[0]["text"]
    assert shown[1]["text"] == f"[… {len(LONG[1].text)} chars omitted …]"


def test_a_text_is_abridged_only_if_that_saves_something() -> None:
    for chars, untouched in ((590, True), (591, False)):
        messages = [user("x"), Message("assistant", "a" * chars), Message("assistant", "b " * 900)]
        shown = history(fit(messages, 600, preserve_recent_messages=0).state)
        assert (shown[1]["text"] == messages[1].text) is untouched


def test_messages_without_calls_are_left_out_before_calls_are_merged() -> None:
    messages = [user("x")]
    for number in range(30):
        messages += [Message("assistant", f"step {number}"), *work(1, 10)[1:3]]
        messages[-2:] = [call(f"c{number}", path="p"), result(f"c{number}", "r")]
    full = fit(messages, preserve_recent_messages=0).tokens
    stages = [fit(messages, int(full * s), preserve_recent_messages=0) for s in (0.55, 0.35)]
    assert [s.stage for s in stages] == ["old messages left out", "old calls merged"]


def test_what_fits_in_no_way_is_refused_with_both_numbers() -> None:
    with pytest.raises(TooLargeError, match=r"history too large: about \d{3} tokens, 50 allowed"):
        fit([user("x" * 2000)], 50)


def test_calls_without_a_result_are_shown_and_survive_all_stages() -> None:
    pending = call("p", "Bash", command="sleep 1000")
    messages = [*FORTY[:-1], pending, *([user("still there?")] * 2)]
    full = fit(messages, preserve_recent_messages=0)
    for share in (1, 0.6, 0.45):
        fitted = fit(messages, int(full.tokens * share), preserve_recent_messages=0)
        waiting = [e["pending_calls"] for e in history(fitted.state) if "pending_calls" in e]
        assert waiting == [[{"tool": "Bash", "input": '{"command":"sleep 1000"}'}]]


def test_with_overflow_the_oldest_calls_are_left_out_and_only_as_many_as_needed() -> None:
    options = {"preserve_recent_messages": 4, "beyond": Beyond(overflow="leave_out")}
    fitted = fit(FORTY, 500, **options)
    assert fitted.stage == "old calls left out"
    kept = len(fitted.shown)
    assert 3 < kept < 40
    assert fitted.shown == {f"t{n}" for n in range(41 - kept, 41)}
    assert fitted.tokens <= 500 < fitted.tokens + 40
    with pytest.raises(TooLargeError):
        fit(FORTY, 500, preserve_recent_messages=4)
    with pytest.raises(TooLargeError):
        fit(FORTY, 50, **options)


def test_an_input_without_json_is_still_shown() -> None:
    messages = [user("x"), call("a", when=object()), result("a", "r")]
    shown = history(fit(messages).state)[1]["tool_calls"][0]
    assert shown["input"] == '"not serialisable"'


@given(
    st.lists(
        st.tuples(st.text(max_size=800), st.integers(0, 2), st.text(max_size=300)), max_size=8
    ),
    st.floats(0.2, 1),
)
def test_whatever_is_fitted_is_within_its_limit_and_counted_right(
    parts: list[tuple[str, int, str]], share: float
) -> None:
    messages: list[Message] = []
    for number, (text, uses, value) in enumerate(parts):
        ids = [f"u{number}-{n}" for n in range(uses)]
        messages.append(
            Message("assistant", text, tuple(ToolUse(i, "Read", {"path": value}) for i in ids))
        )
        messages.append(Message("user", "", (), tuple(ToolResult(i, value) for i in ids)))
    full = fit(messages)
    limit = int(full.tokens * share)
    try:
        fitted = fit(messages, max(1, limit))
    except TooLargeError:
        return
    assert tokens(as_json(fitted.state)) <= fitted.tokens <= max(1, limit)
