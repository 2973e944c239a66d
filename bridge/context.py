"""The words of /context and /compact, and of the footer after a compaction."""

from bridge import ledger
from bridge.compactor import View
from bridge.render.footer import duration, tokens
from bridge.render.inline import code, escaped
from bridge.render.measure import clip
from compaction.report import Call, Outcome
from state import Record

BAR = 20
LARGEST = 5
_WORDS = 60


def brief(outcome: Outcome) -> str:
    """One line: sizes, counts, time."""
    counts = f"{outcome.kept} kept, {outcome.trimmed} trimmed, {outcome.removed} removed"
    sizes = f"{tokens(outcome.before_tokens)} → {tokens(outcome.after_tokens)} tokens"
    return f"🗜️ {sizes} ({counts}) in {duration(outcome.seconds)}"


def summary(outcome: Outcome) -> str:
    """The answer to /compact."""
    dry = outcome.path is None
    head = "Would make the session smaller" if dry else "The session is smaller now"
    lines = [
        f"🗜️ **{head}**: {tokens(outcome.before_tokens)} → {tokens(outcome.after_tokens)} tokens "
        f"(-{outcome.reduction:.0%}) by `{outcome.strategy}` in {duration(outcome.seconds)}",
        f"Calls of tools: {outcome.kept} kept, {outcome.trimmed} trimmed, "
        f"{outcome.removed} removed.",
    ]
    saved = sorted(outcome.calls, key=_saved, reverse=True)[:LARGEST]
    lines += [_line(call) for call in saved if _saved(call) > 0]
    lines += [escaped(clip(note, 300)) for note in outcome.notes]
    if dry:
        lines.append("Nothing was changed: this was a dry run.")
    else:
        lines.append("Claude can still read what was removed. `/compact undo:True` goes back.")
    return "\n".join(lines)


def undone(sid: str, since: int) -> str:
    """The answer to /compact undo:True."""
    words = f"↩️ The thread is back at session `{sid}`, as it was before the compaction."
    if since:
        prompts = "prompt" if since == 1 else "prompts"
        words += f" It does not know the {since} {prompts} since then."
    return words + " It is not made smaller again by itself."


def context_text(record: Record, view: View | None, *, now: float, automatic: bool) -> str:
    """The answer to /context; without a view there is no transcript yet."""
    if view is None:
        lines = ["**Context** empty: there is no session yet"]
    else:
        verdict = view.verdict
        share = verdict.tokens / verdict.window
        full = min(round(share * BAR), BAR)
        lines = [
            f"**Context** `{'█' * full}{'░' * (BAR - full)}` {tokens(verdict.tokens)} of "
            f"{tokens(verdict.window)} ({share:.0%})",
            f"**Prompt cache** {_cache(view.warm_until, now)}",
            f"**Compaction** {_due(view, record, automatic)}",
        ]
    steps = {step.sid: step for step in view.steps} if view else {}
    if record.sid:
        lines.append(f"**Session** `{record.sid}`")
    for past in reversed(record.lineage[-10:]):
        step = steps.get(past.sid)
        sizes = f" · {tokens(step.before)} → {tokens(step.after)} tokens" if step else ""
        lines.append(f"- before: `{past.sid}`, until <t:{past.at:.0f}:R> ({past.reason}){sizes}")
    return "\n".join(lines)


def _cache(until: float, now: float) -> str:
    if not until:
        return "not known"
    if until <= now:
        return f"expired <t:{until:.0f}:R>"
    return f"expires <t:{until:.0f}:R>"


def _due(view: View, record: Record, automatic: bool) -> str:
    if not automatic:
        return "only by `/compact` (BRIDGE_COMPACTION is off)"
    if ledger.went_back(record):
        return "only by `/compact`: the last one was undone"
    when = "before the next cold start" if view.verdict.due else "not due"
    return f"{when}: {view.verdict.reason}"


def _saved(call: Call) -> int:
    return call.before_tokens - call.after_tokens


def _line(call: Call) -> str:
    what = code(clip(f"{call.tool} {call.title}".strip(), _WORDS))
    sizes = f"{tokens(call.before_tokens)} → {tokens(call.after_tokens)}"
    return f"- {what} {sizes} · {escaped(clip(call.reason, _WORDS))}"
