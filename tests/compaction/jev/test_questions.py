"""Questions, and how they are spread over requests."""

import pytest

from compaction.estimate import tokens
from compaction.jev import (
    Beyond,
    Options,
    TooLargeError,
    batch_calls,
    collect_tool_calls,
)
from compaction.jev.questions import pair_cost, questions_about, state_budget
from tests.compaction.jev.conversations import work

CALLS = collect_tool_calls(work(10), Options(preserve_recent_messages=0))
PAIR = pair_cost(CALLS[0], Options())


def test_each_call_is_asked_about_twice_by_id_tool_and_size() -> None:
    questions = questions_about(CALLS[2])
    assert list(questions) == ["call_t3", "result_t3"]
    assert {question["type"] for question in questions.values()} == {"noul"}
    assert "t3 (Read)" in questions["call_t3"]["instructions"]
    assert "t3 (Read), 2000 chars" in questions["result_t3"]["instructions"]
    assert "again would not do" in questions["result_t3"]["instructions"]


def test_the_reworded_question_asks_for_the_need_alone() -> None:
    needed = questions_about(CALLS[2], "needed")["result_t3"]
    assert "would not do" not in needed["instructions"]
    assert set(needed["criteria"]) == {"true", "false"}
    assert questions_about(CALLS[2], "needed")["call_t3"] == questions_about(CALLS[2])["call_t3"]


def test_all_questions_go_into_one_request_if_they_fit() -> None:
    assert batch_calls(CALLS, 100) == [CALLS]
    assert batch_calls([], 100) == []


def test_batches_keep_the_order_and_their_limit() -> None:
    options = Options(max_request_tokens=100 + 20 + 3 * PAIR)
    batches = batch_calls(CALLS, 100, options)
    assert [call for batch in batches for call in batch] == CALLS
    assert len(batches) > 2
    for batch in batches:
        assert sum(pair_cost(call, options) for call in batch) <= 3 * PAIR


def test_a_single_call_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TooLargeError, match="no room for the questions about t1"):
        batch_calls(CALLS, 100, Options(max_request_tokens=100 + 20 + PAIR - 1))


def test_the_state_leaves_room_for_the_largest_pair_of_questions() -> None:
    options = Options(max_request_tokens=1000)
    largest = max(pair_cost(call, options) for call in CALLS)
    assert state_budget(CALLS, options) == 1000 - 20 - largest
    assert state_budget(CALLS, Options()) == 25_000
    with pytest.raises(TooLargeError, match="no room for a state"):
        state_budget(CALLS, Options(max_request_tokens=20 + largest))


def test_the_cost_of_a_call_is_that_of_its_own_wording() -> None:
    options = Options(beyond=Beyond(wording="needed"))
    assert pair_cost(CALLS[0], options) > PAIR > tokens("call_t1")
