"""The estimate that all limits rest on: its anchors, and that JSON is not undercounted."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.estimate import tokens
from compaction.jev import fit_state
from compaction.jev.wire import compact_json
from tests.compaction.jev.conversations import work


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        ("hello world", 2),
        ("internationalization", 4),
        ("12345678", 4),
        ("123", 2),
        ("{}", 2),
        ("é", 1),
        ("😀", 2),
        (" \n\t", 0),
    ],
)
def test_the_anchors_of_the_estimate(text: str, cost: int) -> None:
    assert tokens(text) == cost


def test_structured_text_is_not_undercounted() -> None:
    text = compact_json(fit_state(work(20), []).state) + json.dumps({"a": [1, 2, {"b": "c"}]})
    assert tokens(text) >= len(text) / 5
    pairs = compact_json([{"id": n, "k": "v"} for n in range(50)])
    assert tokens(pairs) >= len(pairs) / 3


@given(st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=60))
def test_the_estimate_is_the_sum_of_its_parts_rounded_up_once(text: str) -> None:
    parts = re.findall(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]", text)
    tenths = sum(
        10 * (1 + (len(part) - 1) // 6)
        if part.isalpha()
        else 5 * len(part)
        if part.isdigit()
        else 9
        for part in parts
    )
    control = sum(character in "\x1c\x1d\x1e\x1f" for character in text)
    assert tokens(text) == math.ceil((tenths + 9 * control) / 10)
