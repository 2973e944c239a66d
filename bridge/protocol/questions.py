"""Claude's own questions: the input of AskUserQuestion, and the answer that it takes."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from bridge.protocol.blocks import Frame
from bridge.protocol.control import PermissionRequest, allow

ASK = "AskUserQuestion"
PLAN = "ExitPlanMode"


class Choice(Frame):
    """One of the answers that Claude offers."""

    label: str
    description: str = ""
    preview: str | None = None


class Asked(Frame):
    """One question; any text may answer it, not only an offered one."""

    question: str
    header: str = ""
    options: tuple[Choice, ...] = ()
    several: bool = Field(default=False, alias="multiSelect")


_LIST: TypeAdapter[tuple[Asked, ...]] = TypeAdapter(tuple[Asked, ...])


def questions_of(request: PermissionRequest) -> tuple[Asked, ...]:
    """The questions of a request, also if they came as a JSON text; none if it has none."""
    if request.tool_name != ASK:
        return ()
    questions = request.input.get("questions")
    try:
        if isinstance(questions, str):
            return _LIST.validate_json(questions)
        return _LIST.validate_python(questions)
    except ValidationError:
        return ()


def answered(request: PermissionRequest, answers: Mapping[str, str]) -> dict[str, Any]:
    """The answer to the CLI; `answers` maps the text of each question to what was said."""
    questions = request.input.get("questions")
    if isinstance(questions, str):
        questions = json.loads(questions)
    return allow({**request.input, "questions": questions, "answers": dict(answers)})
