"""Lines: which stay, and what stands for those that do not."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from compaction.lines import GAP_TOKENS, choose, elide, has_gaps, without_number


def gain(keep: list[bool], worths: list[float], costs: list[float], price: float) -> float:
    """What a choice brings: worth less price, gaps paid."""
    gaps = sum(not now and before for before, now in zip([True, *keep], keep, strict=False))
    kept = zip(keep, worths, costs, strict=True)
    return sum(worth - price * cost for stays, worth, cost in kept if stays) - (
        price * GAP_TOKENS * gaps
    )


@given(
    st.lists(st.tuples(st.floats(0, 2), st.floats(0, 30)), max_size=8),
    st.floats(0.001, 0.2),
)
def test_no_other_choice_of_lines_brings_more(
    lines: list[tuple[float, float]], price: float
) -> None:
    worths, costs = [line[0] for line in lines], [line[1] for line in lines]
    every = product([True, False], repeat=len(lines))
    best = max(gain(list(keep), worths, costs, price) for keep in every)
    assert abs(gain(choose(worths, costs, price), worths, costs, price) - best) < 1e-9


@given(st.lists(st.tuples(st.text("ab 1", max_size=6), st.booleans()), min_size=1, max_size=30))
def test_what_stays_is_verbatim_and_in_order(lines: list[tuple[str, bool]]) -> None:
    text = elide([line for line, _ in lines], [keep for _, keep in lines])
    kept = [line for line in text.split("\n") if not line.startswith("[… ")]
    assert kept == [line for line, keep in lines if keep]


def test_a_gap_says_how_many_lines_it_held() -> None:
    lines = ["one", "two", "three", "four", "five", "six"]
    text = elide(lines, [True, False, False, True, False, True])
    assert text == "one\n[… 2 lines omitted …]\nfour\n[… 1]\nsix"
    assert elide(["one"], [False]) == "[… 1 line omitted …]"
    assert has_gaps(text)
    assert has_gaps("[… 3]")
    assert not has_gaps("as in [… 3] of the standard")


def test_numbers_stand_at_the_start_and_after_gaps_only() -> None:
    lines = ["     1→a", "     2→\tb", "     3→c", "     4→d", "     5→e"]
    keep = [True, True, False, True, True]
    text = elide(lines, keep, renumber=True)
    assert text == "     1→a\n\tb\n[… 1 line omitted …]\n     4→d\ne"


def test_a_line_is_the_same_with_and_without_its_number() -> None:
    assert without_number("   12→\treturn 1") == without_number("12\treturn 1") == "return 1"
    assert without_number("12 monkeys") == "12 monkeys"
