"""Options: the library's defaults, and what becomes of values that are none."""

import math

import pytest

from compaction.jev import STRATEGIES, Beyond, Options, options_for


def test_the_defaults_are_those_of_the_library() -> None:
    options = Options()
    assert (options.goal, options.keep_threshold, options.preserve_recent_messages) == ("", 0.5, 6)
    assert (options.max_state_tokens, options.max_request_tokens) == (25_000, 30_000)
    assert (options.truncate_head_chars, options.max_concurrent_requests) == (300, 4)
    assert (options.retries, options.retry_delay_ms, options.on_batch_failure) == (2, 500, "throw")
    assert options.beyond == Beyond() == STRATEGIES["library"]


def test_values_that_are_no_numbers_become_the_defaults() -> None:
    for odd in (math.nan, math.inf, -math.inf):
        options = Options(keep_threshold=odd, retry_delay_ms=odd, max_state_tokens=odd)  # type: ignore[arg-type]
        assert options == Options()


@pytest.mark.parametrize(
    ("given", "recent", "limit"), [(2.7, 2, 2), (-1.2, 0, 1), (math.nan, 6, 30_000)]
)
def test_counts_are_whole_and_not_too_small(given: float, recent: int, limit: int) -> None:
    options = Options(
        preserve_recent_messages=given,  # type: ignore[arg-type]
        truncate_head_chars=given,  # type: ignore[arg-type]
        max_request_tokens=given,  # type: ignore[arg-type]
    )
    assert options.preserve_recent_messages == recent
    assert options.truncate_head_chars == (300 if recent == 6 else recent)
    assert options.max_request_tokens == limit


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_that_is_no_probability_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="keep_threshold"):
        Options(keep_threshold=threshold)
    with pytest.raises(ValueError, match="result_threshold"):
        Options(beyond=Beyond(result_threshold=threshold))


def test_an_unknown_batch_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="on_batch_failure"):
        Options(on_batch_failure="ignore")  # type: ignore[arg-type]


def test_two_thresholds_default_to_the_one() -> None:
    assert Options(keep_threshold=0.4).call_threshold == 0.4
    options = Options(beyond=Beyond(call_threshold=0.1, result_threshold=0.3))
    assert (options.call_threshold, options.result_threshold) == (0.1, 0.3)


def test_strategies_are_found_by_name_and_only_a_budget_takes_a_target() -> None:
    assert options_for("library", goal="x") == Options(goal="x")
    assert options_for("budget", target=0.7).beyond.target_reduction == 0.7
    with pytest.raises(ValueError, match="takes no target"):
        options_for("thresholds", target=0.7)
    with pytest.raises(ValueError, match="no strategy 'best'"):
        options_for("best")
