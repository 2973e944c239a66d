"""A thread is named by its first exchange, and renamed only where that tells more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import titles


@pytest.mark.parametrize(
    "prompt", ["Fix the login page", "alpha", "Why is pytest slow?", "日本語のテスト"]
)
def test_a_prompt_that_tells_what_it_is_about_stays_the_name(prompt: str) -> None:
    assert titles.better(prompt, prompt, "# Something else entirely") is None


@pytest.mark.parametrize("prompt", ["hi", "Hello Claude!", "please look at this", "", "👋", "..."])
def test_a_prompt_that_tells_nothing_gives_way_to_the_answer(prompt: str) -> None:
    answer = "Sure!\n\n## Parser crash in `lexer.py`\n\nThe token is never closed."
    assert titles.better("hi", prompt, answer) == "Parser crash in lexer.py"


def test_without_a_heading_the_first_telling_sentence_serves() -> None:
    answer = (
        "Hello! What can I do?\n```\nnot a sentence about code\n```\n"
        "I'll look into the project. This project renders weather maps. More follows."
    )
    assert titles.better("hi", "hi", answer) == "This project renders weather maps"


def test_an_answer_without_a_title_in_it_changes_nothing() -> None:
    for answer in ("", "Hello! How can I help you?", "ok", "```\ncode only here\n```", "x" * 5000):
        assert titles.better("hi", "hi", answer) is None


@given(st.text(), st.text(), st.text())
def test_a_title_is_a_possible_name_of_a_thread(name: str, prompt: str, answer: str) -> None:
    found = titles.better(name, prompt, answer)
    assert found is None or (0 < len(found) <= 100 and "\n" not in found and found != name)
