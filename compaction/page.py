"""The report of a compaction as one HTML file that needs nothing else."""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any

from compaction.credentials import holds_credential
from compaction.estimate import tokens
from compaction.inputs import leaves
from compaction.lines import without_number
from compaction.messages import Message, ToolUse
from compaction.report import Call, Outcome

PAGE = 3_000_000
"""Characters of outputs that a page holds at most, however many calls there are."""
LEAST, MOST = 400, 6000
"""Characters of one call's texts."""
GONE, KEPT = 600, 200
"""Characters of one run of lines that went or stayed."""
SAID = 1200
"""Characters of what a person or Claude said."""

_GAP = re.compile(r"\[… (\d+)(?: lines? omitted …)?\]$")

REMOVED = frozenset({"stub", "drop_result", "drop_call"})
"""Actions after which nothing stays but what tells of it."""

Part = tuple[int, str]
"""A run of text: 1 it stays, 0 it went, 2 it is ours and tells what is not shown."""


def page(outcome: Outcome, messages: Sequence[Message]) -> str:
    """The report; `messages` are those of the session before.

    The texts of a session may hold anything. They go into the page as JSON in which nothing can end
    the element, and from there into text nodes only.
    """
    data = json.dumps(_data(outcome, messages), separators=(",", ":"))
    for char in "<>&":
        data = data.replace(char, f"\\u{ord(char):04x}")
    template = files("compaction").joinpath("page.html").read_text("utf-8")
    return template.replace("{{data}}", data)


def parts(before: str, after: str) -> list[Part]:
    """The lines of a text in runs that stay or went, `after` being what is left of it.

    Lines of `after` that were not there before, the marks of what is missing, are in no run.
    """
    lines = before.split("\n")
    where: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        where[without_number(line)].append(at)
    stays: set[int] = set()
    least = 0
    for line in after.split("\n"):
        if gap := _GAP.match(line):
            least += int(gap[1])
            continue
        places = where.get(without_number(line), [])
        if (found := bisect_left(places, least)) < len(places):
            stays.add(places[found])
            least = places[found] + 1
    runs = groupby(enumerate(lines), key=lambda each: each[0] in stays)
    return [(int(stay), "\n".join(line for _, line in run)) for stay, run in runs]


def _data(outcome: Outcome, messages: Sequence[Message]) -> dict[str, Any]:
    texts = {res.tool_use_id: res.text for m in messages for res in m.tool_results}
    uses = {use.tool_use_id: use for m in messages for use in m.tool_uses}
    room = min(max(PAGE // max(len(outcome.calls), 1), LEAST), MOST)
    return {
        **outcome.to_json(),
        "calls": [
            {
                "tool": call.tool,
                "title": call.title,
                "message": call.message,
                "action": call.action,
                "reason": call.reason,
                "before": call.before_tokens,
                "after": call.after_tokens,
                "file": call.file,
                **_look(call, uses[call.tool_use_id], texts.get(call.tool_use_id, ""), room),
            }
            for call in outcome.calls
        ],
        "said": [
            {
                "message": index,
                "role": message.role,
                "size": tokens(message.text),
                "text": _cut(message.text.strip(), SAID),
            }
            for index, message in enumerate(messages)
            if message.text.strip()
        ],
    }


def _look(call: Call, use: ToolUse, text: str, room: int) -> dict[str, Any]:
    """The texts of a call that can be looked at, and how many lines of all of them stay."""
    if holds_credential(use.input, text):
        return {"parts": [(2, "Not shown: it looks like it holds credentials.")], "lines": None}
    if call.action in REMOVED:
        return {"parts": list(_within([(0, text)], room)), "lines": None}
    left = text if call.left is None else call.left
    found = [*_of_input(use.input, call.input), *parts(text, left)]
    stays = sum(part.count("\n") + 1 for kind, part in found if kind)
    lines = (stays, sum(part.count("\n") + 1 for _, part in found))
    return {"parts": list(_within(found, room)), "lines": lines}


def _within(found: Sequence[Part], room: int) -> Iterator[Part]:
    """As much of the runs as there is room for."""
    if len(found) == 1:
        yield found[0][0], _cut(found[0][1], room)
        return
    for at, (kind, part) in enumerate(found):
        if room <= 0:
            yield 2, f"… and {len(found) - at:,} more passages"
            return
        short = _cut(part, KEPT if kind else GONE)
        room -= len(short)
        yield kind, short


def _of_input(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> Iterator[Part]:
    """The passages of an input that was shortened."""
    left = {} if after is None else dict(leaves(after))
    for place, value in leaves(before):
        if after is not None and left.get(place, value) != value:
            yield from parts(value, left[place])


def _cut(text: str, most: int) -> str:
    """A text of about that many characters, and how many more there are."""
    more = len(text) - most
    return text if more < most // 10 else f"{text[:most]}… ({more:,} more characters)"
