"""The whole step with a scripted asker: what is asked, what comes out, what it says of itself."""

import copy
from dataclasses import replace

import pytest

from compaction.decisions import apply
from compaction.jev import (
    AnswerError,
    CompactResult,
    Options,
    ScoredAsker,
    TooLargeError,
    as_strategy,
    compact,
    decision_log,
    message_chars,
    options_for,
    reduction_ratio,
    summary,
)
from compaction.messages import Message, from_json, to_json
from tests.compaction.jev.conversations import Scripted, call, result, user, work


async def test_all_batches_share_one_state_and_ask_each_key_once() -> None:
    asker = Scripted(0.0)
    done = await compact(work(40), asker, Options(max_state_tokens=1200, max_request_tokens=1900))
    assert len(asker.asked) == done.stats.requests > 2
    states = [state for state, _ in asker.asked]
    assert all(state is states[0] for state in states)
    keys = [key for _, questions in asker.asked for key in questions]
    candidates = [d.id for d in done.decisions if d.reason != "pinned"]
    assert sorted(keys) == sorted(f"{kind}_{i}" for i in candidates for kind in ("call", "result"))


@pytest.mark.parametrize("messages", [[], [user("x")], [user("x"), *work(1)], work(2)])
async def test_without_a_candidate_nothing_is_asked(messages: list[Message]) -> None:
    asker = Scripted()
    done = await compact(messages, asker)
    assert asker.asked == []
    assert done.messages == messages
    assert (done.stats.requests, done.stats.state_stage, done.stats.state_tokens) == (0, "", 0)
    assert reduction_ratio(done) == 0


async def test_high_scores_keep_everything() -> None:
    messages = work(20)
    done = await compact(messages, Scripted(0.95))
    assert reduction_ratio(done) == 0
    assert all(new is old for new, old in zip(done.messages, messages, strict=True))


async def test_low_scores_leave_words_and_pinned_calls() -> None:
    messages = work(20)
    done = await compact(messages, Scripted(0.1))
    assert done.messages == [messages[0], *messages[-6:]] or done.stats.pinned == 3
    assert done.stats.calls_dropped == 17
    assert 0.8 < reduction_ratio(done) < 0.9


async def test_the_result_counts_what_was_done() -> None:
    scores = {"result_t1": 1.0, "call_t2": 1.0}
    messages = work(8)
    done = await compact(messages, Scripted(lambda key: scores.get(key, 0.0)))
    stats = done.stats
    assert (stats.calls, stats.kept, stats.results_dropped, stats.calls_dropped) == (8, 4, 1, 3)
    assert (stats.pinned, stats.requests, stats.retries, stats.failed_batches) == (3, 1, 0, 0)
    assert (stats.messages_before, stats.messages_after) == (18, 12)
    assert stats.chars_before == sum(map(message_chars, messages))
    assert stats.chars_after == sum(map(message_chars, done.messages))
    assert stats.state_stage == "full"
    assert stats.ms > 0


def test_characters_are_those_of_texts_inputs_and_results_but_no_mirror() -> None:
    assert message_chars(call("a", mirror="m" * 99, text="four", path="x")) == 4 + len(
        '{"path":"x"}'
    )
    assert message_chars(result("a", "12345")) == 5
    assert message_chars(call("a", when=object())) == 20


@pytest.mark.parametrize(
    "answers",
    [
        [],
        "x",
        None,
        {"call_t1": 1},
        {"call_t1": {"noul": "1"}, "result_t1": {"noul": 1}},
        {"call_t1": {"noul": True}, "result_t1": {"noul": 1}},
        {"call_t1": {"type": "score", "noul": 1}, "result_t1": {"noul": 1}},
        {"call_t1": {"noul": -1}, "result_t1": {"noul": 1.01}},
        {"call_t1": {"noul": float("nan")}, "result_t1": {"noul": float("inf")}},
        {"call_t1": [], "result_t1": {}},
    ],
)
async def test_answers_that_cannot_be_believed_are_refused_after_one_request(
    answers: object,
) -> None:
    class Odd:
        requests = 0

        async def ask(self, *_: object) -> object:
            self.requests += 1
            return answers

    odd = Odd()
    with pytest.raises(AnswerError):
        await compact(work(4), odd)  # type: ignore[arg-type]
    assert odd.requests == 1


