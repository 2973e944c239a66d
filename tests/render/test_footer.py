"""The small line at the end of a reply."""

import pytest

from bridge.render.footer import duration, footer, tokens


def test_all_figures_stand_in_one_line() -> None:
    line = footer(seconds=12.4, context_tokens=34_100, context_window=200_000, cost_usd=0.0234)
    assert line == "-# 12 s · 34k / 200k context (17 %) · $0.02"


def test_what_is_not_known_is_left_out() -> None:
    line = footer(seconds=3.21, context_tokens=None, context_window=None, cost_usd=None)
    assert line == "-# 3.2 s"
    assert "500 context" in footer(
        seconds=1, context_tokens=500, context_window=None, cost_usd=None
    )


def test_a_note_ends_the_line_and_is_harmless() -> None:
    line = footer(seconds=1, context_tokens=None, context_window=None, cost_usd=0, note="was *cut*")
    assert line == "-# 1.0 s · $0.00 · was \\*cut\\*"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min"), (61, "1 min 1 s"),
     (3599.7, "1 h"), (3700, "1 h 1 min"), (-1, "0.0 s")],
)  # fmt: skip
def test_a_time_is_told_in_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (1550, "1.6k"), (9_949, "9.9k"), (9_950, "10k"),
     (999_499, "999k"), (999_500, "1M"), (1_250_000, "1.2M")],
)  # fmt: skip
def test_tokens_are_told_in_four_characters(count: int, text: str) -> None:
    assert tokens(count) == text


def test_a_small_cost_is_not_nothing() -> None:
    assert footer(seconds=1, context_tokens=None, context_window=None, cost_usd=0.001).endswith(
        "<$0.01"
    )
