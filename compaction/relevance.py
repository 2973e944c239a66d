"""The offline scorer: what each line and each call of a transcript is still worth.

No model and no network; the transcript alone tells. Three things make a line worth its tokens: it
is **news** (no later text repeats it, no later edit removed it), it holds a **name** that stands
nowhere else, or it belongs to a file that is still **open** (read and not yet edited in the current
turn, or touched a moment ago), whose lines the next edit will have to quote. The constants are
round numbers: only their order matters much.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from compaction.estimate import tokens
from compaction.features import Call, distinctive, paired_calls, spoken, visible_names
from compaction.messages import Message
from compaction.passages import History, Passage, history, passages

PRESERVE_MESSAGES = 6

NAME = 1.0
OPEN = 1.1
TOUCHED = 0.4
WRITTEN = 0.9
WRITTEN_OLD = 0.6
NEWS = 0.02
"""Worth of a line: with a name of its own; of an open file; of a file touched a moment ago; that an
edit put in; nothing but not seen again."""

SETTLED = 0.35
"""What remains of a name's worth in a file that was edited or spoken of since."""
TOUCHED_CALLS = 10
SETTLED_CALLS = 8
EARLY_PLACES = 3
"""A name is kept at one of its first places, where it is introduced."""
NEED_EVEN = 4.0
"""The log odds at which a result is as likely needed as not."""
HOLDERS_MAX, HOLDERS_SHARE = 3, 0.1
"""A name in more results than this is in everybody's sight."""

_DEFINITION = re.compile(
    r"(?:export |default |pub |async |static |public |private |protected |abstract )*"
    r"(?:def|class|func|function|fn|type|interface|struct|enum|const|impl|trait|var|let)\b"
)


@dataclass(frozen=True, slots=True)
class Valued:
    """A passage with the worth and the cost (tokens) of each line, and the log odds of its need."""

    passage: Passage
    worths: list[float]
    costs: list[int]
    need: float


def value(messages: Sequence[Message], preserve: int = PRESERVE_MESSAGES) -> list[Valued]:
    """Every passage that may lose lines, with the worth of each line."""
    calls = paired_calls(messages, preserve)
    past = history(calls)
    situation = _Situation(messages, calls, past)
    return [situation.value(passage) for passage in passages(messages, calls, past)]


class _Situation:
    """What the worth of a line depends on besides the line: names in sight, files, turns."""

    def __init__(self, messages: Sequence[Message], calls: Sequence[Call], past: History) -> None:
        self._past = past
        self._count = len(calls)
        self._visible = visible_names(messages)
        self._turn = max(spoken(messages), default=0)
        self._texts = [(i, m.text) for i, m in enumerate(messages) if m.text]
        self._last: dict[str, int] = {}
        holders: Counter[str] = Counter()
        for index, call in enumerate(calls):
            for name in distinctive(call.text):
                holders[name] += 1
                self._last[name] = index
        most = max(HOLDERS_MAX, HOLDERS_SHARE * len(calls))
        self._common = {name for name, count in holders.items() if count > most}
        self._mentions: dict[str, int] = {}

    def value(self, passage: Passage) -> Valued:
        """A passage with the worth of each line; lines that are no news are worth nothing."""
        base = self._base(passage)
        lines = zip(passage.news, passage.bare, strict=True)
        worths = [base if news and bare else 0.0 for news, bare in lines]
        own: dict[int, list[str]] = {}
        if passage.part == "result":
            own = self._own_names(passage)
            name = self._name(passage)
            for line in _carriers(passage, own):
                worths[line] += name
        need = self._need(passage, sum(map(len, own.values())))
        return Valued(passage, worths, [tokens(line) for line in passage.bare], need)

    def _base(self, passage: Passage) -> float:
        call = passage.call
        if passage.part == "old":
            return 0.0
        if call.kind == "edit":
            return WRITTEN if call.answered_at > self._turn else WRITTEN_OLD
        if call.kind != "read" or call.answered_at < self._turn:
            return NEWS
        if self._count - self._past.touched.get(call.file, 0) <= TOUCHED_CALLS:
            return TOUCHED
        return NEWS if self._past.edited_after(call.file, passage.index) else OPEN

    def _name(self, passage: Passage) -> float:
        call = passage.call
        edited = call.kind == "read" and self._past.edited_after(call.file, passage.index)
        old = self._count - passage.index >= SETTLED_CALLS
        spoken_of = old and self._last_mention(call.file) > call.answered_at
        return NAME * (SETTLED if edited or spoken_of else 1.0)

    def _last_mention(self, file: str) -> int:
        """The last message whose text names the file; -1 = none does."""
        name = PurePath(file).name
        if len(name) <= 3:
            return -1
        if name not in self._mentions:
            found = (index for index, text in reversed(self._texts) if name in text)
            self._mentions[name] = next(found, -1)
        return self._mentions[name]

    def _is_open(self, passage: Passage) -> bool:
        """Whether a file was read in the current turn and not edited since."""
        call = passage.call
        return (
            call.kind == "read"
            and call.answered_at > self._turn
            and not self._past.edited_after(call.file, passage.index)
        )

    def _need(self, passage: Passage, names: int) -> float:
        """The log odds, up to a constant, that a later step uses what this result alone holds."""
        call = passage.call
        touched = self._past.touched.get(call.file, passage.index)
        return (
            0.6 * math.log1p(names)
            + 0.75 * sum(passage.news) / len(passage.news)
            - 0.25 * math.log1p(self._count - touched)
            + (2.0 if self._is_open(passage) or call.tool == "Glob" else 0.0)
            + (1.0 if call.kind == "other" else 0.0)
            - (1.0 if call.failed else 0.0)
        )

    def _own_names(self, passage: Passage) -> dict[int, list[str]]:
        """By line, the names that this result is the last to hold and that nothing else shows."""
        found: dict[int, list[str]] = {}
        for line, news in enumerate(passage.news):
            if not news:
                continue
            names = [
                name
                for name in distinctive(passage.bare[line])
                if self._last.get(name) == passage.index
                and name not in self._visible
                and name not in self._common
            ]
            if names:
                found[line] = names
        return found


