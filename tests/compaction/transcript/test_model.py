"""Messages, decisions and the estimate of tokens: what all strategies stand on."""

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.decisions import CLEARED, Action, Decision, apply
from compaction.estimate import IMAGE_TOKENS, json_tokens, message_tokens, tokens
from compaction.messages import Message, ToolResult, ToolUse, from_json, to_json

IDS = st.sampled_from(["t1", "t2", "t3"])
USES = st.builds(ToolUse, IDS, st.text(min_size=1), st.dictionaries(st.text(), st.text()))
RESULTS = st.builds(ToolResult, IDS, st.text(), st.booleans(), st.integers(0, 2))
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.text(),
    st.lists(USES, max_size=3).map(tuple),
    st.lists(RESULTS, max_size=3).map(tuple),
)


# --- messages -----------------------------------------------------------------------------------
@given(MESSAGES)
def test_a_message_comes_back_from_its_dictionary(message: Message) -> None:
    assert from_json(to_json(message)) == message


def test_the_dictionary_has_the_keys_that_others_know() -> None:
    use = ToolUse("t1", "Bash", {"command": "ls"})
    said = Message("assistant", "Look.", (use,), (ToolResult("t1", "no", True),))
    assert to_json(said) == {
        "role": "assistant",
        "text": "Look.",
        "toolUses": [{"tool_use_id": "t1", "tool": "Bash", "input": {"command": "ls"}}],
        "toolResults": [{"tool_use_id": "t1", "text": "no", "isError": True}],
    }


@pytest.mark.parametrize(
    "data",
    [{}, {"role": "system"}, {"role": "user", "toolUses": 3}, {"role": "user", "toolUses": [3]}],
)
def test_what_is_no_message_is_said_to_be_none(data: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no"):
        from_json(data)


# --- the estimate -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("hello world", 2), ("a" * 20, 4), ("12345678", 4), ("漢", 1), ("😀", 2), (" \n", 0)],
)
def test_the_anchors_of_the_estimate(text: str, expected: int) -> None:
    assert tokens(text) == expected


def by_the_words(text: str) -> int:
    """The estimate as it is described, run by run."""
    tenths = 0
    for found in re.findall(r"[A-Za-z]+|[0-9]+|.", text, re.DOTALL):
        if re.match("[A-Za-z]", found):
            tenths += 10 * (1 + (len(found) - 1) // 6)
        elif re.match("[0-9]", found):
            tenths += 5 * len(found)
        elif not ((found.isspace() and not 0x1C <= ord(found) <= 0x1F) or found == "\ufeff"):
            tenths += 18 if ord(found) > 0xFFFF else 9
    return math.ceil(tenths / 10)


@given(st.text(st.sampled_from('abzAZ019 \n\t.{}"é漢😀\u00a0\u3000\ufeff\x1c\ud83d'), max_size=80))
def test_the_estimate_counts_runs_as_it_says(text: str) -> None:
    assert tokens(text) == by_the_words(text)


def test_json_weighs_more_than_a_third_of_its_length() -> None:
    value = {"i": 3, "role": "user", "text": "", "tool_calls": [{"id": "t1", "result": "ok, 9"}]}
    assert json_tokens(value) >= 88 / 3


def test_a_message_weighs_all_that_the_model_is_shown() -> None:
    said = Message("user", "hello world", (), (ToolResult("t1", "12345678", images=1),))
    assert message_tokens(said) == 2 + 4 + IMAGE_TOKENS


# --- decisions ----------------------------------------------------------------------------------
CALL = ToolUse("t1", "Write", {"path": "/a", "content": "long " * 9})
OTHER = ToolUse("t2", "Bash", {"command": "ls"})
ASKED = Message("assistant", "", (CALL, OTHER), handle="mine")
GIVEN = Message("user", "", (), (ToolResult("t1", "whole", True, 1), ToolResult("t2", "ls")))


def decided(action: Action, **more: Any) -> list[Message]:
    return apply([ASKED, GIVEN], {"t1": Decision("t1", action, "test", **more)})


@given(st.lists(MESSAGES))
def test_what_no_decision_changes_stays_the_same_object(
    messages: list[Message],
) -> None:
    after = apply(messages, {"t1": Decision("t1", "keep", "test", text="never used")})
    assert all(a is b for a, b in zip(after, messages, strict=True))


@pytest.mark.parametrize(
    ("action", "given_text", "expected"),
    [
        ("stub", None, CLEARED),
        ("drop_result", None, CLEARED),
        ("stub", "see file", "see file"),
        ("trim", "who", "who"),
    ],
)
def test_a_result_gets_its_new_text_and_stays_an_error(
    action: Action, given_text: str | None, expected: str
) -> None:
    asked, results = decided(action, text=given_text)
    assert asked is ASKED
    assert results.tool_results == (ToolResult("t1", expected, True, 0), ToolResult("t2", "ls"))


def test_a_dropped_call_goes_with_its_result_and_an_empty_message_with_it() -> None:
    asked, results = decided("drop_call")
    assert (asked.tool_uses, asked.handle) == ((OTHER,), None)
    assert results.tool_results == (ToolResult("t2", "ls"),)
    both = {name: Decision(name, "drop_call", "test") for name in ("t1", "t2")}
    assert apply([ASKED, GIVEN], both) == []


def test_an_input_keeps_its_keys() -> None:
    asked, results = decided("trim_input", input={"content": "long", "new": "x"})
    assert asked.tool_uses[0].input == {"path": "/a", "content": "long"}
    assert results is GIVEN


@given(st.lists(MESSAGES), st.sampled_from(["stub", "drop_call", "trim"]))
def test_messages_are_never_changed_themselves(messages: list[Message], action: Action) -> None:
    before = [to_json(message) for message in messages]
    apply(messages, {"t1": Decision("t1", action, "test", text="x")})
    assert [to_json(message) for message in messages] == before
