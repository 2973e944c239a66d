"""Modals: their limits, and a person's answers to them."""

from collections.abc import Mapping
from typing import Any

from bridge.rehearsal.discord import components
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import bad_length, invalid, required, too_long
from bridge.rehearsal.discord.options import OptionError

MAX_COMPONENTS = 5
MAX_TEXT = 4000
_CHECKBOX_GROUP = 22
_MANY_VALUES = components.SELECTS | {_CHECKBOX_GROUP}


def check(modal: Json) -> Json:
    """The modal as a person sees it, each component numbered; raises what Discord would answer."""
    if not 1 <= len(modal.get("title") or "") <= 45:
        raise bad_length("data.title", 1, 45)
    if not 1 <= len(modal.get("custom_id") or "") <= 100:
        raise bad_length("data.custom_id", 1, 100)
    parts: list[Json] = modal.get("components") or []
    if not 1 <= len(parts) <= MAX_COMPONENTS:
        raise bad_length("data.components", 1, MAX_COMPONENTS)
    for index, part in enumerate(parts):
        _check_part(part, f"data.components.{index}")
    numbers = iter(range(1, 1000))
    return modal | {"components": [_numbered(part, numbers) for part in parts]}


def _check_part(part: Json, path: str) -> None:
    match part.get("type"):
        case components.LABEL:
            if not 1 <= len(part.get("label") or "") <= 45:
                raise bad_length(f"{path}.label", 1, 45)
            if len(part.get("description") or "") > 100:
                raise too_long(f"{path}.description", 100)
            if not part.get("component"):
                raise required(f"{path}.component")
            _check_input(part["component"], f"{path}.component")
        case components.ROW:
            if len(part.get("components") or ()) != 1:
                raise bad_length(f"{path}.components", 1, 1)
            field = part["components"][0]
            if not 1 <= len(field.get("label") or "") <= 45:
                raise bad_length(f"{path}.components.0.label", 1, 45)
            _check_input(field, f"{path}.components.0")
        case components.TEXT:
            pass
        case _:
            raise invalid(f"{path}.type", "BASE_TYPE_CHOICES", "Not a component of a modal")


def _check_input(field: Json, path: str) -> None:
    if not 1 <= len(field.get("custom_id") or "") <= 100:
        raise bad_length(f"{path}.custom_id", 1, 100)
    if field.get("type") != components.TEXT_INPUT:
        return
    if len(field.get("placeholder") or "") > 100:
        raise too_long(f"{path}.placeholder", 100)
    if len(field.get("value") or "") > MAX_TEXT:
        raise too_long(f"{path}.value", MAX_TEXT)
    if not 1 <= (field.get("max_length") or MAX_TEXT) <= MAX_TEXT:
        raise invalid(f"{path}.max_length", "NUMBER_TYPE_MAX", f"At most {MAX_TEXT}.")


def _numbered(part: Json, numbers: Any) -> Json:
    result = part | {"id": part.get("id") or next(numbers)}
    if inner := part.get("components"):
        result["components"] = [_numbered(field, numbers) for field in inner]
    if field := part.get("component"):
        result["component"] = _numbered(field, numbers)
    return result


def answer(modal: Json, values: Mapping[str, Any]) -> list[Json]:
    """The submitted components; a field that is not answered keeps what it was filled with."""
    fields = {c["custom_id"] for c in components.walk(modal["components"]) if c.get("custom_id")}
    if unknown := set(values) - fields:
        raise OptionError(f"the modal has no field {sorted(unknown)}; it has {sorted(fields)}")
    return [_answered(part, values) for part in modal["components"]]


def _answered(part: Json, values: Mapping[str, Any]) -> Json:
    result: Json = {"type": part["type"], "id": part["id"]}
    if inner := part.get("components"):
        result["components"] = [_answered(field, values) for field in inner]
    elif field := part.get("component"):
        result["component"] = _answered(field, values)
    elif "custom_id" in part:
        result["custom_id"] = part["custom_id"]
        key = "values" if part["type"] in _MANY_VALUES else "value"
        value = values.get(part["custom_id"], part.get("value") or ([] if key == "values" else ""))
        _check_answer(part, value)
        result[key] = value
    return result


def _check_answer(field: Json, value: Any) -> None:
    name = field["custom_id"]
    if field.get("required", True) and not value and value is not False:
        raise OptionError(f"the modal's field {name!r} must be filled")
    if field["type"] != components.TEXT_INPUT or not value:
        return
    low, high = field.get("min_length") or 0, field.get("max_length") or MAX_TEXT
    if not low <= len(value) <= high:
        raise OptionError(f"the modal's field {name!r} takes {low} to {high} characters")
