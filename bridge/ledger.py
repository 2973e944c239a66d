"""What happens to a thread's record: pure changes, each with its name."""

import time
from collections.abc import Callable
from typing import Literal

from bridge import usage as spending
from bridge.protocol import Result
from state import Lineage, Queued, Record, Turn, Usage

LINEAGE_LIMIT = 50
"""Former sessions that a record names; their transcripts stay on disk in any case."""


def queued(record: Record, item: Queued) -> Record:
    """A message was taken in, and waits."""
    return record.model_copy(
        update={
            "queue": (*record.queue, item),
            "seen": (*record.seen, item.message),
            "last_used": time.time(),
        }
    )


def edited(record: Record, message: int, content: str) -> Record:
    """A message that waits, or whose turn waits for a process, has new words."""

    def after(item: Queued) -> Queued:
        same = item.message == message
        return item.model_copy(update={"content": content}) if same else item

    turn = record.turn and record.turn.model_copy(update={"item": after(record.turn.item)})
    return record.model_copy(update={"queue": tuple(map(after, record.queue)), "turn": turn})


def withdrawn(record: Record, message: int) -> Record:
    """A message waits no more."""
    queue = tuple(item for item in record.queue if item.message != message)
    return record.model_copy(update={"queue": queue})


def begun(record: Record, turn: Turn) -> Record:
    """A turn is in flight; its message has left the queue, and the fork asked for is its own."""
    turn = turn.model_copy(update={"fork": record.pending_fork})
    changes = {"turn": turn, "pending_fork": False}
    return withdrawn(record, turn.item.message).model_copy(update=changes)


def replied(record: Record, prompt_id: str, message: int) -> Record:
    """One more message shows the answer to a prompt."""
    return _with_replies(record, prompt_id, lambda shown: (*shown, message))


def retracted(record: Record, prompt_id: str, message: int) -> Record:
    """A message that showed the answer to a prompt was taken back."""
    return _with_replies(record, prompt_id, lambda shown: tuple(m for m in shown if m != message))


