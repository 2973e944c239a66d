"""Carries decisions out: on a list of messages here, on a transcript through the same plan."""

from collections.abc import Iterable, Sequence

from compaction.decisions import Decision, apply
from compaction.jev.calls import ToolCall
from compaction.jev.decide import CallDecision
from compaction.jev.options import Options
from compaction.jev.stubs import truncate_result
from compaction.messages import Message


def plan(
    messages: Sequence[Message],
    calls: Sequence[ToolCall],
    decisions: Iterable[CallDecision],
    options: Options | None = None,
) -> dict[str, Decision]:
    """The decisions by `tool_use_id`, with the new texts; those about pinned calls are ignored."""
    options = options or Options()
    by_id = {call.id: call for call in calls if not call.pinned}
    texts = {r.tool_use_id: r.text for message in messages for r in message.tool_results}
    planned: dict[str, Decision] = {}
    for decision in decisions:
        call = by_id.get(decision.id)
        if call is None or decision.action == "keep":
            continue
        use_id = call.tool_use_id
        if decision.action == "drop_call":
            planned[use_id] = Decision(use_id, "drop_call", decision.reason)
            continue
        # A call that nobody asked to see, kept for the words about it, needs no head.
        head = 0 if decision.reason == "narrated" else options.truncate_head_chars
        old = texts[use_id]
        new = truncate_result(old, tool=call.tool, head_chars=head, is_error=call.is_error)
        if new != old:
            planned[use_id] = Decision(use_id, "drop_result", decision.reason, text=new)
    return planned


def apply_decisions(
    messages: Sequence[Message],
    calls: Sequence[ToolCall],
    decisions: Iterable[CallDecision],
    options: Options | None = None,
) -> list[Message]:
    """The messages after the decisions: untouched ones are the same objects, emptied ones gone."""
    return apply(messages, plan(messages, calls, decisions, options))
