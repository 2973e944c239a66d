"""What happens to a thread's record: nothing is lost, nothing doubled, what is cut stays cut."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bridge import ledger
from bridge.protocol import Result
from bridge.turn import prompt_id
from state import Queued, Record, Turn

Change = Callable[[Record], Record]


def fresh() -> Record:
    return Record(cwd="/work", guild=1, owner=2, title="t", created=0, last_used=0)


def item(message: int, content: str = "hello") -> Queued:
    return Queued(message=message, author=2, author_name="Ann", content=content, at=0)


def turn_of(record: Record, attempt: int = 1) -> Turn:
    queued = record.queue[0]
    name = prompt_id(queued.message, record.generation, attempt)
    return Turn(item=queued, prompt_id=name, started=0)


class Thread(RuleBasedStateMachine):
    """A thread over its life: its record, changed as a conversation does, and a plain model."""

    def __init__(self) -> None:
        super().__init__()
        self.record = fresh()
        self.next = 100
        self.words: dict[int, str] = {}
        self.waiting: list[int] = []
        self.running: int | None = None
        self.unsent: dict[str, tuple[int, list[int], str]] = {}
        self.replies: list[int] = []
        self.gone: set[int] = set()
        self.sids: list[str] = []
        self.generation = 0

    def change(self, change: Change) -> None:
        """Every change makes a record that can be written and read back."""
        self.record = change(self.record)
        assert Record.model_validate_json(self.record.model_dump_json()) == self.record

    # --- messages -------------------------------------------------------------------------------
    @rule(words=st.text(max_size=5))
    def write(self, words: str) -> None:
        self.next += 1
        message = self.next
        self.words[message] = words
        self.waiting.append(message)
        self.change(lambda r: ledger.queued(r, item(message, words)))
        assert message in self.record.seen

    @precondition(lambda self: self.waiting or self.running)
    @rule(pick=st.integers(0, 100), words=st.text(max_size=5))
    def edit(self, pick: int, words: str) -> None:
        """The words of a turn count too, until a process has them; who calls knows when."""
        open_to_change = [*self.waiting, *([self.running] if self.running else [])]
        message = open_to_change[pick % len(open_to_change)]
        self.words[message] = words
        self.change(lambda r: ledger.edited(r, message, words))

    @rule(pick=st.integers(0, 100))
    def edit_or_delete_what_does_not_wait(self, pick: int) -> None:
        others = [m for m in self.words if m not in (*self.waiting, self.running)]
        message = others[pick % len(others)] if others else 1
        before = self.record
        self.change(lambda r: ledger.edited(r, message, "changed too late"))
        self.change(lambda r: ledger.withdrawn(r, message))
        assert self.record == before

    @precondition(lambda self: self.waiting)
    @rule(pick=st.integers(0, 100))
    def delete(self, pick: int) -> None:
        message = self.waiting.pop(pick % len(self.waiting))
        self.gone.add(message)
        self.change(lambda r: ledger.withdrawn(r, message))

    # --- turns ----------------------------------------------------------------------------------
    @precondition(lambda self: self.waiting and self.running is None)
    @rule()
    def begin(self) -> None:
        self.running, self.replies = self.waiting.pop(0), []
        self.change(lambda r: ledger.begun(r, turn_of(r)))

    @rule(attempt=st.integers(2, 4))
    def ask_again(self, attempt: int) -> None:
        """Also when nothing runs: then it is no change."""
        before = self.record
        name = prompt_id(self.running or 0, self.generation, attempt)
        self.change(lambda r: ledger.retried(r, name, attempt))
        assert self.running is not None or self.record == before

    @precondition(lambda self: self.record.turn or self.unsent)
    @rule(pick=st.integers(0, 100))
    def show_a_message(self, pick: int) -> None:
        running = self.record.turn
        names = [*([running.prompt_id] if running else []), *self.unsent]
        name = names[pick % len(names)]
        self.next += 1
        shown = self.next
        (self.replies if running and name == running.prompt_id else self.unsent[name][1]).append(
            shown
        )
        self.change(lambda r: ledger.replied(r, name, shown))

    @precondition(lambda self: self.record.turn)
    @rule(words=st.text(max_size=5))
    def settle(self, words: str) -> None:
        turn, running = self.record.turn, self.running
        assert turn is not None and running is not None
        self.unsent[turn.prompt_id] = (running, self.replies, words)
        self.running, self.replies = None, []
        self.change(lambda r: ledger.settled(r, words))

    @rule()
    def settle_nothing(self) -> None:
        if self.running is None:
            before = self.record
            self.change(lambda r: ledger.settled(r, "late words"))
            assert self.record == before

    @precondition(lambda self: self.unsent)
    @rule(pick=st.integers(0, 100))
    def deliver(self, pick: int) -> None:
        name = list(self.unsent)[pick % len(self.unsent)]
        message, _, _ = self.unsent.pop(name)
        self.gone.add(message)
        self.change(lambda r: ledger.delivered(r, name))
        self.change(lambda r: ledger.delivered(r, name))

    # --- sessions -------------------------------------------------------------------------------
    @rule()
    def go_on_as_another_session(self) -> None:
        """The first session of the thread, or a fork."""
        sid = str(uuid.UUID(int=len(self.sids)))
        self.sids.append(sid)
        self.change(lambda r: ledger.continued_as(r, sid))
        assert self.record.sid == sid

    @precondition(lambda self: self.record.sid)
    @rule()
    def go_on_as_the_same_session(self) -> None:
        sid, before = self.record.sid, self.record
        assert sid is not None
        self.change(lambda r: ledger.continued_as(r, sid))
        assert self.record == before

    @rule()
    def lose_the_session(self) -> None:
        self.change(ledger.without_session)
        assert self.record.sid is None

    @rule()
    def start_over(self) -> None:
        self.generation += 1
        self.gone |= {*self.waiting, *([self.running] if self.running else [])}
        self.waiting, self.running, self.replies = [], None, []
        self.change(ledger.cut_off)
        assert self.record.sid is None
        assert self.record.usage.context_tokens == 0

    # --- what always holds ----------------------------------------------------------------------
    @invariant()
    def every_message_is_in_one_place(self) -> None:
        record = self.record
        assert [i.message for i in record.queue] == self.waiting
        assert [i.content for i in record.queue] == [self.words[m] for m in self.waiting]
        assert (record.turn.item.message if record.turn else None) == self.running
        if record.turn:
            assert record.turn.item.content == self.words[record.turn.item.message]
        assert {
            t.prompt_id: (t.item.message, list(t.reply_ids), t.tail) for t in record.unsent
        } == self.unsent
        assert len(record.unsent) == len(self.unsent)
        here = [*self.waiting, *([self.running] if self.running else [])]
        here += [message for message, _, _ in self.unsent.values()]
        assert len(here) == len(set(here))
        assert self.gone.isdisjoint(here)
        assert self.gone | set(here) == self.words.keys()

    @invariant()
    def the_running_turn_knows_its_messages(self) -> None:
        if self.record.turn:
            assert list(self.record.turn.reply_ids) == self.replies

    @invariant()
    def every_session_is_the_present_one_or_a_former_one(self) -> None:
        former = [past.sid for past in self.record.lineage]
        present = [self.record.sid] if self.record.sid else []
        assert [*former, *present] == self.sids
        assert self.record.generation == self.generation


TestThread = Thread.TestCase


def with_turn(*, fork: bool = False, sid: str | None = None) -> Record:
    record = ledger.queued(fresh().model_copy(update={"sid": sid, "pending_fork": fork}), item(5))
    return ledger.begun(record, turn_of(record))


SID, OTHER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


def test_the_past_is_named_by_the_reason_why_it_is_past() -> None:
    record = fresh().model_copy(update={"sid": SID})
    after = [ledger.cut_off(record), ledger.without_session(record)]
    after.append(ledger.continued_as(record, OTHER))
    assert [record.lineage[-1].reason for record in after] == ["new", "stale", "fork"]


def test_a_fork_is_asked_for_once_and_made_once() -> None:
    record = ledger.continued_as(with_turn(fork=True, sid=SID), OTHER)
    assert (record.sid, record.pending_fork) == (OTHER, False)
    record = ledger.settled(record, "")
    assert not record.pending_fork


def test_a_fork_that_is_asked_for_during_a_turn_is_still_to_come_after_it() -> None:
    record = with_turn().model_copy(update={"pending_fork": True})
    record = ledger.settled(ledger.continued_as(record, SID), "")
    assert (record.sid, record.pending_fork) == (SID, True)


@pytest.mark.parametrize("end", [ledger.cut_off, ledger.without_session])
def test_there_is_nothing_to_fork_where_there_is_no_session_any_more(end: Change) -> None:
    record = end(with_turn(fork=True, sid=SID))
    record = ledger.settled(record, "")
    assert (record.sid, record.pending_fork) == (None, False)


# --- what it costs --------------------------------------------------------------------------------
def result(**fields: Any) -> Result:
    return Result.model_validate(fields)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6))
def test_the_cost_of_a_session_is_the_last_total_that_the_cli_gave(costs: list[float]) -> None:
    record, total = fresh(), 0.0
    for cost in costs:
        total += cost
        record = ledger.counted(record, result(total_cost_usd=total), None, None)
    assert record.usage.cost_usd == pytest.approx(total)
    assert record.usage.turns == len(costs)


@pytest.mark.parametrize("end", [ledger.cut_off, ledger.without_session])
def test_a_new_session_begins_its_total_anew_and_the_threads_goes_on(end: Change) -> None:
    record = ledger.counted(fresh(), result(total_cost_usd=0.5), 1000, "opus")
    record = end(record.model_copy(update={"sid": SID}))
    assert ledger.cost_of(record, result(total_cost_usd=0.2)) == pytest.approx(0.2)
    record = ledger.counted(record, result(total_cost_usd=0.2), None, None)
    assert record.usage.cost_usd == pytest.approx(0.7)
    assert record.usage.model == "opus"


def test_a_total_that_fell_prices_no_turn() -> None:
    record = ledger.counted(fresh(), result(total_cost_usd=0.5), None, None)
    assert ledger.cost_of(record, result(total_cost_usd=0.1)) is None
    record = ledger.counted(record, result(total_cost_usd=0.1), None, None)
    assert record.usage.cost_usd == pytest.approx(0.5)
    assert ledger.cost_of(record, result(total_cost_usd=0.3)) == pytest.approx(0.2)


@pytest.mark.parametrize("end", [None, Result()])
def test_a_turn_without_a_price_counts_all_the_same(end: Result | None) -> None:
    before = ledger.counted(fresh(), result(total_cost_usd=0.5), 1000, "opus")
    after = ledger.counted(before, end, None, None)
    assert ledger.cost_of(before, end) is None
    assert after.usage == before.usage.model_copy(update={"turns": 2})


def test_tokens_add_up_and_the_context_is_the_last() -> None:
    end = result(
        usage={"input_tokens": 3, "output_tokens": 4},
        modelUsage={"a": {"contextWindow": 200_000}, "b": {"contextWindow": 1_000_000}},
    )
    record = ledger.counted(ledger.counted(fresh(), end, 500, "opus"), end, 700, None)
    usage = record.usage
    assert (usage.input_tokens, usage.output_tokens) == (6, 8)
    assert (usage.context_tokens, usage.context_window, usage.model) == (700, 1_000_000, "opus")


def test_a_compacted_session_carries_on_with_the_total_that_its_copy_has() -> None:
    record = ledger.counted(fresh(), result(total_cost_usd=0.5), 1000, "opus")
    record = ledger.compacted(record.model_copy(update={"sid": SID}), OTHER, 300)
    assert record.usage.context_tokens == 300
    assert ledger.cost_of(record, result(total_cost_usd=0.6)) == pytest.approx(0.1)


def test_a_resumed_session_costs_only_what_it_costs_from_now_on() -> None:
    before = ledger.counted(with_turn(sid=SID), result(total_cost_usd=0.5), 1000, "opus")
    record = ledger.resumed(before, OTHER, 2.0)
    assert (record.sid, record.turn, record.queue) == (OTHER, None, ())
    assert record.generation == before.generation + 1
    assert [(past.sid, past.reason) for past in record.lineage] == [(SID, "resume")]
    assert ledger.cost_of(record, result(total_cost_usd=2.25)) == pytest.approx(0.25)
    assert record.usage.cost_usd == pytest.approx(0.5)


def test_what_a_thread_spends_is_kept_by_day() -> None:
    record = ledger.counted(fresh(), result(total_cost_usd=0.5), None, None)
    record = ledger.counted(record, result(total_cost_usd=0.75), None, None)
    assert sum(day.turns for day in record.days) == 2
    assert sum(day.cost_usd for day in record.days) == pytest.approx(0.75)
