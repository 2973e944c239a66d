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
        results: dict[str, str] = {}
        inputs: dict[str, dict[Path, str]] = defaultdict(dict)
        calls = {each.passage.call.tool_use_id: each.passage.call for each in valued}
        for each in valued:
            text = self._shortened(each)
            if text is None:
                continue
            if each.passage.part == "result":
                results[each.passage.call.tool_use_id] = text
            else:
                inputs[each.passage.call.tool_use_id][each.passage.path] = text
        decisions: dict[str, Decision] = {}
        for key, call in calls.items():
            if key in inputs:
                shorter = replaced(call.input, inputs[key])
                decisions[key] = Decision(key, "trim_input", "input", results.get(key), shorter)
            elif key in results:
                decisions[key] = Decision(key, "trim", "lines", results[key])
        return decisions

    def _shortened(self, each: Valued) -> str | None:
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
        return shorter if len(shorter) < len(text) else None


CONSERVATIVE = ByLine(price=0.0004, renumber=False)
BALANCED = ByLine(price=0.02)
AGGRESSIVE = ByLine(price=0.062, length=0.8)
