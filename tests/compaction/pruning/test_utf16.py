"""Texts are counted and cut in UTF-16 units, and no pair is split."""

from hypothesis import given
from hypothesis import strategies as st

from compaction import utf16

TEXTS = st.text(st.sampled_from("ab é漢カ한😀𠀀ａ"), max_size=12)


def test_scripts_that_cost_a_token_a_character_weigh_four() -> None:
    assert utf16.weight("abc") == 3
    assert utf16.weight("漢カ한ａ") == 16
    assert utf16.weight("𠀀") == 4
    assert utf16.weight("é😀") == 3


def test_a_pair_on_the_edge_is_left_out() -> None:
    assert utf16.head("a😀b", 2) == "a"
    assert utf16.head("a😀b", 3) == "a😀"
    assert utf16.tail("a😀b", 2) == "b"
    assert utf16.tail("a😀b", 3) == "😀b"


def test_half_a_pair_in_the_text_is_a_unit_of_its_own() -> None:
    assert utf16.head("a\ud83db", 2) == "a\ud83d"
    assert utf16.length("\ud83d") == utf16.weight("\ud83d") == 1


@given(TEXTS, st.integers(0, 30))
def test_cuts_are_ends_of_the_text_and_as_long_as_may_be(text: str, units: int) -> None:
    head, tail = utf16.head(text, units), utf16.tail(text, units)
    assert text.startswith(head)
    assert text.endswith(tail)
    wanted = min(units, utf16.length(text))
    assert {utf16.length(head), utf16.length(tail)} <= {wanted, wanted - 1}
    assert utf16.length(text) == sum(2 if ord(char) > 0xFFFF else 1 for char in text)
