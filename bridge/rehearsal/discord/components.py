"""Message components: their limits, and the form in which Discord gives them back."""

import itertools
from collections.abc import Iterator
from typing import Any

from bridge.rehearsal.discord.document import Json, Snowflakes, without_nulls
from bridge.rehearsal.discord.errors import ApiError, bad_length, invalid, required, too_long

ROW, BUTTON, STRING_SELECT, TEXT_INPUT = 1, 2, 3, 4
SELECTS = frozenset({STRING_SELECT, 5, 6, 7, 8})
SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER = 9, 10, 11, 12, 13, 14, 17
LABEL = 18
_LINK, _PREMIUM = 5, 6
_IN_ROW = SELECTS | {BUTTON}
_TOP_V2 = frozenset({ROW, SECTION, TEXT, GALLERY, FILE, SEPARATOR, CONTAINER})

MAX_V2_COMPONENTS = 40
MAX_V2_TEXT = 4000


def walk(components: list[Json]) -> Iterator[Json]:
    """Every component, outer ones first, in the order of the message."""
    for component in components:
        yield component
        yield from walk(children(component))


def children(component: Json) -> list[Json]:
    inner: list[Json] = list(component.get("components") or [])
    single = (component.get("accessory"), component.get("component"))
    return inner + [part for part in single if part]


def texts(components: list[Json]) -> list[str]:
    """What a reader of the message sees as text."""
    return [part["content"] for part in walk(components) if part["type"] == TEXT]


def check(components: list[Json], *, v2: bool) -> None:
    """Refuse what Discord would refuse, with the component's path."""
    _check_custom_ids(components)
    if v2:
        parts = list(walk(components))
        if len(parts) > MAX_V2_COMPONENTS:
            raise too_long("components", MAX_V2_COMPONENTS)
        if sum(map(len, texts(components))) > MAX_V2_TEXT:
            raise invalid(
                "components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
                f"Displayable text must be {MAX_V2_TEXT} or fewer in length.",
            )  # fmt: skip
    elif len(components) > 5:
        raise too_long("components", 5)
    allowed = _TOP_V2 if v2 else frozenset({ROW})
    for index, component in enumerate(components):
        path = f"components.{index}"
        if component.get("type") not in allowed:
            raise _wrong_type(path, allowed)
        _check_one(component, path)


def _check_custom_ids(components: list[Json]) -> None:
    seen: set[str] = set()
    for component in walk(components):
        custom_id = component.get("custom_id")
        if custom_id is None:
            continue
        if not 1 <= len(custom_id) <= 100:
            raise bad_length("components", 1, 100)
        if custom_id in seen:
            raise invalid(
                "components", "COMPONENT_CUSTOM_ID_DUPLICATED",
                "Component custom id cannot be duplicated",
            )  # fmt: skip
        seen.add(custom_id)


def _check_one(component: Json, path: str) -> None:
    kind = component["type"]
    if kind == ROW:
        _check_row(component, path)
    elif kind == BUTTON:
        _check_button(component, path)
    elif kind in SELECTS:
        _check_select(component, path)
    elif kind == TEXT and not component.get("content"):
        raise required(f"{path}.content")
    elif kind == SECTION:
        _check_section(component, path)
    elif kind == GALLERY and not 1 <= len(component.get("items") or ()) <= 10:
        raise bad_length(f"{path}.items", 1, 10)
    elif kind == CONTAINER:
        for index, inner in enumerate(component.get("components") or ()):
            if inner.get("type") not in _TOP_V2 - {CONTAINER}:
                raise _wrong_type(f"{path}.components.{index}", _TOP_V2 - {CONTAINER})
            _check_one(inner, f"{path}.components.{index}")


def _check_row(row: Json, path: str) -> None:
    inner: list[Json] = row.get("components") or []
    kinds = {component.get("type") for component in inner}
    if not kinds <= _IN_ROW:
        raise _wrong_type(f"{path}.components", _IN_ROW)
    width = 1 if kinds & SELECTS else 5
    if not 1 <= len(inner) <= width:
        raise bad_length(f"{path}.components", 1, width)
    for index, component in enumerate(inner):
        _check_one(component, f"{path}.components.{index}")


