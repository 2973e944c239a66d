"""Reading where a conversation stands."""

from typing import Any

import pytest

from bridge.rehearsal.model.situation import Situation, read
from bridge.rehearsal.model.wire import MessagesRequest

CALL: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}],
}
SAID: dict[str, Any] = {"role": "assistant", "content": "ok"}


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def result(content: Any, *texts: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "a", "content": content}
    return {"role": "user", "content": [block, *user(*texts)["content"]]}


def situation(*messages: dict[str, Any]) -> Situation:
    return read(MessagesRequest.model_validate({"model": "m", "messages": list(messages)}))


@pytest.mark.parametrize(
    "added",
    [
        "<system-reminder>\nx\n</system-reminder>\n",
        "[Request interrupted by user]",
        "<local-command-stdout>x</local-command-stdout>",
        "<command-name>/compact</command-name>",
        "This session is being continued from a previous conversation that ran out.",
    ],
)
def test_what_the_cli_adds_is_not_a_prompt(added: str) -> None:
    assert situation(user(added, "mine\n"), SAID, user(added, "next")).prompts == ("mine", "next")


def test_results_belong_to_the_last_message_only() -> None:
    found = situation(
        user("go"), CALL, result("one"), CALL, result([{"type": "text", "text": "2"}])
    )
    assert (found.step, found.results, found.after_tool) == (2, ("2",), True)


def test_results_stand_in_the_order_of_their_calls() -> None:
    calls: list[Any] = [{**CALL["content"][0], "id": name} for name in "ab"]
    results = [{"type": "tool_result", "tool_use_id": name, "content": name} for name in "ba"]
    asked: dict[str, Any] = {"role": "assistant", "content": calls}
    assert situation(user("go"), asked, {"role": "user", "content": results}).results == ("a", "b")


def test_a_result_without_text_is_named_by_its_type() -> None:
    assert situation(user("go"), CALL, result([{"type": "image"}])).results == ("[image]",)
    assert situation(user("go"), CALL, result(None)).results == ("",)


def test_a_prompt_beside_a_result_begins_anew() -> None:
    found = situation(user("go"), CALL, result("no", "[Request interrupted by user]", "other"))
    assert (found.prompt, found.step, found.after_tool) == ("other", 0, False)


def test_neighbouring_messages_of_the_model_are_one_step() -> None:
    assert situation(user("go"), SAID, CALL, result("x")).step == 1


def test_system_messages_in_between_change_nothing() -> None:
    system = {"role": "system", "content": "Today"}
    assert situation(user("go"), system, CALL, system, result("x")).step == 1
