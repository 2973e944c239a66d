"""What may be set, with the defaults of fast-jev-compaction, and what goes beyond them."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

OnBatchFailure = Literal["throw", "keep"]
Wording = Literal["verbatim", "needed"]
Overflow = Literal["throw", "leave_out"]
Guard = Literal["off", "floor", "throw"]

LONGEST_TIMEOUT_MS = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Beyond:
    """Where this package departs from fast-jev-compaction; the defaults depart nowhere.

    The two scores of a call live on different scales, so that one threshold for both keeps nothing:
    hence two thresholds, or no threshold at all but a budget. The other switches answer what users
    of the library reported; `strategies` names combinations of them.
    """

    call_threshold: float | None = None
    """Threshold of the call question; None = `keep_threshold`."""
    result_threshold: float | None = None
    """Threshold of the result question; None = `keep_threshold`."""
    target_reduction: float | None = None
    """A share of all characters in [0, 1]: instead of thresholds, results go by score per token,
    lowest first, until it is reached, and whole calls after them only where that is not enough."""
    wording: Wording = "verbatim"
    """`needed` asks only whether the result is still needed, not whether a re-run would do."""
    skip_stubs: bool = False
    """Results that are stubs already are neither asked about nor touched again."""
    overflow: Overflow = "throw"
    """`leave_out`: a history too large for every stage loses its oldest calls from the view, and
    what the view does not show is not asked about, and kept."""
    stub_narrated: bool = False
    """A call whose turn has words of the assistant is stubbed and not removed: words without their
    evidence teach the model to narrate work instead of doing it."""
    keep_errors: bool = False
    """Results that are errors are neither asked about nor touched: they are short, and they are
    what keeps the model from trying the same again."""
    guard: Guard = "off"
    """Against thresholds that the scores never reach: with `floor` the best `least_kept` of the
    asked calls stay whole in any case, `throw` gives up where none would."""
    least_kept: float = 0.25
    """The share of `floor`; about a fifth of all results is needed again."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a conversation is judged and cut; values that are no numbers become the defaults."""

    goal: str = ""
    """What the work is about; blank = the last three prompts."""
    instructions: str = ""
    """What the user said with `/compact`; appended to the goal."""
    keep_threshold: float = 0.5
    preserve_recent_messages: int = 6
    max_state_tokens: int = 25_000
    max_request_tokens: int = 30_000
    truncate_head_chars: int = 300
    max_concurrent_requests: int = 4
    retries: int = 2
    retry_delay_ms: float = 500
    """Wait before the first retry; each later one waits three times as long."""
    on_batch_failure: OnBatchFailure = "throw"
    """`keep`: the calls of a batch that fails for good, but not for our own fault, stay whole."""
    mask_credentials: bool = True
    """Whether what looks like a credential is masked in what is sent; the output keeps it."""
    beyond: Beyond = field(default_factory=Beyond)

    def __post_init__(self) -> None:
        """Normalises in place of the caller; raises `ValueError` for what has no near value."""
        _set(self, "keep_threshold", _number(self.keep_threshold, 0.5))
        _set(self, "preserve_recent_messages", _whole(self.preserve_recent_messages, 6, 0))
        _set(self, "max_state_tokens", _whole(self.max_state_tokens, 25_000, 1))
        _set(self, "max_request_tokens", _whole(self.max_request_tokens, 30_000, 1))
        _set(self, "truncate_head_chars", _whole(self.truncate_head_chars, 300, 0))
        _set(self, "max_concurrent_requests", _whole(self.max_concurrent_requests, 4, 1))
        _set(self, "retries", _whole(self.retries, 2, 0))
        _set(self, "retry_delay_ms", max(0.0, _number(self.retry_delay_ms, 500)))
        for name, share in (
            ("keep_threshold", self.keep_threshold),
            ("call_threshold", self.beyond.call_threshold),
            ("result_threshold", self.beyond.result_threshold),
            ("target_reduction", self.beyond.target_reduction),
            ("least_kept", self.beyond.least_kept),
        ):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name} must be within [0, 1], not {share}")
        if self.on_batch_failure not in ("throw", "keep"):
            raise ValueError(f"on_batch_failure is throw or keep, not {self.on_batch_failure!r}")

    @property
    def call_threshold(self) -> float:
        """From which score on a call stays."""
        own = self.beyond.call_threshold
        return self.keep_threshold if own is None else own

    @property
    def result_threshold(self) -> float:
        """From which score on a result stays whole."""
        own = self.beyond.result_threshold
        return self.keep_threshold if own is None else own


def _set(options: Options, name: str, value: float) -> None:
    object.__setattr__(options, name, value)


def _number(value: Any, default: float) -> float:
    usual = isinstance(value, int | float) and not isinstance(value, bool)
    return value if usual and math.isfinite(value) else default


def _whole(value: Any, default: int, least: int) -> int:
    return max(least, math.floor(_number(value, default)))
