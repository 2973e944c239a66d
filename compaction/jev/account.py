"""A compaction in words: one line for people, and a log of every decision."""

from collections.abc import Iterable, Iterator

from compaction.jev.compact import CompactResult, reduction_ratio
from compaction.jev.decide import CallDecision

LOG_LINE_CHARS = 4096


def summary(result: CompactResult) -> str:
    """What was kept and removed, and what it took, in one line."""
    stats = result.stats
    counts = (
        f"{stats.kept} calls kept, {stats.results_dropped} shortened, {stats.calls_dropped} removed"
    )
    asked = f"{stats.requests} request{'' if stats.requests == 1 else 's'}"
    state = f", state {stats.state_tokens} tokens ({stats.state_stage})" if stats.requests else ""
    return (
        f"kept {stats.messages_after}/{stats.messages_before} messages, "
        f"-{reduction_ratio(result):.0%} ({counts}; {asked}{state})"
    )


def decision_log(decisions: Iterable[CallDecision]) -> list[str]:
    """Every decision with its scores, in lines below 4,096 characters, numbered if several."""
    lines = list(_packed(map(_entry, decisions), LOG_LINE_CHARS - len("(1000/1000) ")))
    if len(lines) < 2:
        return lines
    return [f"({number}/{len(lines)}) {line}" for number, line in enumerate(lines, 1)]


def _packed(words: Iterable[str], limit: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) >= limit:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    if line:
        yield line


def _entry(decision: CallDecision) -> str:
    scores = f"call={decision.keep_call:.2f}/result={decision.keep_result:.2f}"
    return f"{decision.id}:{decision.tool}:{decision.action}/{scores}"
