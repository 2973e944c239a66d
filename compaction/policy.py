"""When a session is compacted before it is resumed, how far, and what comes next if that fails.

Compaction throws the prompt cache away. It pays where the cache has expired anyway, so that the
next request is charged in full whatever is done, and where the context is long enough to matter.
"""

from dataclasses import dataclass
from typing import Literal

from compaction.transcript import Transcript, Usage

WINDOW = 200_000
"""Tokens of a model's context window where nothing better is known."""

TTL, LONG_TTL = 300.0, 3600.0
"""Seconds that a prompt cache lives: by default, and where the session asks for an hour."""

Step = Literal["compaction", "summary", "seed"]

FALLBACKS: tuple[Step, ...] = ("compaction", "summary", "seed")
"""What is tried, in this order, when a session is too long to go on: this package; the CLI's own
`/compact`; a fresh session that is told the recent turns (`compaction.seed`)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """From which share of the window on a session is compacted, and to which share."""

    soft_trim_ratio: float = 0.3
    target_ratio: float = 0.2
    min_saving: float = 0.1
    """The share of its tokens that a session must lose for the compaction to be worth it."""

    def goal(self, window: int) -> int:
        """The tokens that a compacted session should have at most."""
        return int(window * self.target_ratio)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a session is compacted now, and why (in words for a person)."""

    due: bool
    reason: str
    tokens: int
    """In the context as it is."""
    window: int
    goal: int
    """In the context as it should be."""


def cache_expires(usage: Usage | None) -> float:
    """When a session's prompt cache expires, in seconds of the epoch; 0 = nothing is known."""
    if usage is None or usage.at is None:
        return 0.0
    return usage.at + (LONG_TTL if usage.one_hour else TTL)


def judge(
    transcript: Transcript, policy: Policy, *, now: float, window: int | None = None
) -> Verdict:
    """Whether a session that no process serves is to be compacted before it is resumed.

    `now` is in seconds of the epoch, `window` in tokens. A person's own wish needs no verdict.
    """
    window = window or WINDOW
    tokens, goal = transcript.tokens, policy.goal(window)

    def verdict(due: bool, reason: str) -> Verdict:
        return Verdict(due, reason, tokens, window, goal)

    share = tokens / window
    if share < policy.soft_trim_ratio:
        return verdict(
            False,
            f"the context is {share:.0%} full, compaction begins at {policy.soft_trim_ratio:.0%}",
        )
    left = cache_expires(transcript.usage) - now
    if left > 0:
        return verdict(False, f"the prompt cache is warm for another {left:.0f} s")
    return verdict(True, f"the context is {share:.0%} full and its prompt cache has expired")
