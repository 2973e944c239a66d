"""Usage limits, read from errors."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bridge.render.limits import usage_limit

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 7, 15, 18, 0, tzinfo=BERLIN).timestamp()


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=BERLIN).timestamp())  # type: ignore[arg-type]


def test_an_epoch_is_taken_as_it_is() -> None:
    limit = usage_limit("Claude AI usage limit reached|1760000000", now=NOW)
    assert limit is not None
    assert limit.reset == 1_760_000_000
    assert limit.text == (
        "The usage limit is reached; it resets <t:1760000000:R> (<t:1760000000:f>)."
    )


@pytest.mark.parametrize(
    ("rest", "reset"),
    [
        ("resets 10pm (Europe/Berlin)", (2026, 7, 15, 22)),
        ("resets 10:30pm (Europe/Berlin)", (2026, 7, 15, 22, 30)),
        ("resets 4am (Europe/Berlin)", (2026, 7, 16, 4)),
        ("resets 12:50am (Europe/Berlin)", (2026, 7, 16, 0, 50)),
        ("resets 12pm (Europe/Berlin)", (2026, 7, 16, 12)),
        ("resets Jul 18, 4am (Europe/Berlin)", (2026, 7, 18, 4)),
        ("resets Jul 18 at 4am (Europe/Berlin)", (2026, 7, 18, 4)),
        ("resets Jan 2, 2027, 4am (Europe/Berlin)", (2027, 1, 2, 4)),
    ],
)
def test_a_clock_time_is_the_next_one_in_its_zone(rest: str, reset: tuple[int, ...]) -> None:
    limit = usage_limit(f"You've hit your weekly limit · {rest} · progress saved", now=NOW)
    assert limit is not None
    assert limit.what == "The weekly limit is reached"
    assert limit.reset == at(*reset)


@pytest.mark.parametrize(
    "error",
    [
        "You've hit your session limit",
        "You\u2019ve hit your Opus limit · resets 10pm (No/Where)",
        "You've hit your session limit · resets Feb 31, 4am (Europe/Berlin)",
        "You've hit your session limit · resets 99pm (Europe/Berlin)",
        "You're out of usage credits. See Usage in Settings",
    ],
)
def test_a_limit_without_a_readable_time_is_a_limit_all_the_same(error: str) -> None:
    limit = usage_limit(error, now=NOW)
    assert limit is not None
    assert limit.reset is None
    assert limit.text.endswith(" reached.") or limit.text.endswith(" used up.")


@pytest.mark.parametrize(
    "error",
    [
        "",
        "API Error: 529 overloaded",
        "The message 'You've hit your session limit' means that ...",
        "You've hit your thumb",
    ],
)
def test_another_error_is_no_limit(error: str) -> None:
    assert usage_limit(error, now=NOW) is None
