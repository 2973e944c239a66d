"""The language of the prompts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.rehearsal.model.blocks import Block, Error, Hang, Message, Text, Thinking, Tool, compose
from bridge.rehearsal.model.faults import FAULTS
from bridge.rehearsal.model.scripts import KEYWORDS, answer, turns_for
from bridge.rehearsal.model.situation import Situation


def ask(prompt: str, *earlier: str, step: int = 0, results: tuple[str, ...] = ()) -> Message:
    found = Situation((*earlier, prompt), step, results)
    return answer(turns_for(found), found)


def text(message: Message) -> str:
    return "".join(block.text for block in message if isinstance(block, Text))


def test_any_text_is_echoed_with_what_was_said_before() -> None:
    assert text(ask("c", "a", "b")) == "Echo #3: c | saw: a / b"
    assert text(ask("only")) == "Echo #1: only | saw: "


def test_run_calls_bash_and_then_tells_what_came() -> None:
    words, call = ask("RUN: echo hi; ls")
    assert isinstance(words, Text)
    assert isinstance(call, Tool)
    assert (call.name, call.input["command"]) == ("Bash", "echo hi; ls")
    assert text(ask("RUN: x", step=1, results=("y" * 2000,))) == "Tool said: " + "y" * 1500


def test_tools_are_parallel_calls_of_one_message() -> None:
    calls = ask('TOOLS: [{"name": "A", "input": {"x": 1}}, {"name": "B"}] and so on')
    assert calls == (Tool("A", {"x": 1}), Tool("B", {}))


@pytest.mark.parametrize("prompt", ["TOOL: nonsense", "TOOL: 3", 'TOOL: {"input": {}}'])
def test_a_call_that_cannot_be_read_is_answered_with_the_form(prompt: str) -> None:
    assert "TOOL needs JSON" in text(ask(prompt))


def test_slow_takes_its_time_and_ends_in_its_mark() -> None:
    (slow,) = ask("SLOW 2.5 gamma")
    assert isinstance(slow, Text)
    assert slow.seconds == 2.5
    assert slow.text.endswith("END-OF-SLOW SLOW 2.5 gamma")


@given(st.integers(1, 60_000))
def test_long_is_as_long_as_asked_and_closes_its_fences(size: int) -> None:
    long = text(ask(f"LONG {size}"))
    assert len(long) >= size
    assert long.endswith("END-OF-LONG")
    assert long.count("```") % 2 == 0
    parts = len(re.findall(r"^### Part \d+$", long, re.MULTILINE))
    lines = [f"value_{n}_{k} = {k} * {n}" for n in range(1, parts + 1) for k in range(40)]
    assert all(line in long for line in lines)


def test_think_thinks_before_it_echoes() -> None:
    thought, echo = ask("THINK hard")
    assert isinstance(thought, Thinking)
    assert echo == Text("Echo #1: THINK hard | saw: ")


def test_the_first_keyword_decides() -> None:
    assert text(ask("SAY: RUN: ls")) == "RUN: ls"
    assert isinstance(ask("[someone] RUN: echo SAY: x")[-1], Tool)
    assert text(ask("PRUNE: HANGAR")) == "Echo #1: PRUNE: HANGAR | saw: "


def test_steps_go_on_from_tool_to_tool_and_end_in_text() -> None:
    prompt = "STEPS: SAY: Look. ;; RUN: ls ;; THINK of it ;; RUN: pwd ;; SAY: Done."
    first, second, last = (ask(prompt, step=step) for step in range(3))
    assert [type(block) for block in first] == [Text, Text, Tool]
    assert [type(block) for block in second] == [Thinking, Text, Tool]
    assert last == (Text("Done."),)


def test_an_error_lasts_as_often_as_asked_and_then_the_answer_comes() -> None:
    prompt = Situation(("ERROR 529 times=2",))
    turns = turns_for(prompt)
    assert compose(turns, failed=1)[0][0] == Error("529", 2)
    assert text(compose(turns, failed=2)[0]).startswith("Echo #1")
    assert compose(turns_for(Situation(("ERROR 401",))), failed=99)[0][0] == Error("401")


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_of_error_is_a_keyword(kind: str) -> None:
    assert Error(kind) in ask(f"ERROR {kind}")


def test_an_answer_that_breaks_off_is_asked_for_again_as_the_next_message() -> None:
    prompt = "ERROR overloaded-midstream times=2"
    assert [type(block) for block in ask(prompt, step=1)] == [Text, Error]
    assert text(ask(prompt, step=2)).startswith("Echo #1")


def test_an_unknown_kind_of_error_is_explained() -> None:
    assert "usage-limit" in text(ask("ERROR whatever"))


def test_hang_hangs() -> None:
    assert ask("HANG") == (Hang(),)


def test_help_lists_every_keyword() -> None:
    shown = text(ask(" Help "))
    assert all(keyword.usage in shown for keyword in KEYWORDS)


def test_the_summary_that_the_cli_asks_for_names_what_was_said() -> None:
    asked = "Your task is to create a detailed summary of the conversation so far."
    assert "- alpha" in text(ask(asked, "alpha")).partition("<summary>")[2]


@given(st.text(), st.integers(0, 3), st.lists(st.text(), max_size=2))
def test_every_prompt_gets_an_answer_that_is_not_empty(
    prompt: str, step: int, results: list[str]
) -> None:
    message = ask(prompt, step=step, results=tuple(results))
    assert all(says_something(block) for block in message)
    assert message


def says_something(block: Block) -> bool:
    return not isinstance(block, Text | Thinking) or bool(block.text.strip())
