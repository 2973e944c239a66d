"""The limits of modals, and what a person's answers look like."""

from typing import Any

import pytest

from bridge.rehearsal.discord import ApiError, modals
from bridge.rehearsal.discord.options import OptionError


def field(**more: Any) -> dict[str, Any]:
    return {"type": 4, "style": 1, "custom_id": "answer", **more}


def label(component: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": 18, "label": "Answer", "component": component or field(), **more}


def modal(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"custom_id": "form", "title": "Form", "components": list(parts) or [label()], **more}


ROW = {"type": 1, "components": [field(label="Answer")]}


@pytest.mark.parametrize(
    "bad",
    [
        modal(title=""),
        modal(title="x" * 46),
        modal(custom_id=""),
        modal(custom_id="x" * 101),
        modal(*[label(field(custom_id=str(n))) for n in range(6)]),
        modal(label(label="")),
        modal(label(label="x" * 46)),
        modal(label(description="x" * 101)),
        modal({"type": 18, "label": "nothing in it"}),
        modal({"type": 1, "components": []}),
        modal({"type": 1, "components": [field()]}),
        modal({"type": 2, "style": 1, "label": "a button", "custom_id": "b"}),
        modal(label(field(custom_id=""))),
        modal(label(field(placeholder="x" * 101))),
        modal(label(field(value="x" * 4001))),
        modal(label(field(max_length=4001))),
    ],
)
def test_bad_modals_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as error:
        modals.check(bad)
    assert error.value.code == 50035


def test_every_component_is_numbered() -> None:
    shown = modals.check(modal(label(), ROW | {"components": [field(label="B", custom_id="b")]}))
    first, second = shown["components"]
    numbers = [first["id"], first["component"]["id"], second["id"], second["components"][0]["id"]]
    assert sorted(numbers) == [1, 2, 3, 4]


def test_answers_have_the_modals_shape() -> None:
    menu = {"type": 3, "custom_id": "menu", "options": [{"label": "x", "value": "x"}]}
    shown = modals.check(modal(label(), label(menu), {"type": 10, "content": "just text"}))
    first, second, text = modals.answer(shown, {"answer": "yes", "menu": ["x"]})
    assert first["component"]["value"] == "yes"
    assert second["component"]["values"] == ["x"]
    assert text == {"type": 10, "id": text["id"]}


def test_what_was_filled_in_beforehand_stays() -> None:
    [part] = modals.answer(modals.check(modal(label(field(value="before")))), {})
    assert part["component"]["value"] == "before"


@pytest.mark.parametrize(
    ("more", "values"),
    [
        ({}, {}),
        ({}, {"answer": ""}),
        ({}, {"other": "x"}),
        ({"min_length": 3}, {"answer": "ab"}),
        ({"max_length": 3}, {"answer": "abcd"}),
    ],
)
def test_what_a_client_would_not_send_is_refused(
    more: dict[str, Any], values: dict[str, str]
) -> None:
    shown = modals.check(modal(label(field(**more))))
    with pytest.raises(OptionError):
        modals.answer(shown, values)


def test_an_optional_field_may_stay_empty() -> None:
    [part] = modals.answer(modals.check(modal(label(field(required=False)))), {})
    assert part["component"]["value"] == ""