def _with_replies(
    record: Record, prompt_id: str, change: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> Record:
    def changed(turn: Turn) -> Turn:
        if turn.prompt_id != prompt_id:
            return turn
        return turn.model_copy(update={"reply_ids": change(turn.reply_ids)})

    turn = changed(record.turn) if record.turn else None
    unsent = tuple(changed(over) for over in record.unsent)
    return record.model_copy(update={"turn": turn, "unsent": unsent})


def asked(record: Record, tool_use_id: str) -> Record:
    """In the turn in flight people were asked about a call."""
    if record.turn is None:
        return record
    turn = record.turn.model_copy(update={"asked": (*record.turn.asked, tool_use_id)})
    return record.model_copy(update={"turn": turn})


def retried(record: Record, prompt_id: str, attempt: int) -> Record:
    """The turn in flight is asked again under a new prompt id."""
    if record.turn is None:
        return record
    turn = record.turn.model_copy(update={"prompt_id": prompt_id, "attempt": attempt})
    return record.model_copy(update={"turn": turn})


def settled(record: Record, tail: str) -> Record:
    """The turn in flight is over; Discord has yet to get its last words."""
    if record.turn is None:
        return record
    over = record.turn.model_copy(update={"tail": tail})
    return record.model_copy(
        update={
            "turn": None,
            "unsent": (*record.unsent, over),
            # A fork that did not come about is left to the next turn.
            "pending_fork": record.pending_fork or record.turn.fork,
            "last_used": time.time(),
        }
    )


def delivered(record: Record, prompt_id: str) -> Record:
    """Discord has the last words of a turn."""
    unsent = tuple(turn for turn in record.unsent if turn.prompt_id != prompt_id)
    return record.model_copy(update={"unsent": unsent})


def continued_as(record: Record, sid: str) -> Record:
    """The thread's session is `sid` from now on: its first, or a fork of the one before."""
    if record.sid == sid:
        return record
    lineage = _with_past(record, "fork")
    return _forked(record).model_copy(update={"sid": sid, "lineage": lineage})


def outlived(record: Record, *, answered: bool) -> Record:
    """The process went while no bot was there; if it had begun to answer, its session is kept."""
    if record.process is None:
        return record
    kept = continued_as(record, record.process.sid) if answered else record
    return kept.model_copy(update={"process": None})


def without_session(record: Record) -> Record:
    """The CLI knows the session no more."""
    return _forked(record).model_copy(
        update={
            "sid": None,
            "pending_fork": False,
            "lineage": _with_past(record, "stale"),
            "usage": _fresh(record.usage),
        }
    )


def compacted(record: Record, sid: str, context_tokens: int) -> Record:
    """The thread goes on with a smaller copy of its session."""
    # The copy carries the running total of what it cost, too.
    usage = record.usage.model_copy(update={"context_tokens": context_tokens})
    lineage = _with_past(record, "compaction")
    return record.model_copy(update={"sid": sid, "lineage": lineage, "usage": usage})


def rewound(record: Record, sid: str) -> Record:
    """The thread goes on with its session as it was before the prompt; no process has that yet."""
    if record.sid == sid:
        return record
    lineage = _with_past(record, "compaction")
    return record.model_copy(update={"sid": sid, "lineage": lineage, "process": None})


def started_over(record: Record) -> Record:
    """The thread goes on with a fresh session, which is told the last words of this one."""
    lineage = _with_past(record, "compaction")
    return record.model_copy(
        update={"sid": None, "lineage": lineage, "usage": _fresh(record.usage)}
    )


def back_to(record: Record, sid: str) -> Record:
    """A compaction is undone: the thread has the session again that it had before.

    Both stay in the lineage, which is how `went_back` knows.
    """
    lineage = _with_past(record, "compaction")
    return record.model_copy(update={"sid": sid, "lineage": lineage, "usage": _fresh(record.usage)})


def went_back(record: Record) -> bool:
    """Somebody undid the compaction of this session: nothing compacts it again by itself."""
    return any(past.sid == record.sid for past in record.lineage)


def _forked(record: Record) -> Record:
    """The turn in flight has no more to do about its fork."""
    turn = record.turn and record.turn.model_copy(update={"fork": False})
    return record.model_copy(update={"turn": turn})


def cut_off(record: Record) -> Record:
    """`/new`: nothing that a late turn still writes can bring back what was before."""
    return record.model_copy(
        update={
            "generation": record.generation + 1,
            "sid": None,
            "pending_fork": False,
            "turn": None,
            "queue": (),
            "lineage": _with_past(record, "new"),
            "usage": _fresh(record.usage),
        }
    )


def resumed(record: Record, sid: str, cost_usd: float) -> Record:
    """The thread goes on with a session of this machine, which has cost that much so far."""
    generation = record.generation + 1
    usage = _fresh(record.usage).model_copy(update={"session_cost_usd": cost_usd})
    lineage = _with_past(record, "resume")
    return cut_off(record).model_copy(
        update={"generation": generation, "sid": sid, "lineage": lineage, "usage": usage}
    )


def _fresh(usage: Usage) -> Usage:
    return usage.model_copy(update={"context_tokens": 0, "session_cost_usd": 0.0})


def _with_past(
    record: Record, reason: Literal["new", "fork", "compaction", "stale", "resume"]
) -> tuple[Lineage, ...]:
    if record.sid is None:
        return record.lineage
    past = Lineage(sid=record.sid, reason=reason, at=time.time())
    return (*record.lineage, past)[-LINEAGE_LIMIT:]


def cost_of(record: Record, result: Result | None) -> float | None:
    """What a turn cost in US dollars: the CLI gives the running total of the session."""
    if result is None or result.total_cost_usd is None:
        return None
    before = record.usage.session_cost_usd
    return result.total_cost_usd - before if result.total_cost_usd >= before else None


def counted(
    record: Record, result: Result | None, context_tokens: int | None, model: str | None
) -> Record:
    """A turn's use is added to the thread's totals."""
    usage = record.usage
    cost = cost_of(record, result)
    changes: dict[str, object] = {"turns": usage.turns + 1, "model": model or usage.model}
    if result is not None:
        changes["cost_usd"] = usage.cost_usd + (cost or 0.0)
        changes["session_cost_usd"] = result.total_cost_usd or usage.session_cost_usd
        changes["context_window"] = result.context_window or usage.context_window
        if result.usage:
            changes["input_tokens"] = usage.input_tokens + result.usage.input_tokens
            changes["output_tokens"] = usage.output_tokens + result.usage.output_tokens
    if context_tokens is not None:
        changes["context_tokens"] = context_tokens
    spent = spending.spent_in(result, cost, time.time())
    return spending.in_thread(
        record.model_copy(update={"usage": usage.model_copy(update=changes)}), spent
    )
