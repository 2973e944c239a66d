"""The simulated prompt cache."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.rehearsal.model.cache import PromptCache

WORDS = "many words " * 200
MARK = {"cache_control": {"type": "ephemeral"}}


def body(*texts: str, mark: dict[str, Any] = MARK) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in texts]
    blocks[-1] |= mark
    return {"model": "m", "messages": [{"role": "user", "content": [block]} for block in blocks]}


def test_what_one_request_marks_the_next_one_reads() -> None:
    cache = PromptCache()
    first = cache.use(body(WORDS), 0)
    second = cache.use(body(WORDS, WORDS), 10)
    assert (first.read, first.uncached) == (0, 0)
    assert second.read == first.written_5m > 0


def test_a_string_and_its_text_block_are_the_same_prefix() -> None:
    cache = PromptCache()
    cache.use(body(WORDS), 0)
    as_string = {"model": "m", "messages": [{"role": "user", "content": WORDS}]}
    more = body("more")["messages"]
    assert cache.use({**as_string, "messages": as_string["messages"] + more}, 1).read > 0


def test_a_prefix_expires_five_minutes_after_its_last_use() -> None:
    cache = PromptCache()
    for now in (0, 299, 598):
        usage = cache.use(body(WORDS), now)
    assert usage.read > 0
    assert cache.use(body(WORDS), 598 + 300).read == 0


def test_an_hour_is_kept_and_counted_apart() -> None:
    cache = PromptCache()
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    first = cache.use(body(WORDS, mark=hour), 0)
    assert (first.written_5m, first.written_1h > 0) == (0, True)
    assert cache.use(body(WORDS, mark=hour), 3599).read > 0


def test_a_changed_beginning_reads_nothing() -> None:
    cache = PromptCache()
    cache.use(body(WORDS), 0)
    assert cache.use(body("x" + WORDS, WORDS), 1).read == 0


@given(st.lists(st.lists(st.text(max_size=40), min_size=1, max_size=5), max_size=8))
def test_the_parts_of_the_usage_add_up_to_the_whole(requests: list[list[str]]) -> None:
    cache = PromptCache()
    for now, texts in enumerate(requests):
        asked = body(*texts)
        assert cache.use(asked, now).total == PromptCache().use(asked, 0).total
