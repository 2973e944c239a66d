"""OpenClaw's pruning, rule by rule."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.pruning import IMAGE_CHARS, chars, prune_context, without_thinking
from tests.compaction.pruning.contexts import (
    CLEARED,
    IMAGE,
    NOW,
    Json,
    assistant,
    history,
    note,
    prune,
    result,
    said,
    settings,
    text,
    user,
)

LONG = "x" * 5000
TRIMMED = "x" * 1500 + "\n...\n" + "x" * 1500 + note(1500, 1500, 5000)
ONLY_CLEARING: dict[str, Any] = {"soft_trim": {"max_chars": 10**9}, "min_prunable_tool_chars": 0}


# --- the clock ------------------------------------------------------------------------------------
def test_off_repeats_the_context_as_it_is() -> None:
    messages = history(result("a", LONG))
    assert prune_context(messages, None, window=1000, last_touch=1, now=NOW) is messages


@pytest.mark.parametrize("touch", [None, 0, NOW - 299.9, NOW, NOW + 5])
def test_a_cache_that_is_warm_or_unknown_is_left_alone(touch: float | None) -> None:
    messages = history(result("a", LONG))
    pruned = prune_context(messages, settings(), window=1000, last_touch=touch, now=NOW)
    assert pruned is messages


def test_a_cache_is_expired_at_the_very_second() -> None:
    messages = history(result("a", LONG))
    assert said(prune(messages), "a") == TRIMMED
    assert prune(messages, ttl="0m") is messages
    assert prune(messages, ttl="1h") is messages


def test_once_pruned_and_touched_the_second_request_is_left_alone() -> None:
    first = list(prune(history(result("a", LONG))))
    again = prune_context(first, settings(), window=1000, last_touch=NOW, now=NOW + 1)
    assert again is first
    assert prune(first) is first


# --- what is protected ----------------------------------------------------------------------------
def test_the_last_three_answers_and_what_follows_are_protected() -> None:
    big = "y" * 20_000
    messages = [
        *(user(), assistant(), result("t1", big), assistant(), result("t2", big)),
        *(assistant(), result("t3", big), assistant(), result("t4", big)),
    ]
    pruned = prune(messages, hard_clear_ratio=0.0, **ONLY_CLEARING)
    texts = [said(pruned, f"t{at}") for at in (1, 2, 3, 4)]
    assert texts == [CLEARED, big, big, big]


def test_nothing_before_the_first_prompt_is_pruned() -> None:
    messages = [assistant(), result("soul", LONG), *history(result("old", LONG))]
    pruned = prune(messages)
    assert said(pruned, "soul") == LONG
    assert said(pruned, "old") == TRIMMED


def test_without_a_prompt_nothing_is_pruned() -> None:
    messages = [result("a", LONG), *[assistant()] * 4]
    assert prune(messages) is messages


def test_with_too_few_answers_nothing_is_pruned() -> None:
    messages = [user(), assistant(), result("a", LONG), assistant()]
    assert prune(messages) is messages
    assert said(prune(messages, keep_last_assistants=2), "a") == LONG
    assert said(prune(messages, keep_last_assistants=1), "a") == TRIMMED


def test_protecting_no_answer_reaches_to_the_end() -> None:
    messages = [user(), result("a", LONG)]
    assert said(prune(messages, keep_last_assistants=0), "a") == TRIMMED


def test_only_admitted_tools_are_pruned() -> None:
    tools = {"allow": ["ex*"], "deny": ["exec"]}
    messages = history(result("a", LONG, tool="Exec"), result("b", LONG, tool="browser"))
    assert prune(messages, tools=tools) is messages
    more = history(*messages[2:4], result("c", LONG, tool="EXPLORE"))
    assert said(prune(more, tools=tools), "c") == TRIMMED


# --- the window -----------------------------------------------------------------------------------
@pytest.mark.parametrize("window", [None, 0, -5, float("nan")])
def test_without_a_window_nothing_is_pruned(window: float | None) -> None:
    messages = history(result("a", LONG))
    assert prune(messages, window=window) is messages


def test_below_the_soft_ratio_the_same_list_comes_back() -> None:
    messages = history(result("a", LONG))
    total = sum(map(chars, messages))
    at_the_ratio = total / 4 / 0.3
    assert prune(messages, window=at_the_ratio * 1.001) is messages
    assert prune(messages, window=at_the_ratio * 0.999) is not messages


def test_wide_characters_count_four() -> None:
    plain, wide = ("𠀀" * 1000, "a" * 1000)
    window = 2 * 4000 / 4
    given: dict[str, Any] = {"soft_trim_ratio": 0.4, "hard_clear_ratio": 0.4, **ONLY_CLEARING}
    assert said(prune(history(result("a", plain)), window=window, **given), "a") == CLEARED
    assert said(prune(history(result("a", wide)), window=window, **given), "a") == wide


# --- soft trim ------------------------------------------------------------------------------------
def test_all_that_is_long_is_trimmed_with_no_early_stop() -> None:
    messages = history(*(result(f"t{at}", LONG) for at in range(4)), result("short", "z" * 4000))
    pruned = prune(messages, window=10_000)
    assert [said(pruned, f"t{at}") for at in range(4)] == [TRIMMED] * 4
    assert said(pruned, "short") == "z" * 4000


def test_a_trimmed_result_has_the_known_size() -> None:
    pruned = prune(history(result("a", "a" * 6377), result("b", "b" * 51_150)))
    assert [len(said(pruned, name)) for name in "ab"] == [3086, 3087]


def test_head_and_tail_reach_across_blocks() -> None:
    messages = history(result("a", "AAAAA", "BBBBB"))
    pruned = prune(
        messages, soft_trim_ratio=0, soft_trim={"max_chars": 5, "head_chars": 7, "tail_chars": 3}
    )
    assert said(pruned, "a") == "AAAAA\nB\n...\nBBB" + note(7, 3, 11)


def test_a_head_and_a_tail_that_cover_all_change_nothing() -> None:
    messages = history(result("a", LONG))
    assert prune(messages, soft_trim={"head_chars": 2500, "tail_chars": 2500}) is messages


def test_no_pair_of_surrogates_is_split() -> None:
    messages = history(result("a", "a😀" + "b" * 20 + "😀c"))
    trim = {"max_chars": 5, "head_chars": 2, "tail_chars": 2}
    assert said(prune(messages, soft_trim_ratio=0, soft_trim=trim), "a") == (
        "a\n...\nc" + note(2, 2, 26)
    )
    trim = {"max_chars": 5, "head_chars": 3, "tail_chars": 3}
    assert said(prune(messages, soft_trim_ratio=0, soft_trim=trim), "a") == (
        "a😀\n...\n😀c" + note(3, 3, 26)
    )


def test_images_go_even_where_the_text_is_short() -> None:
    messages = history(result("a", IMAGE, "seen"), result("only", IMAGE))
    pruned = prune(messages)
    assert said(pruned, "a") == "[image removed during context pruning]\nseen"
    assert said(pruned, "only") == "[image removed during context pruning]"


def test_videos_leave_a_marker_of_their_own() -> None:
    pruned = prune(history(result("a", {"type": "video", "data": "x"}, "end")))
    assert said(pruned, "a") == "[video removed during context pruning]\nend"


def test_images_stand_in_a_trimmed_text() -> None:
    pruned = prune(history(result("a", IMAGE, "y" * 6000)))
    assert said(pruned, "a").startswith("[image removed during context pruning]\nyyy")
    assert said(pruned, "a").endswith(note(1500, 1500, 6039))


def test_a_text_that_is_an_object_is_counted_and_trimmed() -> None:
    odd = {"type": "text", "text": {"payload": "m" * 5000}}
    pruned = prune(history(result("a", odd)))
    assert said(pruned, "a").startswith('{"type":"text","text":{"payload":"mmm')
    assert "[Tool result trimmed:" in said(pruned, "a")


def test_blocks_that_are_none_are_kept() -> None:
    odd = [None, 7, "words", {"no": "type"}, {"type": "text"}, text("fine")]
    messages = history({**result("a"), "content": odd}, result("b", LONG))
    messages.append({"role": "toolResult", "content": None})
    pruned = prune(messages)
    assert pruned[2] is messages[2]
    assert pruned[-1] is messages[-1]
    assert said(pruned, "b") == TRIMMED


# --- hard clear -----------------------------------------------------------------------------------
def many() -> list[Json]:
    return history(*(result(f"t{at}", f"{at}:" + "x" * 6000, details={"n": 1}) for at in range(18)))


def test_many_results_are_cleared_oldest_first_until_the_ratio_holds() -> None:
    messages = many()
    pruned = prune(messages, window=25_000, hard_clear={"placeholder": "[gone]"})
    texts = [said(pruned, f"t{at}") for at in range(18)]
    cleared = texts.count("[gone]")
    assert texts[:cleared] == ["[gone]"] * cleared
    assert 0 < cleared < 18
    total = sum(map(chars, pruned))
    assert total / 100_000 < 0.5
    last = len(said(pruned, f"t{cleared}")) - len("[gone]")
    assert (total + last) / 100_000 >= 0.5


def test_all_but_the_content_of_a_cleared_result_stays() -> None:
    messages = many()
    first = next(m for m in prune(messages) if m.get("toolCallId") == "t0")
    assert {**first, "content": 0} == {**messages[2], "content": 0}


def test_clearing_may_be_off() -> None:
    pruned = prune(many(), hard_clear={"enabled": False})
    assert all("[Tool result trimmed" in said(pruned, f"t{at}") for at in range(18))


def test_with_little_left_to_clear_nothing_is_cleared() -> None:
    left = 18 * 3086
    assert CLEARED not in said(prune(many(), min_prunable_tool_chars=left + 99), "t0")
    assert said(prune(many(), min_prunable_tool_chars=left - 99), "t0") == CLEARED


def test_a_result_of_images_is_cleared_like_any_other() -> None:
    pruned = prune(history(result("a", IMAGE)), hard_clear_ratio=0, min_prunable_tool_chars=0)
    assert said(pruned, "a") == CLEARED


# --- the estimate ---------------------------------------------------------------------------------
def test_a_message_weighs_what_the_model_is_sent() -> None:
    assert chars(user([text("four"), IMAGE, None])) == 4 + IMAGE_CHARS
    assert chars(assistant(text("ab"), {"type": "toolCall", "arguments": {"a": 1}})) == 2 + 7
    assert chars(assistant({"type": "toolCall", "arguments": {"a": {1}}})) == 128
    assert chars(assistant({"type": "toolCall"})) == 2
    assert chars({"role": "custom", "content": "x" * 999}) == 256
    assert chars(user([{"type": "text"}])) == len('{"type":"text"}')


def test_signatures_and_redacted_data_are_counted() -> None:
    thought = {"type": "thinking", "thinking": "abc", "thinkingSignature": "s" * 40}
    redacted = {"type": "redacted_thinking", "data": "d" * 50, "thinkingSignature": "s"}
    assert chars(assistant(thought, redacted)) == 43 + 51


def test_thinking_that_the_provider_drops_is_not_counted() -> None:
    thought = {"type": "thinking", "thinking": "t" * 9000}
    messages = history(result("a", "x" * 500))
    messages[1] = assistant(thought, text("answer"))
    given: dict[str, Any] = {"window": 1000, "last_touch": NOW - 300, "now": NOW}
    made = settings(hard_clear_ratio=0.3, min_prunable_tool_chars=0)
    assert prune_context(messages, made, **given) is not messages
    assert prune_context(messages, made, drop_thinking=True, **given) is messages
    messages[-1] = messages[1]
    assert prune_context(messages, made, drop_thinking=True, **given) is not messages
    assert without_thinking(messages)[-1] is messages[-1]


# --- for all contexts -----------------------------------------------------------------------------
BLOCKS = st.one_of(
    st.sampled_from([None, 3, "", IMAGE, {"type": "video"}, {"type": "text", "text": [1]}]),
    st.sampled_from(["", "漢" * 90, "😀" * 60, "line\n" * 40]).map(text),
    st.sampled_from([{"type": "thinking", "thinking": "hm"}, {"type": "toolCall"}]),
)


def message(role: str, blocks: list[Any]) -> Json:
    return {**result("a"), "role": role, "content": blocks}


MESSAGES = st.builds(
    message,
    st.sampled_from(["user", "assistant", "toolResult", "custom"]),
    st.lists(BLOCKS, max_size=3),
)


@given(
    st.lists(MESSAGES, max_size=12),
    st.integers(1, 400),
    st.integers(0, 3),
    st.integers(0, 30),
)
def test_only_results_within_bounds_change_and_no_input_does(
    messages: Sequence[Json], window: int, keep: int, trim: int
) -> None:
    before = deepcopy(messages)
    pruned = prune(
        list(messages),
        window=window,
        keep_last_assistants=keep,
        min_prunable_tool_chars=100,
        soft_trim={"max_chars": 3 * trim, "head_chars": trim, "tail_chars": trim},
    )
    assert messages == before
    assert len(pruned) == len(messages)
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    for at, (old, new) in enumerate(zip(messages, pruned, strict=True)):
        if new is not old:
            assert {**new, "content": 0} == {**old, "content": 0}
            assert old["role"] == "toolResult"
            assert sum(after >= at for after in answers) >= keep
