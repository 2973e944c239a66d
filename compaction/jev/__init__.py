"""Compaction by two questions about each past call, after fast-jev-compaction.

Words of the user and the assistant stay, byte for byte. Every call that is neither in the first
message nor in the newest ones is judged by an asker: is it still worth knowing of, and must its
result stay whole? `compact` takes any asker, `compact_messages` asks Jev over HTTP.
"""

from compaction.jev.account import decision_log, summary
from compaction.jev.apply import apply_decisions, plan
from compaction.jev.calls import ToolCall, collect_tool_calls
from compaction.jev.client import JevClient
from compaction.jev.compact import (
    CompactResult,
    Stats,
    compact,
    compact_messages,
    message_chars,
    reduction_ratio,
)
from compaction.jev.decide import CallAnswer, CallDecision, decide_call
from compaction.jev.errors import (
    AnswerError,
    HistoryError,
    JevError,
    KeptNothingError,
    SetupError,
    StatusError,
    TooLargeError,
    TransportError,
)
from compaction.jev.options import Beyond, Options
from compaction.jev.questions import batch_calls
from compaction.jev.scored import ScoredAsker
from compaction.jev.state import FittedState, fit_state
from compaction.jev.strategies import STRATEGIES, as_strategy, options_for
from compaction.jev.stubs import is_stub, truncate_result
from compaction.jev.wire import (
    Answers,
    JevAsker,
    JevRequest,
    Questions,
    State,
    build_jev_request,
    parse_jev_response,
)

__all__ = [
    "STRATEGIES",
    "AnswerError",
    "Answers",
    "Beyond",
    "CallAnswer",
    "CallDecision",
    "CompactResult",
    "FittedState",
    "HistoryError",
    "JevAsker",
    "JevClient",
    "JevError",
    "JevRequest",
    "KeptNothingError",
    "Options",
    "Questions",
    "ScoredAsker",
    "SetupError",
    "State",
    "Stats",
    "StatusError",
    "TooLargeError",
    "ToolCall",
    "TransportError",
    "apply_decisions",
    "as_strategy",
    "batch_calls",
    "build_jev_request",
    "collect_tool_calls",
    "compact",
    "compact_messages",
    "decide_call",
    "decision_log",
    "fit_state",
    "is_stub",
    "message_chars",
    "options_for",
    "parse_jev_response",
    "plan",
    "reduction_ratio",
    "summary",
    "truncate_result",
]
