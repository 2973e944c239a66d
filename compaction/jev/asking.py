"""Asks all batches, a few at a time, again after a passing failure, and all of them or nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from compaction.jev.calls import ToolCall
from compaction.jev.decide import CallAnswer
from compaction.jev.errors import AnswerError, JevError
from compaction.jev.options import Options
from compaction.jev.questions import call_key, questions_of, result_key
from compaction.jev.wire import JevAsker, State, probabilities

Sleep = Callable[[float], Awaitable[object]]
"""Waits for so many seconds."""

BACK_OFF = 3
"""How many times longer each wait is than the one before."""


@dataclass(slots=True)
class Asked:
    """The answers by call id, and what they took; calls of a batch kept whole have none."""

    answers: dict[str, CallAnswer] = field(default_factory=dict[str, CallAnswer])
    requests: int = 0
    retries: int = 0
    failed_batches: int = 0


async def ask_all(
    asker: JevAsker,
    state: State,
    batches: Sequence[Sequence[ToolCall]],
    options: Options,
    *,
    sleep: Sleep = asyncio.sleep,
) -> Asked:
    """The answers to all batches.

    Once one has failed no other is begun, those under way are awaited, and the failure is raised:
    of several the first that would not have passed by itself.
    """
    round_ = _Round(asker, state, options, sleep, iter(batches))
    async with asyncio.TaskGroup() as workers:
        for _ in range(min(options.max_concurrent_requests, len(batches))):
            workers.create_task(round_.work())
    if round_.failures:
        raise next((f for f in round_.failures if not _is_transient(f)), round_.failures[0])
    return round_.asked


@dataclass(slots=True)
class _Round:
    asker: JevAsker
    state: State
    options: Options
    sleep: Sleep
    queue: Iterator[Sequence[ToolCall]]
    asked: Asked = field(default_factory=Asked)
    failures: list[Exception] = field(default_factory=list[Exception])

    async def work(self) -> None:
        """Takes batch after batch until there are none, or one has failed."""
        while not self.failures:
            batch = next(self.queue, None)
            if batch is None:
                return
            self.asked.requests += 1
            try:
                self.asked.answers.update(await self._ask(batch))
            except Exception as failure:
                if self._may_keep(failure):
                    self.asked.failed_batches += 1
                else:
                    self.failures.append(failure)

    async def _ask(self, batch: Sequence[ToolCall]) -> dict[str, CallAnswer]:
        questions = questions_of(batch, self.options)
        left, delay = self.options.retries, self.options.retry_delay_ms / 1000
        while True:
            try:
                found = probabilities(await self.asker.ask(self.state, questions), questions)
            except JevError as failure:
                if not failure.transient or not left or self.failures:
                    raise
            else:
                return {c.id: CallAnswer(found[call_key(c)], found[result_key(c)]) for c in batch}
            self.asked.retries += 1
            await self.sleep(delay)
            left, delay = left - 1, delay * BACK_OFF

    def _may_keep(self, failure: Exception) -> bool:
        kind = isinstance(failure, AnswerError) or _is_transient(failure)
        return kind and self.options.on_batch_failure == "keep"


def _is_transient(failure: Exception) -> bool:
    return isinstance(failure, JevError) and failure.transient
