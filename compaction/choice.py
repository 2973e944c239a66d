"""The strategies by their names, each brought to a goal where one is set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from compaction.decisions import Decision
from compaction.estimate import message_tokens
from compaction.features import paired_calls
from compaction.gains import PLAIN, Costs, Gains
from compaction.jev import JevAsker, JevError, as_strategy, is_stub, options_for
from compaction.messages import Message
from compaction.policy import WINDOW
from compaction.relevance import PRESERVE_MESSAGES, OfflineAsker, Valued, value
from compaction.strategies import AGGRESSIVE, BALANCED, CONSERVATIVE, ByLine

STEPS = 6
"""Prices that are tried between two presets; each halves the range in which the goal lies."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Which strategy, and how far it is to go."""

    strategy: str = "auto"
    save: int | None = None
    """Estimated tokens to free; None = as much as the strategy finds right."""
    window: int = WINDOW
    instructions: str = ""
    asker: JevAsker | None = None
    """Who scores; None = the offline scorer."""
    costs: Costs = PLAIN
    """What is put in place of what goes."""


@dataclass(frozen=True, slots=True)
class Made:
    """The decisions, the strategy that made them, and what a person should know of it."""

    strategy: str
    decisions: Mapping[str, Decision]
    notes: tuple[str, ...] = ()


Decide = Callable[[Sequence[Message], Goal], Mapping[str, Decision]]


def decide(messages: Sequence[Message], goal: Goal) -> Made:
    """The decisions of the named strategy.

    Where an asker fails or judges that nothing is worth keeping, `auto` decides in its place, and a
    note says so. Raises `ValueError` for an unknown name.
    """
    chosen = STRATEGIES.get(goal.strategy)
    if chosen is None:
        raise ValueError(f"no strategy {goal.strategy!r}; there are {', '.join(STRATEGIES)}")
    try:
        return Made(goal.strategy, chosen(messages, goal))
    except JevError as fault:
        note = f"the scorer could not be used ({fault}): lines were chosen by the offline one"
        return Made("auto", _auto(messages, goal), (note,))


def _auto(messages: Sequence[Message], goal: Goal) -> Mapping[str, Decision]:
    """Lines by their worth, gently at first; then, only to reach a goal, whole old results."""
    if goal.save is None:
        return BALANCED(messages)
    valued, gains = value(messages), Gains.of(messages, goal.costs)
    gentle = gains.worthwhile(CONSERVATIVE.decide(valued))
    if gains.total(gentle) >= goal.save:
        return gentle
    hard = gains.worthwhile(AGGRESSIVE.decide(valued))
    if gains.total(hard) < goal.save:
        return _cleared(messages, hard, goal.save, gains)
    return _cheapest(valued, goal.save, hard, gains)


def _cheapest(
    valued: Sequence[Valued], save: int, hard: dict[str, Decision], gains: Gains
) -> dict[str, Decision]:
    """The decisions at the lowest price of a line that reaches the goal."""
    low, high, best = CONSERVATIVE.price, AGGRESSIVE.price, hard
    for _ in range(STEPS):
        price = (low * high) ** 0.5
        found = gains.worthwhile(at_price(price).decide(valued))
        if gains.total(found) >= save:
            high, best = price, found
        else:
            low = price
    return best


def at_price(price: float) -> ByLine:
    """The strategy between the presets: harder ones favour long lines less."""
    share = (price - BALANCED.price) / (AGGRESSIVE.price - BALANCED.price)
    step = AGGRESSIVE.length - BALANCED.length
    return ByLine(price=price, length=BALANCED.length + step * min(max(share, 0.0), 1.0))


def _cleared(
    messages: Sequence[Message], decisions: Mapping[str, Decision], save: int, gains: Gains
) -> dict[str, Decision]:
    """Beyond the worth of lines: whole results go, the oldest first, until the goal is reached."""
    found = dict(decisions)
    left = save - gains.total(decisions)
    for call in paired_calls(messages, PRESERVE_MESSAGES):
        if left <= 0:
            break
        if call.pinned or call.failed or is_stub(call.text):
            continue
        before = found.get(call.tool_use_id)
        after = Decision(call.tool_use_id, "stub", "old, to make room")
        more = gains.one(after) - (gains.one(before) if before else 0)
        if more > 0:
            found[call.tool_use_id] = after
            left -= more
    return found


def _by_line(strategy: ByLine) -> Decide:
    return lambda messages, _: strategy(messages)


def _score(messages: Sequence[Message], goal: Goal) -> Mapping[str, Decision]:
    """Whole results by an asker's scores; without an asker, lines by the offline scorer's."""
    return _auto(messages, goal) if goal.asker is None else _jev("budget")(messages, goal)


def _jev(name: str) -> Decide:
    def decide_all(messages: Sequence[Message], goal: Goal) -> Mapping[str, Decision]:
        target = None
        if name == "budget" and goal.save is not None:
            target = min(goal.save / max(sum(map(message_tokens, messages)), 1), 1.0)
        options = options_for(name, target=target, instructions=goal.instructions)
        return as_strategy(goal.asker or OfflineAsker(messages), options)(messages)

    return decide_all


STRATEGIES: Mapping[str, Decide] = MappingProxyType(
    {
        "auto": _auto,
        "conservative": _by_line(CONSERVATIVE),
        "balanced": _by_line(BALANCED),
        "aggressive": _by_line(AGGRESSIVE),
        "score": _score,
        "jev-library": _jev("library"),
        "jev-needed": _jev("needed"),
        "jev-thresholds": _jev("thresholds"),
        "jev-budget": _jev("budget"),
    }
)
"""`auto` takes lines by worth as far as its goal asks; `prune` is OpenClaw's session pruning,
`score` asks an asker about whole results, `both` does one after the other; the presets are fixed
points of `auto`, and `jev-…` are those of `compaction.jev.strategies`."""
