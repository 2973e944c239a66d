"""Failures: what is tried again, what is kept, and that there is never half an answer."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from compaction.jev import (
    AnswerError,
    Answers,
    CompactResult,
    JevError,
    Options,
    Questions,
    SetupError,
    State,
    StatusError,
    TransportError,
    compact,
)
from tests.compaction.jev.conversations import Naps, Scripted, answer, work

Failures = list[Exception | None]


async def run(failures: Failures, **options: Any) -> tuple[CompactResult, Scripted, Naps]:
    asker, naps = Scripted(0.0, failures), Naps()
    return await compact(work(8), asker, Options(**options), sleep=naps), asker, naps


async def fails(failures: Failures, **options: Any) -> tuple[Exception, int, list[float]]:
    asker, naps = Scripted(0.0, failures), Naps()
    with pytest.raises(Exception) as caught:
        await compact(work(8), asker, Options(**options), sleep=naps)
    return caught.value, len(asker.asked), naps.ms


async def test_a_passing_failure_is_tried_again_after_a_wait() -> None:
    done, asker, naps = await run([StatusError(503)])
    assert naps.ms == [500]
    assert (done.stats.requests, done.stats.retries, len(asker.asked)) == (1, 1, 2)
    assert done.stats.calls_dropped == 5


async def test_each_wait_is_three_times_the_last_and_the_last_failure_surfaces() -> None:
    failure, asked, waits = await fails(
        [StatusError(503), StatusError(502), StatusError(429)], retry_delay_ms=100
    )
    assert isinstance(failure, StatusError)
    assert (failure.status, asked, waits) == (429, 3, [100, 300])


@pytest.mark.parametrize(
    "failure",
    [
        StatusError(402),
        StatusError(401),
        StatusError(404),
        StatusError(422),
        AnswerError("malformed"),
        SetupError("no key"),
        RuntimeError("a bug"),
        TimeoutError(),
    ],
    ids=repr,
)
async def test_a_failure_that_will_not_pass_is_not_tried_again(failure: Exception) -> None:
    assert await fails([failure]) == (failure, 1, [])


async def test_a_lost_request_is_tried_again() -> None:
    done, asker, naps = await run([TransportError("gone"), TransportError("gone")])
    assert (done.stats.retries, len(asker.asked), naps.ms) == (2, 3, [500, 1500])


async def test_no_retries_are_made_where_none_are_wanted() -> None:
    failure, asked, _ = await fails([StatusError(503)], retries=0)
    assert isinstance(failure, StatusError)
    assert asked == 1


async def test_waiting_works_with_a_real_clock() -> None:
    asker = Scripted(0.0, [StatusError(503)])
    done = await compact(work(8), asker, Options(retry_delay_ms=1))
    assert done.stats.retries == 1


BATCHES: dict[str, Any] = {"max_state_tokens": 1200, "max_request_tokens": 1900}


@dataclass
class ByBatch:
    """Fails the batches whose first key is named, and remembers the keys of each request."""

    failing: dict[int, Exception]
    asked: list[list[str]] = field(default_factory=list[list[str]])

    async def ask(self, _: State, questions: Questions, /) -> Answers:
        keys = list(questions)
        if keys not in self.asked:
            self.asked.append(keys)
        failure = self.failing.get(self.asked.index(keys))
        if failure is not None:
            raise failure
        return answer(questions, 0.0)


@pytest.mark.parametrize("failure", [StatusError(503), TransportError("x"), AnswerError("odd")])
async def test_a_dead_batch_may_be_kept_whole_while_the_others_apply(failure: JevError) -> None:
    asker = ByBatch({1: failure})
    options = Options(on_batch_failure="keep", max_concurrent_requests=1, **BATCHES)
    done = await compact(work(40), asker, options, sleep=Naps())
    assert done.stats.failed_batches == 1
    assert done.stats.retries == (2 if failure.transient else 0)
    dead = {key.removeprefix("call_") for key in asker.asked[1] if key.startswith("call_")}
    assert dead
    for decision in done.decisions:
        kept = decision.id in dead or decision.reason == "pinned"
        assert decision.action == ("keep" if kept else "drop_call")
        assert not kept or (decision.keep_call, decision.keep_result) == (1, 1)


@pytest.mark.parametrize("failure", [StatusError(401), RuntimeError("bug"), SetupError("key")])
async def test_our_own_fault_is_raised_even_where_batches_may_be_kept(failure: Exception) -> None:
    assert await fails([failure], on_batch_failure="keep") == (failure, 1, [])


async def test_cancellation_is_no_failure_to_keep() -> None:
    failure, _, _ = await fails_cancelled()
    assert isinstance(failure, asyncio.CancelledError)


async def fails_cancelled() -> tuple[BaseException, int, list[float]]:
    started = asyncio.Event()

    class Stuck:
        async def ask(self, *_: object) -> Answers:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    task = asyncio.create_task(
        compact(work(8), Stuck(), Options(on_batch_failure="keep"), sleep=Naps())
    )
    await started.wait()
    task.cancel()
    (failure,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(failure, BaseException)
    return failure, 1, []


async def test_a_step_cancelled_before_it_began_sends_nothing() -> None:
    asker = Scripted()
    task = asyncio.create_task(compact(work(8), asker))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asker.asked == []


async def test_the_failure_that_will_not_pass_surfaces_before_one_that_would() -> None:
    both = asyncio.Barrier(2)

    class Two:
        first = True

        async def ask(self, *_: object) -> Answers:
            mine, self.first = self.first, False
            async with both:
                pass
            raise StatusError(503) if mine else StatusError(402)

    options = Options(retries=0, max_concurrent_requests=2, **BATCHES)
    with pytest.raises(StatusError) as caught:
        await compact(work(40), Two(), options)
    assert caught.value.status == 402


@dataclass
class Gate:
    """Lets requests pile up until `limit` are under way or no more come, and counts the peak."""

    fail_at: int = -1
    running: int = 0
    peak: int = 0
    begun: int = 0
    ended: int = 0

    async def ask(self, _: State, questions: Questions, /) -> Answers:
        number = self.begun
        self.begun += 1
        self.running += 1
        self.peak = max(self.peak, self.running)
        for _turn in range(3):
            await asyncio.sleep(0)
        self.running -= 1
        if number == self.fail_at:
            raise StatusError(402)
        for _turn in range(3):
            await asyncio.sleep(0)
        self.ended += 1
        return answer(questions, 0.0)


@pytest.mark.parametrize(("limit", "peak"), [(1, 1), (2, 2), (None, 4)])
async def test_no_more_requests_run_at_once_than_allowed(limit: int | None, peak: int) -> None:
    gate = Gate()
    options = (
        Options(**BATCHES) if limit is None else Options(max_concurrent_requests=limit, **BATCHES)
    )
    done = await compact(work(40), gate, options)
    assert done.stats.requests > 4
    assert gate.peak == peak


async def test_a_failure_starts_no_other_batch_and_waits_for_those_under_way() -> None:
    gate = Gate(fail_at=0)
    with pytest.raises(StatusError):
        await compact(work(40), gate, Options(max_concurrent_requests=2, **BATCHES))
    assert gate.begun == 2
    assert gate.ended == 1