async def test_one_error_names_every_bad_answer_in_order() -> None:
    class Half:
        async def ask(self, *_: object) -> dict[str, dict[str, float]]:
            return {"call_t1": {"noul": 0.5}, "result_t2": {"noul": 7}}

    with pytest.raises(AnswerError, match=r"result_t1, call_t2, result_t2$"):
        await compact(work(5), Half())


async def test_the_conversation_handed_in_is_never_changed() -> None:
    messages = work(20)
    before = copy.deepcopy(messages)
    await compact(messages, Scripted(0.1))
    assert messages == before


async def test_the_plan_does_to_a_transcript_what_was_done_to_the_messages() -> None:
    messages = work(20)
    done = await compact(messages, Scripted(lambda key: float(key.startswith("call_"))))
    assert apply(messages, done.plan) == done.messages
    assert {d.action for d in done.plan.values()} == {"drop_result"}


async def test_dictionaries_of_the_common_shape_go_in_and_come_out() -> None:
    messages = [from_json(to_json(message)) for message in work(4)]
    assert (await compact(messages, Scripted(1))).messages == messages


async def test_a_tight_request_limit_bounds_the_state_too() -> None:
    asker = Scripted(0.9)
    done = await compact(work(8), asker, Options(max_request_tokens=1000))
    assert done.stats.state_tokens < 1000
    assert asker.asked


async def test_an_impossible_limit_sends_nothing() -> None:
    asker = Scripted()
    with pytest.raises(TooLargeError):
        await compact(work(8), asker, Options(max_request_tokens=50))
    assert asker.asked == []


def test_an_asker_makes_a_strategy_like_any_other() -> None:
    messages = work(20)
    strategy = as_strategy(Scripted(0.0), options_for("budget", target=0.5))
    decisions = strategy(messages)
    before = sum(map(message_chars, messages))
    after = sum(map(message_chars, apply(messages, decisions)))
    assert (before - after) / before >= 0.5


async def test_scores_from_elsewhere_can_answer_too() -> None:
    messages = work(12)
    asker = ScoredAsker(messages, {"u2": 1.0, "u3": 0.6})
    done = await compact(messages, asker)
    assert [d.id for d in done.decisions if d.reason == "kept"] == ["t3", "t4"]
    assert done.stats.calls_dropped == 7
    with pytest.raises(AnswerError, match="call_t1, result_t1"):
        await compact(messages, ScoredAsker(messages, {"u0": 1.5}))


async def some_result() -> CompactResult:
    return await compact(work(8), Scripted(0.1))


async def test_the_summary_is_one_line_with_all_counts() -> None:
    done = await some_result()
    assert summary(done) == (
        f"kept 8/18 messages, -62% (3 calls kept, 0 shortened, 5 removed; 1 request, state "
        f"{done.stats.state_tokens} tokens (full))"
    )
    quiet = await compact([], Scripted())
    assert summary(quiet) == (
        "kept 0/0 messages, -0% (0 calls kept, 0 shortened, 0 removed; 0 requests)"
    )


async def test_the_decision_log_is_one_line_or_numbered_short_ones() -> None:
    done = await some_result()
    (line,) = decision_log(done.decisions)
    assert line.startswith("t1:Read:drop_call/call=0.10/result=0.10 t2:Read:")
    assert line.endswith("t8:Read:keep/call=1.00/result=1.00")
    many = [replace(done.decisions[0], id=f"t{n}") for n in range(500)]
    lines = decision_log(many)
    assert len(lines) > 2
    assert all(len(line) < 4096 for line in lines)
    assert [line.split(" ")[0] for line in lines] == [
        f"({n}/{len(lines)})" for n in range(1, len(lines) + 1)
    ]
    assert sum(line.count("drop_call") for line in lines) == 500
    assert decision_log([]) == []
