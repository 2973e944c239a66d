"""When a session is compacted before it is resumed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.policy import LONG_TTL, TTL, WINDOW, Policy, cache_expires, judge
from compaction.transcript import Transcript, Usage
from tests.compaction.session.work import save
from tests.compaction.transcript.sessions import Session, text

AT = 1_000_000.0


def transcript(folder: Path, tokens: int, **usage: Any) -> Transcript:
    """A session whose last answer was given at the first second of its day."""
    session = Session()
    session.user("Hello.")
    session.assistant([text("Hello to you.")])
    path = save(session, folder, tokens)
    if usage:
        *before, last = path.read_bytes().splitlines()
        record = json.loads(last)
        record["message"]["usage"] |= usage
        path.write_bytes(b"\n".join([*before, json.dumps(record).encode()]) + b"\n")
    return Transcript.read(path)


def expiry(found: Transcript) -> float:
    assert found.usage is not None and found.usage.at is not None
    return found.usage.at + TTL


@pytest.mark.parametrize(
    ("tokens", "window", "due"),
    [(59_999, 200_000, False), (60_000, 200_000, True), (299_999, 1_000_000, False),
     (300_000, 1_000_000, True), (60_000, None, True), (59_999, None, False)],
)  # fmt: skip
def test_the_ratio_of_the_window_decides(
    tmp_path: Path, tokens: int, window: int | None, due: bool
) -> None:
    found = transcript(tmp_path, tokens)
    verdict = judge(found, Policy(), now=expiry(found), window=window)
    assert verdict.due is due
    assert verdict.tokens == tokens
    assert verdict.window == (window or WINDOW)
    assert verdict.goal == verdict.window * 0.2


def test_a_warm_cache_is_never_thrown_away(tmp_path: Path) -> None:
    found = transcript(tmp_path, 190_000)
    before = judge(found, Policy(), now=expiry(found) - 1)
    assert (before.due, before.reason) == (False, "the prompt cache is warm for another 1 s")
    after = judge(found, Policy(), now=expiry(found))
    assert (after.due, after.reason) == (
        True,
        "the context is 95% full and its prompt cache has expired",
    )


def test_an_hour_of_cache_is_an_hour(tmp_path: Path) -> None:
    found = transcript(tmp_path, 190_000, cache_creation={"ephemeral_1h_input_tokens": 7})
    start = expiry(found) - TTL
    assert not judge(found, Policy(), now=start + LONG_TTL - 1).due
    assert judge(found, Policy(), now=start + LONG_TTL).due


def test_where_nothing_is_known_of_the_cache_it_has_expired() -> None:
    assert cache_expires(None) == 0
    assert cache_expires(Usage(tokens=5, at=None, one_hour=True)) == 0
    assert cache_expires(Usage(tokens=5, at=AT, one_hour=False)) == AT + 300
    assert cache_expires(Usage(tokens=5, at=AT, one_hour=True)) == AT + 3600


def test_a_small_session_is_told_where_compaction_begins(tmp_path: Path) -> None:
    found = transcript(tmp_path, 20_000)
    verdict = judge(found, Policy(), now=0)
    assert verdict.reason == "the context is 10% full, compaction begins at 30%"


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.integers(1000, 2_000_000))
def test_goals_are_shares_of_the_window(soft: float, target: float, window: int) -> None:
    assert 0 <= Policy(soft, target).goal(window) <= window
