"""The named strategies, brought to a goal."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import choice
from compaction.choice import STRATEGIES, Goal, decide
from compaction.decisions import Decision, apply, new_text
from compaction.estimate import message_tokens
from compaction.features import paired_calls
from compaction.gains import Costs, Gains
from compaction.jev import JevError
from compaction.messages import Message
from compaction.relevance import PRESERVE_MESSAGES
from tests.compaction.session.work import log, view
from tests.compaction.sessions_of_files import Session


def long(rounds: int = 14) -> list[Message]:
    """Reads and runs about many files, then some words."""
    session = Session()
    for at in range(rounds):
        path = f"/src/module_{at}.py"
        session.read(path, *view(at, 50).replace("→", " ").split("\n"))
        session.call("Bash", {"command": f"pytest {at}"}, log(at, 50), is_error=at == 3)
        session.answer(f"Module {at} is done.")
        session.say("Go on.")
    session.rest()
    return session.messages


LONG = long()
WHOLE = sum(map(message_tokens, LONG))
LARGEST = max(map(message_tokens, LONG))
OWN = [name for name in STRATEGIES if name not in ("jev-library", "prune", "both")]
"""Those that are not bound to what another program does."""


def freed(decisions: Mapping[str, Decision]) -> int:
    return WHOLE - sum(map(message_tokens, apply(LONG, decisions)))


@pytest.mark.parametrize("strategy", OWN)
def test_errors_and_the_recent_window_are_never_touched(strategy: str) -> None:
    decisions = decide(LONG, Goal(strategy, save=WHOLE)).decisions
    for call in paired_calls(LONG, PRESERVE_MESSAGES):
        decision = decisions.get(call.tool_use_id)
        if (call.failed or call.pinned) and decision is not None:
            assert decision.action == "keep" or apply(LONG, {call.tool_use_id: decision}) == LONG


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_words_are_never_touched(strategy: str) -> None:
    after = apply(LONG, decide(LONG, Goal(strategy, save=WHOLE // 2)).decisions)
    assert [m.text for m in after if m.text] == [m.text for m in LONG if m.text]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_messages_give_the_same_decisions(strategy: str) -> None:
    goal = Goal(strategy, save=WHOLE // 2)
    assert decide(LONG, goal).decisions == decide(long(), goal).decisions


def test_goals_that_are_nothing_cost_nothing_but_what_is_repeated() -> None:
    gentle = decide(LONG, Goal("auto", save=0)).decisions
    assert set(gentle) <= set(decide(LONG, Goal("conservative")).decisions)


@settings(max_examples=40)
@given(st.floats(0.0, 0.9), st.integers(0, 60), st.integers(5, 150))
def test_auto_reaches_its_goal_and_goes_hardly_beyond(share: float, mark: int, stub: int) -> None:
    costs = Costs(mark, stub)
    save = round(WHOLE * share)
    gains = Gains.of(LONG, costs)
    decisions = decide(LONG, Goal("auto", save=save, costs=costs)).decisions
    reached = gains.total(decisions)
    least = gains.total(decide(LONG, Goal("auto", save=0, costs=costs)).decisions)
    most = gains.total(decide(LONG, Goal("auto", save=WHOLE, costs=costs)).decisions)
    assert reached >= min(save, most)
    # What loses nothing always goes, and one call is the smallest step.
    assert reached <= max(save + LARGEST, least)


def test_without_a_goal_auto_is_balanced() -> None:
    assert decide(LONG, Goal("auto")).decisions == decide(LONG, Goal("balanced")).decisions


def test_gains_are_what_the_messages_lose() -> None:
    decisions = decide(LONG, Goal("aggressive")).decisions
    assert Gains.of(LONG, Costs(0, 0)).total(decisions) == pytest.approx(freed(decisions), abs=9)


def test_old_results_go_before_young_ones_where_lines_do_not_suffice() -> None:
    decisions = decide(LONG, Goal("auto", save=round(WHOLE * 0.85))).decisions
    order = [call.tool_use_id for call in paired_calls(LONG, PRESERVE_MESSAGES)]
    cleared = [order.index(key) for key, d in decisions.items() if d.action == "stub"]
    assert cleared
    spared = {order.index(key) for key, d in decisions.items() if d.action != "stub"}
    assert all(min(spared - {0}, default=99) > at or at < max(cleared) for at in cleared)
    assert all(new_text(decisions[order[at]]) is not None for at in cleared)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no strategy 'magic'; there are auto"):
        decide(LONG, Goal("magic"))


class Broken:
    """An asker that is not there."""

    async def ask(self, state: object, questions: object, /) -> Mapping[str, Mapping[str, object]]:
        raise JevError("nobody answers")


class Dismissive:
    """An asker to whom nothing is worth keeping."""

    async def ask(
        self, state: object, questions: Mapping[str, object], /
    ) -> Mapping[str, Mapping[str, object]]:
        return {key: {"type": "noul", "noul": 0.0} for key in questions}


@pytest.mark.parametrize("strategy", ["score", "jev-needed", "jev-budget", "jev-thresholds"])
def test_where_the_asker_fails_lines_are_chosen_offline_and_a_note_says_so(strategy: str) -> None:
    made = decide(LONG, Goal(strategy, save=WHOLE // 2, asker=Broken()))
    assert made.strategy == "auto"
    assert made.decisions == decide(LONG, Goal("auto", save=WHOLE // 2)).decisions
    assert len(made.notes) == 1
    assert "nobody answers" in made.notes[0]


@pytest.mark.parametrize("strategy", ["score", "jev-needed", "jev-budget", "jev-thresholds"])
def test_an_asker_that_would_keep_nothing_does_not_get_its_way(strategy: str) -> None:
    made = decide(LONG, Goal(strategy, save=WHOLE // 3, asker=Dismissive()))
    assert freed(made.decisions) < WHOLE * 0.9


def test_prices_between_the_presets_go_from_gentle_to_hard() -> None:
    prices = [0.0004, 0.005, 0.02, 0.04, 0.062]
    sizes = [freed(choice.at_price(price)(LONG)) for price in prices]
    assert sizes == sorted(sizes)
