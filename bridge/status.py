"""The words of /status and /cleanup."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.cleanup import CleanupReport, Orphan
from bridge.proc import Identity, age, descendants, rss
from bridge.render import MESSAGE_LIMIT
from bridge.render.footer import duration, tokens
from bridge.render.inline import code, escaped
from bridge.render.measure import clip, clip_start, units
from bridge.turn import ActiveTurn
from state import Process, Record

_LONGEST_PATH = 300
"""Columns of a line of /status; a path may be longer than a message."""


@dataclass(frozen=True)
class Tree:
    """A process and its descendants: how many, how old (seconds), how large (bytes)."""

    count: int
    age: float
    rss: int


def measure(info: Process) -> Tree | None:
    """Look at a session's process; None if it is gone. Blocks while it reads /proc."""
    shim = Identity(info.pid, info.started)
    family = descendants(shim.pid)
    if not family:
        return None
    return Tree(len(family), age(shim), rss(shim.pid) + sum(rss(who.pid) for who in family))


def status_text(
    record: Record,
    active: ActiveTurn | None,
    tree: Tree | None,
    *,
    now: float,
    chosen: str = "",
) -> str:
    """All that there is to know about a thread, a line each; `chosen` is what holds for it."""
    usage = record.usage
    share = f" ({usage.context_tokens / usage.context_window:.0%})" if usage.context_window else ""
    window = f" of {tokens(usage.context_window)}" if usage.context_window else ""
    fork = " · forks at the next message" if record.pending_fork else ""
    model = usage.model or record.settings.model or "not known yet"
    if record.settings.model and record.settings.model != model:
        model += f" (chosen: {record.settings.model})"
    branch = f" · branch {code(record.worktree.branch)}" if record.worktree else ""
    mode = record.settings.permission_mode
    lines = [
        f"**Session** `{record.sid or 'none yet'}`{fork}",
        f"**Folder** {code(clip_start(record.cwd, _LONGEST_PATH))}{branch}",
        f"**Model** {escaped(clip(model, _LONGEST_PATH))}",
        f"**Context** {tokens(usage.context_tokens)}{window}{share}",
        *([f"**Permissions** mode {code(mode)}"] if mode else []),
        *([f"**Chosen** {chosen}"] if chosen else []),
        f"**Used** {usage.turns} turns · ${usage.cost_usd:.2f}",
    ]
    if active is not None:
        lines.append(f"**Now** a turn runs for {duration(now - active.started)}")
    elif record.turn is None:
        lines.append("**Now** idle")
    lines.append(f"**Queue** {len(record.queue)} waiting")
    if tree is None:
        lines.append("**Process** none; the next message starts one")
    else:
        lines.append(
            f"**Process** pid {record.process.pid if record.process else '?'} · "
            f"{duration(tree.age)} old · {_megabytes(tree.rss)} in {tree.count + 1} processes"
        )
    if record.lineage:
        lines.append(f"**Before** {len(record.lineage)} earlier sessions, kept on disk")
    return "\n".join(lines)


def cleanup_text(orphans: Sequence[Orphan], report: CleanupReport | None) -> str:
    """What was found, and what was done about it; as much as one message holds."""
    if not orphans:
        return "🧹 Nothing to clean up: every process of this bot belongs to a thread."
    if report is None:
        head = f"🧹 {len(orphans)} processes have no owner (nothing was ended):"
    else:
        head = f"🧹 {len(report.ended)} processes ended, {_megabytes(report.freed_bytes)} freed."
        if report.failed:
            head += f" {len(report.failed)} could not be ended."
    lines = [head]
    for at, orphan in enumerate(orphans):
        line = (
            f"`{orphan.pid}` {duration(orphan.age)} · {_megabytes(orphan.rss)} · "
            f"{code(orphan.command)} · {orphan.why}"
        )
        if units("\n".join([*lines, line])) > MESSAGE_LIMIT - 100:
            lines.append(f"… and {len(orphans) - at} more")
            break
        lines.append(line)
    return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
