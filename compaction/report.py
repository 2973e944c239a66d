"""What a compaction did to each call, for a person to look through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from compaction.decisions import Action, Decision, apply
from compaction.estimate import json_tokens, tokens
from compaction.messages import Message, ToolResult, ToolUse

_TITLES = (
    "file_path",
    "path",
    "notebook_path",
    "command",
    "pattern",
    "url",
    "query",
    "description",
)
_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the session and what became of it; sizes in estimated tokens, input included."""

    tool_use_id: str
    tool: str
    title: str
    """What it was about: a file, a command, a pattern."""
    message: int
    """The index of the message that made it."""
    action: Action
    reason: str
    before_tokens: int
    after_tokens: int
    file: str | None = None
    """Where what was removed can be read."""
    left: str | None = field(default=None, repr=False)
    """What the result shows now; None = what it showed before."""
    input: Mapping[str, Any] | None = field(default=None, repr=False)
    """The input as it is now; None = as it was before."""

    def to_json(self) -> dict[str, Any]:
        """All of it but the texts."""
        data = {name: getattr(self, name) for name in self.__slots__}
        del data["left"], data["input"]
        return data


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compaction did, or, if `path` is None, what it would do."""

    source: Path
    path: Path | None
    sid: str | None
    """The new session."""
    strategy: str
    before_tokens: int
    after_tokens: int
    calls: tuple[Call, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    """What else a person should know, in words."""

    @property
    def kept(self) -> int:
        """Calls that nothing was done to."""
        return sum(call.action == "keep" for call in self.calls)

    @property
    def trimmed(self) -> int:
        """Calls of which a part is left."""
        return sum(call.action in ("trim", "trim_input") for call in self.calls)

    @property
    def removed(self) -> int:
        """Calls whose result, or all of which, is gone from the context."""
        return len(self.calls) - self.kept - self.trimmed

    @property
    def reduction(self) -> float:
        """The share of the tokens that is gone."""
        return 1 - self.after_tokens / self.before_tokens if self.before_tokens else 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        data["source"], data["path"] = str(self.source), self.path and str(self.path)
        data |= {"kept": self.kept, "trimmed": self.trimmed, "removed": self.removed}
        data |= {"reduction": round(self.reduction, 4)}
        return {**data, "calls": [call.to_json() for call in self.calls]}


def describe(
    messages: Sequence[Message], decisions: Mapping[str, Decision], files: Mapping[str, str]
) -> tuple[Call, ...]:
    """Every call with its result, in order; `files` names the archived ones by the call's id."""
    applied = apply(messages, decisions)
    before, after = _sizes(messages), _sizes(applied)
    results = {res.tool_use_id: res.text for m in applied for res in m.tool_results}
    inputs = {use.tool_use_id: use.input for m in applied for use in m.tool_uses}
    calls: list[Call] = []
    for index, message in enumerate(messages):
        for use in message.tool_uses:
            decision = decisions.get(use.tool_use_id)
            calls.append(
                Call(
                    tool_use_id=use.tool_use_id,
                    tool=use.tool,
                    title=title(use.input),
                    message=index,
                    action=decision.action if decision else "keep",
                    reason=decision.reason if decision else "",
                    before_tokens=before.get(use.tool_use_id, 0),
                    after_tokens=after.get(use.tool_use_id, 0),
                    file=files.get(use.tool_use_id),
                    left=results.get(use.tool_use_id, "") if decision else None,
                    input=inputs.get(use.tool_use_id) if decision else None,
                )
            )
    return tuple(calls)


def title(given: Mapping[str, Any]) -> str:
    """The one value of a call's input that says most, on one line."""
    named = [given[key] for key in _TITLES if isinstance(given.get(key), str)]
    found = next(iter([*named, *(v for v in given.values() if isinstance(v, str))]), "")
    line = " ".join(str(found).split())
    if len(line) <= _LONGEST_TITLE:
        return line
    # The end of a path says more than its beginning.
    is_path = line.startswith(("/", "~", ".")) and " " not in line
    return "…" + line[1 - _LONGEST_TITLE :] if is_path else line[: _LONGEST_TITLE - 1] + "…"


def _sizes(messages: Sequence[Message]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for message in messages:
        for part in (*message.tool_uses, *message.tool_results):
            sizes[part.tool_use_id] = sizes.get(part.tool_use_id, 0) + _size(part)
    return sizes


def _size(part: ToolUse | ToolResult) -> int:
    if isinstance(part, ToolResult):
        return tokens(part.text)
    return tokens(part.tool) + json_tokens(dict(part.input))
