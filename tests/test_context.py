"""What is said of a compaction, and what the record keeps of it."""

from pathlib import Path

from bridge import context, ledger
from bridge.compactor import Step, View
from bridge.render import MESSAGE_LIMIT
from bridge.render.measure import units
from compaction.policy import Verdict
from compaction.report import Call, Outcome
from state import Lineage, Record

OLD, NEW = (f"{n * 8}-{n * 4}-4{n * 3}-8{n * 3}-{n * 12}" for n in "12")
RECORD = Record(
    sid=OLD, cwd="/work", guild=1, owner=2, title="t", created=0, last_used=0, generation=3
)


def outcome(*, path: Path | None = None) -> Outcome:
    calls = tuple(
        Call(f"id{n}", "Read", "`" * n + "/a/" * 40, n, "stub", "old " * 50, 1000 * n, 10)
        for n in range(9)
    )
    return Outcome(Path("old"), path, None, "auto", 90_000, 40_000, calls, 0.25, ("a note",))


def test_a_dry_run_says_that_nothing_was_changed() -> None:
    words = context.summary(outcome())
    assert "90k → 40k" in words
    assert "Nothing was changed" in words
    assert "Nothing was changed" not in context.summary(outcome(path=Path("new")))


def test_the_largest_removals_are_named_and_fit_a_message() -> None:
    words = context.summary(outcome())
    assert words.count("\n- ") == context.LARGEST
    assert "8k → 10" in words
    assert units(words) <= MESSAGE_LIMIT


def test_an_undone_compaction_is_not_made_again_by_itself() -> None:
    smaller = ledger.compacted(RECORD, NEW, 40_000)
    assert (smaller.sid, smaller.usage.context_tokens) == (NEW, 40_000)
    assert not ledger.went_back(smaller)
    back = ledger.back_to(smaller, OLD)
    assert back.sid == OLD
    assert ledger.went_back(back)
    view = View(Verdict(True, "full", 90_000, 200_000, 40_000), 100.0, ())
    words = context.context_text(back, view, now=200.0, automatic=True)
    assert "was undone" in words
    assert "expired <t:100:R>" in words


def test_the_context_names_where_a_session_came_from() -> None:
    past = Lineage(sid=OLD, reason="compaction", at=50)
    record = RECORD.model_copy(update={"sid": NEW, "lineage": (past,)})
    view = View(
        Verdict(False, "not full", 50_000, 200_000, 40_000), 300.0, (Step(OLD, 90_000, 40_000),)
    )
    words = context.context_text(record, view, now=200.0, automatic=True)
    assert "█████░" in words
    assert "(25%)" in words
    assert "not due: not full" in words
    assert f"`{OLD}`, until <t:50:R> (compaction) · 90k → 40k tokens" in words
    assert "/compact" in context.context_text(record, view, now=200.0, automatic=False)
    assert "no session yet" in context.context_text(RECORD, None, now=0, automatic=True)
