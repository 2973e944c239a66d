"""What one check found, and how a person reads it."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Finding", "render"]

_MARKS = {True: "  ok", None: "warn", False: "FAIL"}  # ASCII: a service's log may be no terminal


@dataclass(frozen=True)
class Finding:
    """One check: `ok` is None for a warning, `todo` holds the steps that mend it."""

    name: str
    ok: bool | None
    detail: str
    todo: tuple[str, ...] = ()


def render(findings: Sequence[Finding]) -> str:
    """One line a check, each step to take indented below it, and the sum at the end."""
    width = max((len(finding.name) for finding in findings), default=0)
    lines: list[str] = []
    for finding in findings:
        first, *rest = finding.detail.splitlines() or [""]
        lines.append(f"{_MARKS[finding.ok]}  {finding.name:<{width}}  {first}".rstrip())
        lines += [f"{'':{width + 8}}{line}" for line in rest]
        lines += [f"      -> {step}" for step in finding.todo]
    return "\n".join([*lines, "", _sum(findings)])


def _sum(findings: Sequence[Finding]) -> str:
    faults = sum(finding.ok is False for finding in findings)
    warnings = sum(finding.ok is None for finding in findings)
    if not faults and not warnings:
        return "Everything is in order."
    counts = [
        f"{count} {noun}{'s' if count > 1 else ''}"
        for count, noun in ((faults, "fault"), (warnings, "warning"))
        if count
    ]
    return f"{' and '.join(counts)}."
