"""What turns spend counts for the day, whatever becomes of their threads."""

from pathlib import Path

from bridge.protocol import Result
from bridge.spending import Spending
from state import Store
from tests.state.samples import plain


def costing(total: float) -> Result:
    return Result.model_validate({"total_cost_usd": total})


async def test_the_budget_counts_threads_that_are_gone_and_lasts_over_a_restart(
    tmp_path: Path,
) -> None:
    record = plain()
    async with await Store.open(tmp_path) as store:
        spending = Spending(store, 1.0)
        store.put(1, record)
        assert spending.refusal() is None
        assert spending.turn(record, costing(0.7)) == ""
        assert "85%" in spending.turn(record, costing(0.15))
        store.remove(1)
        assert "used up" in spending.turn(record, costing(0.2))
        assert spending.turn(record, costing(0.2)) == ""
    async with await Store.open(tmp_path) as store:
        refused = Spending(store, 1.0).refusal()
        assert refused is not None
        assert "used up" in refused.what
        assert Spending(store, 2.0).refusal() is None
        assert Spending(store, 0.0).refusal() is None


async def test_channels_and_servers_without_one_are_kept_apart(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        spending = Spending(store, 0.0)
        spending.turn(plain(), costing(1.0))
        spending.turn(plain().model_copy(update={"parent": 9}), costing(2.0))
        spending.turn(plain().model_copy(update={"parent": 9}), None)
        assert {c: [d.cost_usd for d in k.days] for c, k in store.channels().items()} == {
            1: [1.0],
            9: [2.0],
        }
        assert sum(day.turns for day in store.channel(9).days) == 2
