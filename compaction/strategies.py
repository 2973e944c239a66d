"""The strategies of this package's own: lines chosen by worth, from lossless to aggressive."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compaction.decisions import Decision
from compaction.inputs import Path, replaced
from compaction.lines import choose, elide, has_gaps
from compaction.messages import Message
from compaction.relevance import PRESERVE_MESSAGES, Valued, value

MIN_CHARS = 120
"""Shorter texts are not worth a mark."""
KEEP = 1e9
"""Worth of a line that no price removes: the first of an input."""
SHORT_LINE, USUAL_LINE = 2, 10
"""Tokens of a line with next to nothing on it, and of a line of code."""


@dataclass(frozen=True, slots=True)
class ByLine:
    """Keeps the lines that are worth `price` for each of their tokens.

    A price of nearly nothing leaves out only what is repeated or stale. `length` tells how much
    more a long line is worth than a short one: 0 = nothing, 1 = in proportion to its tokens.
    `renumber` drops the line numbers of file views except after gaps.
    """

    price: float
    length: float = 0.5
    renumber: bool = True
    preserve: int = PRESERVE_MESSAGES

    def __call__(self, messages: Sequence[Message]) -> Mapping[str, Decision]:
        """The decisions, for the calls that lose something; a `compaction.decisions.Strategy`."""
        return self.decide(value(messages, self.preserve))

    def decide(self, valued: Sequence[Valued]) -> dict[str, Decision]:
        """The decisions for passages valued before."""
        results: dict[str, _Shorter] = {}
        inputs: dict[str, dict[Path, _Shorter]] = defaultdict(dict)
        calls = {each.passage.call.tool_use_id: each.passage.call for each in valued}
        for each in valued:
            shorter = self._shortened(each)
            if shorter is None:
                continue
            if each.passage.part == "result":
                results[each.passage.call.tool_use_id] = shorter
            else:
                inputs[each.passage.call.tool_use_id][each.passage.path] = shorter
        decisions: dict[str, Decision] = {}
        for key, call in calls.items():
            result, given = results.get(key), inputs.get(key, {})
            parts = [f"input: {shorter.why}" for shorter in list(given.values())[:1]]
            why = "; ".join([*parts, *([result.why] if result else [])])
            text = result.text if result else None
            if given:
                texts = {path: shorter.text for path, shorter in given.items()}
                fewer = replaced(call.input, texts)
                decisions[key] = Decision(key, "trim_input", why, text, fewer)
            elif result:
                decisions[key] = Decision(key, "trim", why, text)
        return decisions

    def _shortened(self, each: Valued) -> "_Shorter | None":
        passage = each.passage
        worths = [
            worth * (max(cost, SHORT_LINE) / USUAL_LINE) ** self.length
            for worth, cost in zip(each.worths, each.costs, strict=True)
        ]
        text = "\n".join(passage.lines)
        if len(text) < MIN_CHARS or has_gaps(text):
            return None
        if passage.part != "result":
            worths = [KEEP, *worths[1:]]
        elif passage.call.failed:
            return None
        keep = choose(worths, each.costs, self.price)
        renumber = self.renumber and passage.call.kind == "read"
        shorter = elide(passage.lines, keep, renumber=renumber)
        if len(shorter) >= len(text):
            return None
        return _Shorter(shorter, _why(keep, passage.news))


@dataclass(frozen=True, slots=True)
class _Shorter:
    """A text without some of its lines, and why they went, in words."""

    text: str
    why: str


def _why(keep: Sequence[bool], news: Sequence[bool]) -> str:
    """How many lines went, and how many of those a later text repeats or outdates."""
    gone = [fresh for kept, fresh in zip(keep, news, strict=True) if not kept]
    if not gone:
        return "line numbers"
    stale = gone.count(False)
    return f"{len(gone)} of {len(keep)} lines" + (f", {stale} stale" if stale else "")


CONSERVATIVE = ByLine(price=0.0004, renumber=False)
BALANCED = ByLine(price=0.02)
AGGRESSIVE = ByLine(price=0.062, length=0.8)