def _carriers(passage: Passage, own: Mapping[int, Sequence[str]]) -> list[int]:
    """The fewest lines, roughly, that hold each own name once: definitions first."""
    places: dict[str, list[int]] = defaultdict(list)
    for line, names in own.items():
        for name in names:
            places[name].append(line)
    early = {name: set(lines[:EARLY_PLACES]) for name, lines in places.items()}

    def rank(line: int) -> tuple[int, int]:
        defines = _DEFINITION.match(passage.bare[line]) is not None
        return -len(own[line]) - 2 * defines, line

    held: set[str] = set()
    carriers: list[int] = []
    for line in sorted(own, key=rank):
        fresh = {name for name in own[line] if name not in held and line in early[name]}
        if fresh:
            held |= fresh
            carriers.append(line)
    return carriers


def score(messages: Sequence[Message], preserve: int = PRESERVE_MESSAGES) -> dict[str, float]:
    """For each paired call how much its result is still needed, from 0 to 1; pinned ones are 1."""
    scores = {call.tool_use_id: 1.0 for call in paired_calls(messages, preserve)}
    for valued in value(messages, preserve):
        if valued.passage.part == "result":
            scores[valued.passage.call.tool_use_id] = 1 / (1 + math.exp(NEED_EVEN - valued.need))
    return scores


class OfflineAsker:
    """Answers the questions about a conversation's calls as Jev would, from the transcript alone.

    It is made for one conversation: the state that a question comes with is abridged, the
    conversation is not. Failed calls stay: they are small, and repeating an error is dear.
    """

    def __init__(self, messages: Sequence[Message], preserve: int = PRESERVE_MESSAGES) -> None:
        scores = score(messages, preserve)
        self._needs = {
            f"t{number}": 1.0 if call.failed else scores[call.tool_use_id]
            for number, call in enumerate(paired_calls(messages, preserve), 1)
        }

    async def ask(
        self, state: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]], /
    ) -> dict[str, dict[str, float]]:
        """One probability for each question; that a call happened is always worth its few tokens.

        Raises `KeyError` for a question about a call that the conversation does not have.
        """
        answers: dict[str, dict[str, float]] = {}
        for key in questions:
            about, _, call = key.partition("_")
            need = self._needs[call]
            answers[key] = {"noul": need if about == "result" else (1 + need) / 2}
        return answers
