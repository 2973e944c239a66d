"""Lengths, widths and cuts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.render.measure import clip, clip_start, fitting, units, visible, whole, width
from tests.render.markdown import untimed

mixed = st.text("ab 漢👍\u200d\u0301👩🏽", max_size=80)


@untimed
@given(mixed, st.integers(0, 100))
def test_fitting_is_the_largest_start_that_fits(text: str, room: int) -> None:
    index = fitting(text, room)
    assert units(text[:index]) <= room
    assert index == len(text) or units(text[: index + 1]) > room


@untimed
@given(mixed, st.integers(2, 60))
def test_a_clipped_text_fits_and_keeps_its_start_or_end(text: str, columns: int) -> None:
    for clipped in (clip(text, columns), clip_start(text, columns)):
        assert width(clipped) <= columns
    assert text.startswith(clip(text, columns).removesuffix("…"))
    assert text.endswith(clip_start(text, columns).removeprefix("…"))


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧", "e\u0301\u0302", "👍🏽", "❤\ufe0f"])
def test_no_composed_character_is_cut(cluster: str) -> None:
    text = f"ab{cluster}cd"
    for index in range(3, 2 + len(cluster)):
        assert whole(text, index) == 2
    assert whole(text, 2 + len(cluster)) == 2 + len(cluster)


def test_a_text_of_marks_only_is_cut_all_the_same() -> None:
    assert whole("\u0301" * 100, 50) == 50


def test_columns_are_those_of_a_terminal() -> None:
    assert width("ab") == 2
    assert width("漢字") == 4
    assert width("e\u0301") == 1


def test_only_signs_that_show_are_visible() -> None:
    assert not visible(" \n\u200b\ufeff\u2060")
    assert visible(" . ")