def _check_button(button: Json, path: str) -> None:
    if len(button.get("label") or "") > 80:
        raise too_long(f"{path}.label", 80)
    style = button.get("style")
    if style != _PREMIUM and not button.get("label") and not button.get("emoji"):
        raise required(f"{path}.label")
    if style == _LINK:
        if not button.get("url") or button.get("custom_id"):
            raise invalid(path, "BUTTON_COMPONENT_INVALID_URL", "A link has a url and no custom id")
        if len(button["url"]) > 512:
            raise too_long(f"{path}.url", 512)
    elif style != _PREMIUM and not button.get("custom_id"):
        raise required(f"{path}.custom_id")


def _check_select(select: Json, path: str) -> None:
    if not select.get("custom_id"):
        raise required(f"{path}.custom_id")
    if len(select.get("placeholder") or "") > 150:
        raise too_long(f"{path}.placeholder", 150)
    if select["type"] != STRING_SELECT:
        return
    options: list[Json] = select.get("options") or []
    if not 1 <= len(options) <= 25:
        raise bad_length(f"{path}.options", 1, 25)
    for index, option in enumerate(options):
        for key in ("label", "value"):
            if not 1 <= len(option.get(key) or "") <= 100:
                raise bad_length(f"{path}.options.{index}.{key}", 1, 100)
        if len(option.get("description") or "") > 100:
            raise too_long(f"{path}.options.{index}.description", 100)
    if len({option["value"] for option in options}) < len(options):
        raise invalid(
            f"{path}.options", "COMPONENT_OPTION_VALUE_DUPLICATED",
            "The specified option value is already used",
        )  # fmt: skip


def _check_section(section: Json, path: str) -> None:
    if not 1 <= len(section.get("components") or ()) <= 3:
        raise bad_length(f"{path}.components", 1, 3)
    for index, inner in enumerate(section["components"]):
        if inner.get("type") != TEXT:
            raise _wrong_type(f"{path}.components.{index}", frozenset({TEXT}))
    accessory = section.get("accessory")
    if not accessory:
        raise required(f"{path}.accessory")
    if accessory.get("type") not in (BUTTON, THUMBNAIL):
        raise _wrong_type(f"{path}.accessory", frozenset({BUTTON, THUMBNAIL}))
    _check_one(accessory, f"{path}.accessory")


def _wrong_type(path: str, allowed: frozenset[int]) -> ApiError:
    return invalid(
        f"{path}.type", "BASE_TYPE_CHOICES", f"Value of field 'type' must be one of {set(allowed)}."
    )


def shown(components: list[Json], snowflakes: Snowflakes, attachments: list[Json]) -> list[Json]:
    """The components with Discord's numbering and defaults; `attachments` resolve `attachment://`."""
    taken = {component.get("id") for component in walk(components)}
    free = (number for number in itertools.count(1) if number not in taken)

    def media(item: Json) -> Json:
        url: str = item["url"]
        found = next((a for a in attachments if url == f"attachment://{a['filename']}"), None)
        if found is None:
            return {"id": snowflakes.next(), "url": url, "proxy_url": url}
        kept = {key: found[key] for key in ("url", "proxy_url", "content_type") if key in found}
        return kept | {"id": snowflakes.next(), "attachment_id": found["id"]}

    def described(item: Json) -> Json:
        return {
            "media": media(item["media"]),
            "description": item.get("description"),
            "spoiler": bool(item.get("spoiler")),
        }

    def show(component: Json) -> Json:
        result: Json = without_nulls(component)
        result["id"] = component.get("id") or next(free)
        match component["type"]:
            case kind if kind in SELECTS:
                result = {"min_values": 1, "max_values": 1} | result
                if kind == STRING_SELECT:
                    result["options"] = [without_nulls(option) for option in result["options"]]
            case 9 | 17 | 1:
                result["components"] = [show(inner) for inner in component["components"]]
                if component["type"] == CONTAINER:
                    defaults: Json = {"accent_color": None, "spoiler": False}
                    result = defaults | result
                elif component["type"] == SECTION:
                    result["accessory"] = show(component["accessory"])
            case 11:
                result |= described(component)
            case 12:
                result["items"] = [described(item) for item in component["items"]]
            case 13:
                name = component["file"]["url"].removeprefix("attachment://")
                size: Any = next((a["size"] for a in attachments if a["filename"] == name), None)
                result |= {"file": media(component["file"]), "name": name, "size": size}
                result.setdefault("spoiler", False)
            case 14:
                result = {"spacing": 1, "divider": True} | result
            case _:
                pass
        return result

    return [show(component) for component in components]
