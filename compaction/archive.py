"""Where the whole of what a compaction removes stays readable, and the stubs that say so.

The file of a removed output lies under the new session's own folder, where the CLI itself keeps
outputs that are too large for the conversation, and the stub has the shape of the CLI's own, so
that Claude reads it back with the tools that it has.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from compaction.credentials import holds_credential
from compaction.decisions import Action, Decision, new_input, new_text
from compaction.estimate import tokens
from compaction.gains import PLAIN, Costs
from compaction.inputs import leaves, replaced
from compaction.jev.stubs import is_stub
from compaction.messages import Message, ToolResult, ToolUse

FOLDER = "tool-results"
"""The folder's name within the session's own."""

KEPT = "\n[whole output: "
"""What a shortened output ends with, before the path of the whole one."""

_MARKED = re.compile(r"\n\[whole output(?:: (?P<path>[^\n]+)| not saved[^\n\]]*)\]\Z")
LONGEST_MARK = 5000
"""Characters: the longest path that a system takes, and some."""

CREDENTIALS = "not saved, since it looks like it holds credentials"
NOT_KEPT = "not saved"
CHARS_A_TOKEN = 3
"""Of a preview; few rather than many, so that a goal is reached."""

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


def costs(folder: Path, settings: Settings) -> Costs:
    """What the archive's marks and stubs cost in a session, in estimated tokens."""
    if settings.format == "plain":
        return PLAIN
    path = folder / "0000.txt"
    if not settings.keep:
        return Costs(mark=0, stub=tokens(_stub(0, "", None, NOT_KEPT)))
    shown = settings.preview_chars // CHARS_A_TOKEN
    return Costs(mark=tokens(_mark(path)), stub=tokens(_stub(0, "-", path, "")) + shown)


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

    Of outputs that were cut before, what is missing is not here to be kept: they stay as they are,
    or become a stub that names the file they name already. Those that are no longer than what would
    stand for them stay, too.
    """
    results = {res.tool_use_id: res for m in messages for res in m.tool_results}
    uses = [(use, bool(message.text)) for message in messages for use in message.tool_uses]
    found: dict[str, Decision] = {}
    names: dict[str, str] = {}
    contents: dict[str, str] = {}
    for number, (use, told) in enumerate(uses, 1):
        decision, result = decisions.get(use.tool_use_id), results.get(use.tool_use_id)
        if decision is None or decision.action == "keep" or result is None:
            continue
        if is_stub(result.text):
            continue
        if (mark := _MARKED.search(result.text[-LONGEST_MARK:])) is not None:
            if (again := _stubbed_again(decision, result.text, mark["path"])) is not None:
                found[use.tool_use_id] = again
            continue
        if told and decision.action == "drop_call" and settings.format == "persisted":
            # Words that tell of a call need the call; its result can go.
            decision = replace(decision, action="stub")
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


def _stubbed_again(decision: Decision, text: str, path: str | None) -> Decision | None:
    """The stub of an output that was shortened before and is now to go, if its file is known."""
    if decision.action not in ("stub", "drop_result") or path is None:
        return None
    stub = (
        f"<persisted-output>\nOld output cleared. Full output saved to: {path}\n</persisted-output>"
    )
    return replace(decision, text=stub) if len(stub) < len(text) else None


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
        if self._settings.format == "plain":
            return self._wanted
        if self._dropped:
            known = self.copied or not self._settings.keep
            return self._wanted if known else self._with_text(self._stub, "stub")
        text = new_text(self._wanted)
        if self._input:
            return self._shorter_input(text)
        if text is None:
            return None
        return self._with_text(self._marked(text) if self._wanted.action == "trim" else self._stub)

    def _shorter_input(self, text: str | None) -> Decision | None:
        """The mark goes behind the first string that is cut, where it is still the shorter one."""
        if self.copied:
            before = dict(leaves(self._use.input))
            after = dict(leaves(new_input(self._wanted, self._use.input)))
            mark = f"\n[whole call: {self._path}]"
            for place, old in before.items():
                new = after.get(place, old)
                if new != old and len(new) + len(mark) < len(old):
                    marked: Any = replaced(dict(self._use.input), {**after, place: new + mark})
                    return replace(self._wanted, text=text, input=marked)
        elif not self._settings.keep:
            return self._wanted
        return None if text is None else self._with_text(self._marked(text), "trim")

    def _with_text(self, text: str, action: Action | None = None) -> Decision | None:
        """The decision with this text for the result, if it is the shorter one."""
        if len(text) >= len(self._result.text) and not self._result.images:
            return None
        return replace(self._wanted, action=action or self._wanted.action, text=text, input=None)

    def _marked(self, text: str) -> str:
        if self.copied:
            return text + _mark(self._path)
        return f"{text}\n[whole output {CREDENTIALS}]" if self._settings.keep else text

    @property
    def _stub(self) -> str:
        path = self._path if self.copied else None
        shown = self._result.text[: self._settings.preview_chars] if self.copied else ""
        why = CREDENTIALS if self._settings.keep else NOT_KEPT
        return _stub(_bytes(self._result.text), shown, path, why)


def _mark(path: Path) -> str:
    return f"{KEPT}{path}]"


def _stub(count: int, shown: str, path: Path | None, why: str) -> str:
    """What the CLI writes for an output too large to keep, of so many bytes."""
    if path is None:
        said = f"{why}. Run the tool again if you need it."
        return (
            f"<persisted-output>\nOld output cleared ({_size(count)}), {said}\n</persisted-output>"
        )
    preview = f"\n\nPreview (first {_size(_bytes(shown))}):\n{shown}\n..." if shown else ""
    return (
        f"<persisted-output>\nOld output cleared ({_size(count)}). Full output saved to: {path}"
        f"{preview}\n</persisted-output>"
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _size(count: float) -> str:
    """Bytes as the CLI writes them: 512B, 106.3KB, 2MB."""
    units = ("B", "KB", "MB", "GB")
    power = 0
    while count >= 1024 and power < len(units) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.1f}".removesuffix(".0") + units[power]
