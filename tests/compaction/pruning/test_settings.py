"""What may be set, and what becomes of values that make no sense."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.pruning_settings import PruningSettings, ToolPatterns, duration, smart_ttl
from tests.compaction.pruning.contexts import settings


@pytest.mark.parametrize("value", [None, {}, {"mode": "off"}, {"mode": "CACHE-TTL"}, [], "on"])
def test_without_the_mode_pruning_is_off(value: object) -> None:
    assert PruningSettings.parse(value) is None


def test_the_defaults_are_openclaws() -> None:
    made = settings()
    assert made == PruningSettings()
    assert (made.ttl, made.keep_last_assistants, made.min_prunable_tool_chars) == (300, 3, 50_000)
    assert (made.soft_trim_ratio, made.hard_clear_ratio) == (0.3, 0.5)
    trim = made.soft_trim
    assert (trim.max_chars, trim.head_chars, trim.tail_chars) == (4000, 1500, 1500)
    assert made.hard_clear.enabled
    assert made.hard_clear.placeholder == "[Old tool result content cleared]"
    assert made.tools == ToolPatterns((), ())


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        *(("5m", 300), ("1h", 3600), ("90", 5400), (2, 120), ("1h30m", 5400), ("500ms", 0.5)),
        *(("0m", 0), (" 10S ", 10), ("1.5h", 5400), ("1d", 86_400)),
    ],
)
def test_a_time_is_a_duration_and_a_bare_number_is_minutes(ttl: Any, seconds: float) -> None:
    assert settings(ttl=ttl).ttl == pytest.approx(seconds)


@pytest.mark.parametrize("ttl", ["invalid", "", "-5m", "5 m x", "1w", None, True, -3, [], "h"])
def test_a_time_that_is_none_is_the_default(ttl: Any) -> None:
    assert settings(ttl=ttl).ttl == 300


def test_a_duration_that_is_none_raises() -> None:
    with pytest.raises(ValueError, match="no duration"):
        duration("soon")


def test_numbers_are_floored_and_never_negative() -> None:
    made = settings(
        keep_last_assistants=2.9,
        min_prunable_tool_chars=-5,
        soft_trim={"max_chars": 10.5, "head_chars": -1, "tail_chars": float("nan")},
    )
    assert (made.keep_last_assistants, made.min_prunable_tool_chars) == (2, 0)
    trim = made.soft_trim
    assert (trim.max_chars, trim.head_chars, trim.tail_chars) == (10, 0, 1500)


def test_ratios_are_shares() -> None:
    made = settings(soft_trim_ratio=-1, hard_clear_ratio=7)
    assert (made.soft_trim_ratio, made.hard_clear_ratio) == (0, 1)
    assert settings(soft_trim_ratio=float("inf")).soft_trim_ratio == 0.3


def test_a_placeholder_is_trimmed_and_a_blank_one_ignored() -> None:
    assert settings(hard_clear={"placeholder": "  gone "}).hard_clear.placeholder == "gone"
    blank = settings(hard_clear={"enabled": False, "placeholder": " \n"}).hard_clear
    assert (blank.enabled, blank.placeholder) == (False, "[Old tool result content cleared]")


def test_a_value_that_makes_no_sense_spoils_no_other() -> None:
    made = settings(
        tools={"allow": ["a", 1, None, "b", {}, "c"], "deny": "exec"}, soft_trim=3, unknown=1
    )
    assert made.tools == ToolPatterns(("a", "b", "c"), ())
    assert made.soft_trim.max_chars == 4000


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["ttl", "tools", "allow", "soft_trim", "max_chars", "x"]), inner
            )
        ),
        max_leaves=8,
    )
)
def test_nothing_makes_the_parsing_fail(value: Any) -> None:
    base: dict[Any, Any] = {**value} if isinstance(value, dict) else {"tools": value, "ttl": value}
    assert PruningSettings.parse({**base, 7: 1, "mode": "cache-ttl"}) is not None


def test_the_time_follows_the_cache_of_the_session() -> None:
    assert smart_ttl(one_hour=False) == 300
    assert smart_ttl(one_hour=True) == 3600


@pytest.mark.parametrize(
    ("allow", "deny", "tool", "admitted"),
    [
        ((), (), "anything", True),
        (("ex*",), ("exec",), "exec", False),
        (("ex*",), ("exec",), "browser", False),
        (("ex*",), ("exec",), "Explore", True),
        ((" READ* ",), ("read_secret",), "read_file", True),
        (("READ*",), ("read_secret",), "READ_SECRET", False),
        ((), ("*",), "read", False),
        (("*",), (), "", True),
        (("a*c*e",), (), "abcde", True),
        (("a*c",), (), "abcd", False),
        (("a.c",), (), "abc", False),
        (("a?c",), (), "abc", False),
        ((" ", ""), (), "read", True),
        ((), (" ",), "read", True),
    ],
)
def test_tools_are_matched_by_patterns_and_denial_wins(
    allow: tuple[str, ...], deny: tuple[str, ...], tool: str, admitted: bool
) -> None:
    assert ToolPatterns(allow, deny).admit(tool) is admitted
