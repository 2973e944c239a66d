"""Claude's own questions: read in each of their forms, answered in the one that the CLI takes."""

import json
from typing import Any

import pytest

from bridge.protocol import PermissionRequest
from bridge.protocol.questions import answered, questions_of

QUESTIONS: list[dict[str, Any]] = [
    {"question": "Colour?", "header": "Colour", "options": [{"label": "red", "new": 1}]},
    {"question": "Meals?", "multiSelect": True, "options": []},
]


def request(questions: object, tool: str = "AskUserQuestion") -> PermissionRequest:
    return PermissionRequest(tool_name=tool, input={"questions": questions, "more": 1})


@pytest.mark.parametrize("questions", [QUESTIONS, json.dumps(QUESTIONS)])
def test_questions_are_read_as_a_list_and_as_a_text(questions: object) -> None:
    colour, meals = questions_of(request(questions))
    assert (colour.question, colour.header, colour.several) == ("Colour?", "Colour", False)
    assert [option.label for option in colour.options] == ["red"]
    assert meals.several
    answer = answered(request(questions), {"Colour?": "red"})
    assert answer == {
        "behavior": "allow",
        "updatedInput": {"questions": QUESTIONS, "more": 1, "answers": {"Colour?": "red"}},
    }


@pytest.mark.parametrize("questions", [None, "no JSON", 7, [1], [{}], {"question": "a"}])
def test_what_is_no_question_is_none(questions: object) -> None:
    assert questions_of(request(questions)) == ()
    assert questions_of(request(QUESTIONS, "Bash")) == ()
