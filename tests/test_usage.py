"""What was spent adds up by day, and a budget warns once, then stops."""

from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from bridge import usage
from bridge.protocol import Result
from state import Channel, Day, Usage
from tests.state.samples import plain

NOW = datetime(2026, 12, 1, 12).timestamp()
DAY = 86400.0


def spent(cost: float, date: str = "2026-12-01") -> Day:
    return Day(date=date, turns=1, cost_usd=cost, input_tokens=10, output_tokens=2)


def test_a_turn_is_counted_with_the_tokens_of_its_cache() -> None:
    result = Result.model_validate(
        {
            "usage": {
                "input_tokens": 1,
                "cache_read_input_tokens": 20,
                "cache_creation_input_tokens": 300,
                "output_tokens": 4,
            }
        }
    )
    day = usage.spent_in(result, 0.5, NOW)
    expected = Day(date="2026-12-01", turns=1, cost_usd=0.5, input_tokens=321, output_tokens=4)
    assert day == expected
    assert usage.spent_in(None, None, NOW) == Day(date="2026-12-01", turns=1)


@given(st.lists(st.tuples(st.integers(1, 28), st.integers(0, 100)), max_size=60))
def test_turns_of_a_day_become_one_entry_and_old_days_go(turns: list[tuple[int, int]]) -> None:
    days: tuple[Day, ...] = ()
    for day, cost in turns:
        days = usage.added(days, spent(cost, f"2026-11-{day:02}"), 40)
    dates = [day.date for day in days]
    assert dates == sorted(set(dates))
    assert sum(day.turns for day in days) == len(turns)
    assert sum(day.cost_usd for day in days) == sum(cost for _, cost in turns)
    assert usage.added(days, spent(1), 1) == (spent(1),)


def test_no_limit_is_no_budget() -> None:
    assert usage.budget(0.0, [Channel(days=(spent(5),))], NOW) is None


def test_a_budget_counts_all_channels_and_today_only() -> None:
    channels = [Channel(days=(spent(9, "2026-11-30"), spent(1))), Channel(days=(spent(2),))]
    found = usage.budget(10.0, channels, NOW)
    assert found is not None
    assert found.spent == 3
    assert not found.over
    assert NOW < found.ends <= NOW + DAY


def test_a_budget_warns_once_and_says_when_it_is_used_up() -> None:
    def at(now: float) -> usage.Budget:
        return usage.Budget(10.0, now, 0)

    assert at(7.9).warning(7) == ""
    assert "80%" in at(8.0).warning(7.9)
    assert at(9.0).warning(8.0) == ""
    assert "used up" in at(10.5).warning(9.0)
    assert at(11.0).warning(10.5) == ""
    assert at(10.0).over
    what, todo = at(10.0).refusal
    assert "$10.00" in what
    assert "BRIDGE_DAILY_BUDGET" in todo


def test_usage_tells_today_the_days_before_this_thread_and_the_dearest() -> None:
    here = plain().model_copy(
        update={"usage": Usage(turns=3, cost_usd=1.5), "days": (spent(0.25),)}
    )
    channel = Channel(days=(spent(9, "2026-11-30"), spent(0.25)))
    text = usage.usage_text(here, {7: here, 8: plain()}, [channel], limit=1.0, now=NOW)
    assert "**Today** 1 turns · $0.25" in text
    assert "25% of $1.00" in text
    assert "**This thread** 3 turns · $1.50" in text
    assert "`2026-11-30` 1 turns · $9.00" in text
    assert "<#7> 3 turns" in text
    assert "<#8>" not in text
    assert "none" in usage.usage_text(None, {}, [], limit=0.0, now=NOW)
