"""What a transcript says about each of its calls: names, files, turns, and what came later."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from compaction.inputs import leaves
from compaction.messages import Message

Kind = Literal["read", "search", "shell", "edit", "other"]

_KINDS: Mapping[str, Kind] = {
    "Read": "read",
    "NotebookRead": "read",
    "Grep": "search",
    "Glob": "search",
    "Bash": "shell",
    "PowerShell": "shell",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
}
_NOT_SPOKEN = (
    "<system-reminder",
    "<command-",
    "<local-command",
    "<task-notification",
    "[Request interrupted",
)
_TOOL_ERROR = "<tool_use_error>"

_CANDIDATE = re.compile(r"[A-Za-z0-9_$@~./-]{5,}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_$]{5,}")
_CAMEL = re.compile(r"[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Call:
    """A call together with its result, where it stands, and whether it may be touched."""

    tool_use_id: str
    tool: str
    kind: Kind
    input: Mapping[str, Any]
    text: str
    failed: bool
    asked_at: int
    answered_at: int
    pinned: bool

    @property
    def file(self) -> str:
        """The file or folder that the call names, or nothing."""
        for key in ("file_path", "notebook_path", "path"):
            if isinstance(path := self.input.get(key), str):
                return path
        return ""


def paired_calls(messages: Sequence[Message], preserve: int) -> list[Call]:
    """The calls that have a result, in order; the first message and the last `preserve` pin."""
    results = {
        result.tool_use_id: (index, result)
        for index, message in enumerate(messages)
        for result in message.tool_results
    }
    recent = len(messages) - preserve
    calls: list[Call] = []
    for asked, message in enumerate(messages):
        for use in message.tool_uses:
            if use.tool_use_id not in results:
                continue
            answered, result = results[use.tool_use_id]
            calls.append(
                Call(
                    tool_use_id=use.tool_use_id,
                    tool=use.tool,
                    kind=_KINDS.get(use.tool, "other"),
                    input=use.input,
                    text=result.text,
                    failed=result.is_error or result.text.startswith(_TOOL_ERROR),
                    asked_at=asked,
                    answered_at=answered,
                    pinned=asked == 0 or max(asked, answered) >= recent or result.images > 0,
                )
            )
    return calls


def spoken(messages: Sequence[Message]) -> list[int]:
    """Where a person speaks: the user messages with text that no program wrote."""
    return [
        index
        for index, message in enumerate(messages)
        if message.role == "user"
        and message.text.strip()
        and not message.text.lstrip().startswith(_NOT_SPOKEN)
    ]


def visible_names(messages: Sequence[Message]) -> set[str]:
    """The distinctive names that stay in sight whatever becomes of the results."""
    names: set[str] = set()
    for message in messages:
        names |= distinctive(message.text)
        for use in message.tool_uses:
            for _, text in leaves(use.input):
                names |= distinctive(text)
    return names


def distinctive(text: str) -> set[str]:
    """The names of a text that one would search for: paths, files, identifiers, long numbers.

    Plain words are none: they are in every text, and losing one loses nothing.
    """
    names: set[str] = set()
    for match in _CANDIDATE.finditer(text):
        word = match.group().strip("./~-@")
        if word.isalnum():
            if _is_name(word):
                names.add(word)
            continue
        if "/" in word:
            names.add(word)
            last = word.rsplit("/", 1)[1]
            if "." in last:
                names.add(last)
        elif "." in word:
            if len(word) >= 7 and word.rsplit(".", 1)[1].isalpha():
                names.add(word)
        elif "-" in word and len(word) >= 9:
            names.add(word)
        names.update(part for part in _IDENTIFIER.findall(word) if _is_name(part))
    return names


def _is_name(word: str) -> bool:
    """Whether a run of letters, digits and underscores looks like a name and not like a word."""
    if word.isdigit():
        return len(word) >= 5
    if len(word) < 6:
        return False
    if _CAMEL.search(word):
        return True
    if word.isalpha():
        return word.isupper()
    return "_" in word.strip("_") or any(map(str.isdigit, word))
