"""Reading one record whose text is partly wrong: keep all that is right, name what was dropped."""

import json
from collections.abc import Set
from typing import cast

from pydantic import ValidationError

from state.records import Record

Path = tuple[int | str, ...]


def mend(value: object) -> tuple[Record | None, tuple[str, ...]]:
    """The record in `value` (parsed JSON) without its invalid parts, and a line for each of those.

    The record is None if what it cannot do without is missing or wrong.
    """
    faults: tuple[str, ...] = ()
    while True:
        try:
            return Record.model_validate_json(_text(value)), faults
        except RecursionError:
            return None, ("record: nested too deeply",)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False, include_context=False)
        # The first round names every fault; later ones only follow from what was dropped.
        faults = faults or tuple(
            f"{'.'.join(map(str, detail['loc'])) or 'record'}: {detail['msg']}"
            for detail in details
        )
        drop = {_deepest(value, detail["loc"]) for detail in details}
        if () in drop:
            return None, faults
        value = _without(value, drop)


def _text(value: object) -> bytes:
    """JSON for the validator, which refuses the lone surrogates that Python's parser lets in."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _deepest(value: object, path: Path) -> Path:
    """The longest part of `path` that exists: of a missing key, that is the object it misses in."""
    for depth, key in enumerate(path):
        children = _children(value)
        if key not in children:
            return path[:depth]
        value = children[key]
    return path


def _children(value: object) -> dict[int | str, object]:
    match value:
        case dict():
            return cast("dict[int | str, object]", value)
        case list():
            return {**dict(enumerate(cast("list[object]", value)))}
        case _:
            return {}


def _without(value: object, drop: Set[Path], at: Path = ()) -> object:
    match value:
        case dict():
            items = cast("dict[str, object]", value).items()
            return {k: _without(v, drop, (*at, k)) for k, v in items if (*at, k) not in drop}
        case list():
            cells = enumerate(cast("list[object]", value))
            return [_without(v, drop, (*at, i)) for i, v in cells if (*at, i) not in drop]
        case _:
            return value
