"""The rules of the Messages API that a transcript can break."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.rehearsal.model.rules import violations
from bridge.rehearsal.model.signing import sign
from bridge.rehearsal.model.wire import MessagesRequest


def user(*content: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "content": list(map(block, content))}


def assistant(*content: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "assistant", "content": list(map(block, content))}


def block(content: dict[str, Any] | str) -> dict[str, Any]:
    return {"type": "text", "text": content} if isinstance(content, str) else content


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}


def thought(text: str, signature: str | None = None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature or sign(text)}


def check(*messages: dict[str, Any], **fields: Any) -> str:
    body = {"model": "m", "messages": list(messages), **fields}
    return "\n".join(violations(MessagesRequest.model_validate(body)))


def test_a_conversation_with_everything_in_its_place_passes() -> None:
    assert not check(
        user("hi"),
        {"role": "system", "content": []},
        assistant(thought("hm"), "look", call("a"), call("b")),
        user(result("b"), result("a"), "and this"),
        assistant("done"),
        user("next"),
    )


def test_neighbours_of_one_role_count_as_one_message() -> None:
    assert not check(
        user("hi"), assistant(call("a")), assistant(call("b")), user(result("a")), user(result("b"))
    )


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([assistant("hi"), user("x")], "first message must use the user role"),
        ([user("hi"), assistant("x")], "does not support assistant message prefill"),
        ([user()], "non-empty content"),
        ([user(" \n")], "non-whitespace text"),
        ([{"role": "user", "content": ""}], "non-empty content"),
        ([user({"type": "text"})], "Field required"),
        ([user("x", call("a"))], "`tool_use` blocks can only be in `assistant` messages"),
        ([user("x"), assistant(result("a")), user("y")], "can only be in `user` messages"),
        ([user("x"), assistant(call("a")), user("y")], "without `tool_result` blocks"),
        ([user("x"), assistant(call("a")), user("y", result("a"))], "without `tool_result` blocks"),
        ([user("x"), assistant("y"), user(result("a"))], "unexpected `tool_use_id`"),
        ([user(result("a"))], "unexpected `tool_use_id`"),
        (
            [user("x"), assistant(call("a")), user(result("a"), result("a"))],
            "must have a single result",
        ),
        (
            [user("x"), assistant(call("a"), call("a")), user(result("a"))],
            "ids must be unique",
        ),
        (
            [user("x"), *[assistant(call("a")), user(result("a"))] * 2],
            "ids must be unique",
        ),
        ([user("x"), assistant(call("not an id")), user(result("not an id"))], "tool_use.id"),
        ([user("x"), assistant(thought("a", sign("b")), "y"), user("z")], "Invalid `signature`"),
    ],
)
def test_what_the_api_refuses_is_named_in_its_words(
    messages: list[dict[str, Any]], said: str
) -> None:
    assert said in check(*messages)


def test_a_refused_tool_list_and_too_many_cache_marks_are_named() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = [{"type": "text", "text": "x", **mark}] * 5
    assert "Found 5" in check(user("x"), system=marked)
    assert "must be unique" in check(user("x"), tools=[{"name": "A"}, {"name": "A"}])


@given(st.text(), st.text())
def test_only_the_thought_that_was_signed_passes(text: str, other: str) -> None:
    altered = {**thought(text), "thinking": other}
    broken = check(user("x"), assistant(altered, "y"), user("z"))
    assert bool(broken) == (text != other)


@given(st.lists(st.sampled_from("abc"), unique=True, min_size=1), st.sampled_from("abc"))
def test_dropping_one_half_of_a_pair_is_always_seen(calls: list[str], dropped: str) -> None:
    kept = [result(name) for name in calls if name != dropped]
    broken = check(user("x"), assistant(*map(call, calls)), user(*kept, "y"))
    assert bool(broken) == (dropped in calls)
