"""Where the whole of what a compaction removes stays readable, and the stubs that say so.

The file of a removed output lies under the new session's own folder, where the CLI itself keeps
outputs that are too large for the conversation, and the stub has the shape of the CLI's own, so
that Claude reads it back with the tools that it has.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from compaction.credentials import holds_credential
from compaction.decisions import Decision, new_input, new_text
from compaction.inputs import leaves, replaced
from compaction.jev.stubs import is_stub
from compaction.messages import Message, ToolResult, ToolUse

FOLDER = "tool-results"
"""The folder's name within the session's own."""

KEPT = "\n[whole output: "
"""What a shortened output ends with, before the path of the whole one."""

Format = Literal["persisted", "plain"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Whether what is removed is kept in files, and how the session tells of it.

    `persisted` writes the CLI's own kind of stub and names the file; `plain` leaves the texts of
    the strategy as they are, byte for byte as OpenClaw or fast-jev-compaction write them.
    """

    keep: bool = True
    format: Format = "persisted"
    preview_chars: int = 200
    """How much of a removed output its stub still shows."""
    retention_days: float = 0.0
    """Days after which the files of a session that is not used any more go; 0 = never."""


@dataclass(frozen=True, slots=True)
class Filed:
    """Decisions whose stubs name the files, and what is to be in those files."""

    decisions: Mapping[str, Decision]
    paths: Mapping[str, str]
    """Where the whole of each call's part is to be read, by the call's id."""
    contents: Mapping[str, str]
    """What each file holds, by its name; not written yet."""
    names: Mapping[str, str]
    """The name of each call's file, by the call's id."""

    def contents_of(self, held: Mapping[str, Decision]) -> dict[str, str]:
        """The files that are needed for the decisions that held."""
        wanted = {self.names[key] for key in held if key in self.names}
        return {name: text for name, text in self.contents.items() if name in wanted}

    def files_of(self, held: Mapping[str, Decision]) -> dict[str, str]:
        """The names of those files by the ids of their calls."""
        return {key: self.names[key] for key in held if key in self.names}


def file_away(
    messages: Sequence[Message],
    decisions: Mapping[str, Decision],
    folder: Path,
    settings: Settings,
) -> Filed:
    """Let each decision say where the whole of what it removes will be. Touches no disk.

    Outputs that were cut before stay as they are: what is missing is not here to be kept. So do
    those that are no longer than what would stand for them.
    """
    results = {res.tool_use_id: res for m in messages for res in m.tool_results}
    uses = [use for message in messages for use in message.tool_uses]
    found: dict[str, Decision] = {}
    names: dict[str, str] = {}
    contents: dict[str, str] = {}
    for number, use in enumerate(uses, 1):
        decision, result = decisions.get(use.tool_use_id), results.get(use.tool_use_id)
        if decision is None or decision.action == "keep" or result is None:
            continue
        if is_stub(result.text) or KEPT in result.text[-1000:]:
            continue
        filing = _Filing(use, result, decision, folder, number, settings)
        after = filing.decision
        if after is None:
            continue
        found[use.tool_use_id] = after
        if filing.copied:
            names[use.tool_use_id] = filing.name
            contents[filing.name] = filing.content
    paths = {key: str(folder / name) for key, name in names.items()}
    return Filed(found, paths, contents, names)


class _Filing:
    """One call whose result or input is removed or shortened."""

    def __init__(
        self,
        use: ToolUse,
        result: ToolResult,
        decision: Decision,
        folder: Path,
        number: int,
        settings: Settings,
    ) -> None:
        self._use, self._result, self._wanted = use, result, decision
        self._settings = settings
        self._input = decision.action == "trim_input"
        self.name = f"{number:04d}.{'json' if self._input or self._dropped else 'txt'}"
        self._path = folder / self.name
        self.copied = settings.keep and not holds_credential(use.input, result.text)

    @property
    def _dropped(self) -> bool:
        return self._wanted.action == "drop_call"

    @property
    def content(self) -> str:
        """What the file holds: the output as it was, or the whole call where its input is cut."""
        if not (self._input or self._dropped):
            return self._result.text
        call = {"tool": self._use.tool, "input": self._use.input, "output": self._result.text}
        return json.dumps(call, ensure_ascii=False, indent=1, default=str) + "\n"

    @property
    def decision(self) -> Decision | None:
        """The decision with a stub that tells of the file; None where it would save nothing."""
        if self._settings.format == "plain" or self._dropped:
            return self._wanted
        text = new_text(self._wanted)
        if self._input:
            return self._shorter_input(text)
        if text is None:
            return None
        if self._wanted.action == "trim":
            after = f"{text}{KEPT}{self._path}]" if self.copied else text
        else:
            after = self._stub()
        if len(after) >= len(self._result.text) and not self._result.images:
            return None
        return replace(self._wanted, text=after)

    def _shorter_input(self, text: str | None) -> Decision | None:
        """The mark goes behind the first string that is cut, where it is still the shorter one."""
        if not self.copied:
            return self._wanted
        before = dict(leaves(self._use.input))
        after = dict(leaves(new_input(self._wanted, self._use.input)))
        mark = f"\n[whole call: {self._path}]"
        for place, old in before.items():
            new = after.get(place, old)
            if new != old and len(new) + len(mark) < len(old):
                marked: Any = replaced(dict(self._use.input), {**after, place: new + mark})
                return replace(self._wanted, text=text, input=marked)
        if text is not None:
            return replace(self._wanted, action="trim", text=f"{text}{KEPT}{self._path}]")
        return None

    def _stub(self) -> str:
        size = _size(len(self._result.text.encode()))
        if not self.copied:
            why = (
                "not saved, since it looks like it holds credentials"
                if self._settings.keep
                else "not saved"
            )
            return (
                f"<persisted-output>\nOld output cleared ({size}), {why}. "
                "Run the tool again if you need it.\n</persisted-output>"
            )
        shown = self._result.text[: self._settings.preview_chars]
        preview = (
            f"\n\nPreview (first {_size(len(shown.encode()))}):\n{shown}\n..." if shown else ""
        )
        return (
            f"<persisted-output>\nOld output cleared ({size}). Full output saved to: {self._path}"
            f"{preview}\n</persisted-output>"
        )


def _size(count: float) -> str:
    """Bytes as the CLI writes them: 512B, 106.3KB, 2MB."""
    units = ("B", "KB", "MB", "GB")
    power = 0
    while count >= 1024 and power < len(units) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.1f}".removesuffix(".0") + units[power]
