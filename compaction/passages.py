"""The texts of a transcript that may lose lines, and which of their lines say nothing new.

A line is **repeated** when a later text that stays in sight holds it too, and **stale** when a
later edit took it out of its file. Leaving out such lines loses nothing. What else a line is worth
is the business of `compaction.relevance`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from compaction.features import Call
from compaction.inputs import Path, leaves
from compaction.lines import without_number
from compaction.messages import Message

MIN_REPEATED = 8
"""Shorter lines (a brace, an `else`) repeat without being the same line."""
MIN_STALE = 6

Part = Literal["result", "old", "new"]
_PARTS: Mapping[str, Part] = {"old_string": "old", "new_string": "new", "content": "new"}
_ALWAYS = 1 << 60


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of a call: its result, or what it took out of a file or put in.

    `lines` are verbatim; `bare` has them without numbers and outer white space; `news` tells for
    each whether it is the newest of its kind and still true.
    """

    call: Call
    index: int
    path: Path
    part: Part
    lines: list[str]
    bare: list[str]
    news: list[bool]


@dataclass(frozen=True, slots=True)
class _Edit:
    index: int
    removed: set[str]
    whole: set[str] | None = None


@dataclass(slots=True)
class History:
    """What happened to each file, by its path: indices of calls, oldest first."""

    edits: dict[str, list[_Edit]] = field(default_factory=lambda: defaultdict(list))
    touched: dict[str, int] = field(default_factory=dict[str, int])

    def edited_after(self, file: str, index: int) -> list[_Edit]:
        """The edits of a file after a call."""
        return [edit for edit in self.edits.get(file, ()) if edit.index > index]


def history(calls: Sequence[Call]) -> History:
    """The history of the files that the calls worked on; failed calls changed nothing."""
    past = History()
    for index, call in enumerate(calls):
        if not (file := call.file):
            continue
        past.touched[file] = index
        if call.kind != "edit" or call.failed:
            continue
        if isinstance(content := call.input.get("content"), str):
            past.edits[file].append(_Edit(index, set(), set(_bare(content.split("\n")))))
        for old, new in _replacements(call.input):
            gone = {line for line in _bare(old.split("\n")) if len(line) >= MIN_STALE}
            past.edits[file].append(_Edit(index, gone.difference(_bare(new.split("\n")))))
    return past


def passages(messages: Sequence[Message], calls: Sequence[Call], past: History) -> list[Passage]:
    """The results and written inputs of all calls that are not pinned, in their order."""
    newest = _newest(messages, calls)
    found: list[Passage] = []
    for index, call in enumerate(calls):
        if call.pinned:
            continue
        for path, part, text in _texts(call):
            lines = text.split("\n")
            bare = _bare(lines, numbered=not path and call.kind in ("read", "edit"))
            stale = _stale(call, index, part, past)
            order = 2 * index + (part == "result")
            news = [
                part != "old" and not stale(line) and newest.get(line, order) <= order
                for line in bare
            ]
            found.append(Passage(call, index, path, part, lines, bare, news))
    return found


def _newest(messages: Sequence[Message], calls: Sequence[Call]) -> dict[str, int]:
    """For each line where it stands last: `2 * call` for an input, one more for a result."""
    newest: dict[str, int] = {}

    def note(text: str, order: int, *, numbered: bool = False) -> None:
        for line in _bare(text.split("\n"), numbered=numbered):
            if len(line) >= MIN_REPEATED:
                newest[line] = order

    for index, call in enumerate(calls):
        for path, text in leaves(call.input):
            if path[-1:] != ("old_string",):
                note(text, 2 * index)
        note(call.text, 2 * index + 1, numbered=call.kind in ("read", "edit"))
    for message in messages:
        note(message.text, _ALWAYS)
    return newest


def _stale(call: Call, index: int, part: Part, past: History) -> "_Stale":
    if call.kind not in ("read", "edit"):
        return _Stale(set(), [])
    later = past.edited_after(call.file, index)
    removed = {line for edit in later for line in edit.removed}
    return _Stale(removed, [edit.whole for edit in later if edit.whole is not None])


@dataclass(frozen=True, slots=True)
class _Stale:
    removed: set[str]
    rewritten: list[set[str]]

    def __call__(self, line: str) -> bool:
        if line in self.removed:
            return True
        return len(line) >= MIN_STALE and any(line not in whole for whole in self.rewritten)


def _texts(call: Call) -> Iterator[tuple[Path, Part, str]]:
    """What an edit took out and put in, then the result; the inputs of other tools stay whole."""
    if call.kind == "edit" and not call.failed:
        for path, text in leaves(call.input):
            part = _PARTS.get(str(path[-1])) if path else None
            if part and text.count("\n") >= 2:
                yield path, part, text
    yield (), "result", call.text


def _replacements(edit: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    each: list[Any] = [edit]
    if isinstance(several := edit.get("edits"), list):
        each += cast(list[Any], several)
    for one in each:
        if isinstance(one, Mapping):
            pair = cast(Mapping[str, Any], one)
            old, new = pair.get("old_string"), pair.get("new_string")
            if isinstance(old, str) and isinstance(new, str):
                yield old, new


def _bare(lines: Sequence[str], *, numbered: bool = False) -> list[str]:
    if numbered:
        return [without_number(line) for line in lines]
    return [line.strip() for line in lines]
