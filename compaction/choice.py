"""The strategies by their names, each brought to a goal where one is set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from compaction import pruning
from compaction.decisions import Decision, apply
from compaction.estimate import message_tokens
from compaction.features import paired_calls
from compaction.gains import PLAIN, Costs, Gains
from compaction.jev import JevAsker, JevError, as_strategy, is_stub, options_for
from compaction.messages import Message
from compaction.policy import WINDOW
from compaction.pruning_settings import PruningSettings
from compaction.relevance import PRESERVE_MESSAGES, OfflineAsker, Valued, value
from compaction.strategies import AGGRESSIVE, BALANCED, CONSERVATIVE, ByLine

STEPS = 4
"""Prices that are tried between two presets; each halves the range in which the goal lies."""

FAR = 4
"""A session this many times its goal comes down to it by whole results, whatever its lines hold."""
FAR_TOO_LONG = 400_000
"""Tokens of a session whose lines take too long to weigh, all of them."""


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
    pruning: PruningSettings = field(default_factory=PruningSettings)


@dataclass(frozen=True, slots=True)
class Made:
    """The decisions, the strategy that made them, and what a person should know of it."""

    strategy: str
    decisions: Mapping[str, Decision]
    notes: tuple[str, ...] = ()


_Decisions = Mapping[str, Decision]
Decide = Callable[[Sequence[Message], Goal], Mapping[str, Decision]]


RELATIVE = frozenset({"jev-needed", "jev-thresholds"})
"""Strategies that judge results against each other: some are always the worst."""


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
    gains = Gains.of(messages, goal.costs)
    cleared = _cleared_first(messages, goal.save, gains)
    if cleared:
        rest = replace(goal, save=goal.save - gains.total(cleared))
        return {**cleared, **_auto(_without(messages, cleared), rest)}
    valued = value(messages)
    gentle = gains.worthwhile(CONSERVATIVE.decide(valued))
    if gains.total(gentle) >= goal.save:
        return gentle
    hard = gains.worthwhile(AGGRESSIVE.decide(valued))
    if gains.total(hard) < goal.save:
        return _just_enough(hard, _cleared(messages), goal.save, gains)
    gentler, harder = _around(valued, goal.save, (gentle, hard), gains)
    return _just_enough(gentler, harder, goal.save, gains)


def _around(
    valued: Sequence[Valued], save: int, presets: tuple[_Decisions, _Decisions], gains: Gains
) -> tuple[_Decisions, _Decisions]:
    """The decisions at two neighbouring prices of a line, of which only the higher one suffices."""
    gentler, harder = presets
    low, high = CONSERVATIVE.price, AGGRESSIVE.price
    for _ in range(STEPS):
        price = (low * high) ** 0.5
        found = gains.worthwhile(at_price(price).decide(valued))
        if gains.total(found) >= save:
            high, harder = price, found
        else:
            low, gentler = price, found
    return gentler, harder


def _just_enough(
    gentler: _Decisions, harder: _Decisions, save: int, gains: Gains
) -> Mapping[str, Decision]:
    """The gentler decisions, but for as many of the oldest calls as it takes the harder ones."""
    found = dict(gentler)
    left = save - gains.total(gentler)
    for key, each in harder.items():
        if left <= 0:
            break
        more = gains.one(each) - (gains.one(found[key]) if key in found else 0)
        if more > 0:
            found[key] = each
            left -= more
    return found


def at_price(price: float) -> ByLine:
    """The strategy between the presets: harder ones favour long lines less."""
    share = (price - BALANCED.price) / (AGGRESSIVE.price - BALANCED.price)
    step = AGGRESSIVE.length - BALANCED.length
    return ByLine(price=price, length=BALANCED.length + step * min(max(share, 0.0), 1.0))


def _cleared(messages: Sequence[Message]) -> dict[str, Decision]:
    """Beyond the worth of lines: whole results go, the oldest first."""
    return {
        call.tool_use_id: Decision(call.tool_use_id, "stub", "old, to make room")
        for call in paired_calls(messages, PRESERVE_MESSAGES)
        if not (call.pinned or call.failed or is_stub(call.text))
    }


def _cleared_first(messages: Sequence[Message], save: int, gains: Gains) -> Mapping[str, Decision]:
    """Old results that go as a whole anyway, since the goal is out of the reach of lines by far.

    What is left is a session of which lines can be chosen, and chosen in time.
    """
    left = gains.whole - save
    if gains.whole < FAR_TOO_LONG or left * FAR > gains.whole:
        return {}
    return _just_enough({}, _cleared(messages), gains.whole - left * FAR, gains)


def _without(messages: Sequence[Message], cleared: Mapping[str, Decision]) -> list[Message]:
    """The conversation without the calls that are decided about."""
    gone = {key: Decision(key, "drop_call", "") for key in cleared}
    return apply(messages, gone)


def _by_line(strategy: ByLine) -> Decide:
    return lambda messages, _: strategy(messages)


def _score(messages: Sequence[Message], goal: Goal) -> Mapping[str, Decision]:
    """Whole results by an asker's scores; without an asker, lines by the offline scorer's."""
    return _auto(messages, goal) if goal.asker is None else _jev("budget")(messages, goal)


def _prune(messages: Sequence[Message], goal: Goal) -> Mapping[str, Decision]:
    return pruning.decide(messages, goal.pruning, window=goal.window)


def _both(messages: Sequence[Message], goal: Goal) -> Mapping[str, Decision]:
    """OpenClaw's pruning first; what is left is scored if the goal is not reached by then."""
    pruned = _prune(messages, goal)
    if goal.save is None:
        return {**pruned, **_score(apply(messages, pruned), goal)}
    left = goal.save - Gains.of(messages, goal.costs).total(pruned)
    if left <= 0:
        return pruned
    return {**pruned, **_score(apply(messages, pruned), replace(goal, save=left))}


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
        "prune": _prune,
        "score": _score,
        "both": _both,
        "jev-library": _jev("library"),
        "jev-needed": _jev("needed"),
        "jev-thresholds": _jev("thresholds"),
        "jev-budget": _jev("budget"),
    }
)
"""`auto` takes lines by worth as far as its goal asks; `prune` is OpenClaw's session pruning,
`score` asks an asker about whole results, `both` does one after the other; the presets are fixed
points of `auto`, and `jev-…` are those of `compaction.jev.strategies`."""
