"""What decisions free, less what they put in place, in estimated tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from compaction.decisions import CLEARED, Decision, new_input, new_text
from compaction.estimate import IMAGE_TOKENS, json_tokens, tokens
from compaction.messages import Message, ToolResult, ToolUse


@dataclass(frozen=True, slots=True)
class Costs:
    """What is added to a shortened text, and what a whole result is replaced by."""

    mark: int
    stub: int


PLAIN = Costs(mark=0, stub=tokens(CLEARED))
"""Where texts stay as the strategy wrote them."""


@dataclass(frozen=True, slots=True)
class Gains:
    """The calls of a conversation by their ids, with what their parts cost now."""

    uses: Mapping[str, tuple[ToolUse, int]]
    results: Mapping[str, tuple[ToolResult, int]]
    costs: Costs

    @classmethod
    def of(cls, messages: Sequence[Message], costs: Costs) -> Self:
        """The gains in a conversation; every text is counted once."""
        return cls(
            uses={
                use.tool_use_id: (use, json_tokens(dict(use.input)))
                for message in messages
                for use in message.tool_uses
            },
            results={
                result.tool_use_id: (result, tokens(result.text) + result.images * IMAGE_TOKENS)
                for message in messages
                for result in message.tool_results
            },
            costs=costs,
        )

    @property
    def whole(self) -> int:
        """The tokens of all calls and their results."""
        parts = (*self.uses.values(), *self.results.values())
        return sum(cost for _, cost in parts)

    def one(self, decision: Decision) -> int:
        """The tokens that one decision frees; below 0 if it costs more than it frees."""
        if decision.tool_use_id not in self.uses or decision.tool_use_id not in self.results:
            return 0
        use, asked = self.uses[decision.tool_use_id]
        _, answered = self.results[decision.tool_use_id]
        if decision.action == "keep":
            return 0
        if decision.action == "drop_call":
            return asked + answered
        if decision.action in ("stub", "drop_result"):
            return answered - self.costs.stub
        text, given = new_text(decision), new_input(decision, use.input)
        freed = 0 if text is None else answered - tokens(text)
        if given is not use.input:
            freed += asked - json_tokens(dict(given))
        return freed - self.costs.mark

    def total(self, decisions: Mapping[str, Decision]) -> int:
        """The tokens that all of these free."""
        return sum(map(self.one, decisions.values()))

    def worthwhile(self, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
        """Those that free more than they cost."""
        return {key: each for key, each in decisions.items() if self.one(each) > 0}
