"""The limits on what a message may hold, without a server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.rehearsal.discord import ApiError, drafts, mentions
from bridge.rehearsal.discord.components import walk
from bridge.rehearsal.discord.drafts import COMPONENTS_V2, check_components
from bridge.rehearsal.discord.files import safe_name
from bridge.rehearsal.discord.mentions import AllowedMentions


def refused(body: dict[str, Any]) -> int | None:
    """The code that Discord refuses a body with."""
    try:
        drafts.parse(body, {})
    except ApiError as error:
        return error.code
    return None


@given(st.text(max_size=2100))
def test_content_is_trimmed_and_then_counted(text: str) -> None:
    trimmed = text.strip()
    if len(trimmed) > 2000:
        assert refused({"content": text}) == 50035
    else:
        assert drafts.parse({"content": text}, {}).content == trimmed


@given(st.lists(st.integers(0, 3000), max_size=10))
def test_all_embeds_together_hold_6000_characters(sizes: list[int]) -> None:
    body = {"embeds": [{"description": "x" * size} for size in sizes]}
    assert (refused(body) == 50035) == (sum(sizes) > 6000)


@pytest.mark.parametrize(
    "embed",
    [
        {"title": "x" * 257},
        {"description": "x" * 4097},
        {"footer": {"text": "x" * 2049}},
        {"author": {"name": "x" * 257}},
        {"fields": [{"name": "n", "value": "v"}] * 26},
        {"fields": [{"name": "x" * 257, "value": "v"}]},
        {"fields": [{"name": "n", "value": "x" * 1025}]},
        {"fields": [{"name": "n", "value": ""}]},
    ],
)
def test_each_part_of_an_embed_has_its_limit(embed: dict[str, Any]) -> None:
    assert refused({"embeds": [embed]}) == 50035


def test_ten_embeds_are_the_most() -> None:
    assert refused({"embeds": [{"title": "t"}] * 10}) is None
    assert refused({"embeds": [{"title": "t"}] * 11}) == 50035


def test_a_nonce_has_25_characters_at_most() -> None:
    assert refused({"content": "x", "nonce": "n" * 25}) is None
    assert refused({"content": "x", "nonce": "n" * 26}) == 50035


def test_absent_and_null_fields_differ() -> None:
    assert drafts.parse({}, {}).content is None
    assert drafts.parse({"content": None}, {}).content == ""
    assert drafts.parse({}, {}).embeds is None
    assert drafts.parse({"embeds": None}, {}).embeds == []


Parts = list[dict[str, Any]]


def row(*inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(inner)}


def button(custom_id: str = "b", **more: Any) -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": "Go", "custom_id": custom_id, **more}


def select(count: int = 1, **more: Any) -> dict[str, Any]:
    options = [{"label": str(n), "value": str(n)} for n in range(count)]
    return {"type": 3, "custom_id": "s", "options": options, **more}


def text(content: str = "x") -> dict[str, Any]:
    return {"type": 10, "content": content}


@pytest.mark.parametrize(
    ("parts", "flags"),
    [
        ([row(button())], 0),
        ([row(*(button(str(n)) for n in range(5)))], 0),
        ([row(select(25))], 0),
        ([row({"type": 2, "style": 5, "label": "Site", "url": "https://a.example"})], 0),
        ([text(), row(button())], COMPONENTS_V2),
        ([{"type": 17, "components": [text("x" * 4000)]}], COMPONENTS_V2),
        ([{"type": 9, "components": [text()], "accessory": button()}], COMPONENTS_V2),
    ],
)
def test_good_components_pass(parts: Parts, flags: int) -> None:
    check_components(parts, flags)


BAD: list[tuple[Parts, int]] = [
    ([row()], 0),
    ([row(button(str(n))) for n in range(6)], 0),
    ([row(*(button(str(n)) for n in range(6)))], 0),
    ([row(select(), button())], 0),
    ([row(select(0))], 0),
    ([row(select(26))], 0),
    ([row(select(1, placeholder="x" * 151))], 0),
    ([row(button("same"), button("same"))], 0),
    ([row(button("x" * 101))], 0),
    ([row(button(label="x" * 81))], 0),
    ([row(button(label=None))], 0),
    ([row({"type": 2, "style": 5, "label": "no url"})], 0),
    ([text()], 0),
    ([button()], 0),
    ([text()] * 41, COMPONENTS_V2),
    ([text("x" * 2001), text("x" * 2000)], COMPONENTS_V2),
    ([{"type": 9, "components": [], "accessory": button()}], COMPONENTS_V2),
    ([{"type": 9, "components": [text()]}], COMPONENTS_V2),
    ([{"type": 17, "components": [{"type": 17, "components": [text()]}]}], COMPONENTS_V2),
    ([{"type": 12, "items": []}], COMPONENTS_V2),
]


@pytest.mark.parametrize(("parts", "flags"), BAD)
def test_bad_components_are_refused(parts: Parts, flags: int) -> None:
    with pytest.raises(ApiError) as error:
        check_components(parts, flags)
    assert error.value.code == 50035


def test_walking_reaches_every_component() -> None:
    section = {"type": 9, "components": [text("in section")], "accessory": button("a")}
    parts = [{"type": 17, "components": [section, row(button("b"))]}]
    assert [part["type"] for part in walk(parts)] == [17, 9, 10, 2, 1, 2]


ids = st.integers(1, 50).map(str)


@given(st.lists(ids), st.sets(ids), st.booleans())
def test_only_allowed_users_are_mentioned(named: list[str], chosen: set[str], all_: bool) -> None:
    body = "hello " + " ".join(f"<@{id}>" for id in named)
    allowed = AllowedMentions(False, None if all_ else frozenset(chosen), frozenset(), False)
    found = mentions.resolve(body, allowed, everyone=True)
    assert set(found.users) == (set(named) if all_ else set(named) & chosen)
    assert len(set(found.users)) == len(found.users)
    assert found.roles == () and not found.everyone


def test_a_list_and_its_word_exclude_each_other() -> None:
    wish = {"parse": ["users"], "users": ["1"]}
    assert refused({"content": "x", "allowed_mentions": wish}) == 50035


@given(st.text(max_size=30))
def test_file_names_are_safe_in_a_url(name: str) -> None:
    safe = safe_name(name)
    assert safe.isascii() and "/" not in safe and " " not in safe
    assert not safe.startswith(".") and safe
    assert safe_name(safe) == safe
