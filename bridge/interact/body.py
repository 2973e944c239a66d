"""What a request looks like in the thread: all of it, in messages or in a file."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bridge.discord_io.outbox import File
from bridge.interact.grant import grant_of
from bridge.interact.verdict import WORD_LIMIT
from bridge.protocol import PermissionRequest
from bridge.protocol.questions import PLAN, Asked, questions_of
from bridge.render import MESSAGE_LIMIT, Text, render
from bridge.render.diff import diff
from bridge.render.inline import escaped, one_line
from bridge.render.measure import clip, fitting, units
from bridge.render.reply import clean

_ROOM = 100
"""Characters that the last message leaves free, at least, for how a permission was answered."""
_ANSWER_ROOM = WORD_LIMIT + 10
"""The same for what a person says in words of their own."""
_MESSAGES = 3
"""What needs more messages is shown by its beginning, and is in a file as a whole."""
_PLAN_MESSAGES = 8
_REMARK = "\n-# Choose below, or write here what is to be different."
_LONGEST_DESCRIPTION = 300
_LONGEST_FILE = 1 << 20
"""Bytes up to which a file is read to show what a Write changes in it."""


@dataclass(frozen=True)
class Body:
    """The messages of a question. The last one has the buttons, and the file if there is one."""

    contents: list[str]
    file: File | None = None

    def closed(self, word: str) -> str:
        """The last message with the line that says what came of the question."""
        last = self.contents[-1]
        room = MESSAGE_LIMIT - units(last) - len("\n-# ")
        if units(word) > room:
            word = word[: fitting(word, room - 1)] + "…"
        return f"{last}\n-# {word}"


def body_of(request: PermissionRequest, agent: str = "") -> Body:
    """The whole of what is asked, without secrets; work enough for a thread of its own.

    `agent` is the description of the subagent that asks, if one does.
    """
    if request.tool_name == PLAN and isinstance(plan := request.input.get("plan"), str):
        return _plan(plan, agent)
    if questions := questions_of(request):
        return _questions(questions, agent)
    return _permission(request, agent)


# --- questions and plans ------------------------------------------------------------------------
def _questions(questions: Sequence[Asked], agent: str) -> Body:
    text = f"❓ {_whose(agent)} asks" if agent else "❓ **Claude asks**"
    for number, asked in enumerate(questions, 1):
        which = f"{number}. " if len(questions) > 1 else ""
        several = " *(several may be chosen)*" if asked.several else ""
        text += f"\n\n**{which}{escaped(clean(asked.question))}**{several}"
        for option in asked.options:
            about = f": {escaped(clean(option.description))}" if option.description else ""
            text += f"\n- **{escaped(clean(option.label))}**{about}"
            if option.preview:
                text += f"\n{_fenced('', clean(option.preview))}"
    text += "\n\n-# Choose below, or write your answer here."
    contents = render([Text(text)], limit=MESSAGE_LIMIT - _ANSWER_ROOM)
    if len(contents) <= _MESSAGES:
        return Body(contents)
    note = "📎 **This is only the beginning.** All of it is in the file."
    return Body([*contents[: _MESSAGES - 1], note], File("question.md", text.encode()))


def _plan(plan: str, agent: str) -> Body:
    plan = clean(plan)
    head = f"📋 {_whose(agent)} has a plan" if agent else "📋 **Claude has a plan**"
    limit = MESSAGE_LIMIT - _ANSWER_ROOM - len(_REMARK)
    if len(plan) <= _PLAN_MESSAGES * MESSAGE_LIMIT:
        contents = render([Text(f"{head}\n\n{plan}")], limit=limit)
        if len(contents) <= _PLAN_MESSAGES:
            return Body([*contents[:-1], contents[-1] + _REMARK])
    contents = render([Text(f"{head}\n\n{plan[: 4 * MESSAGE_LIMIT]}")], limit=limit)
    note = f"📎 **This is only the beginning.** All {len(plan):,} characters are in the file."
    shown = [*contents[: _MESSAGES - 1], note + _REMARK]
    return Body(shown, File("plan.md", plan.encode()))


def _whose(agent: str) -> str:
    return f"The subagent **{escaped(clip(clean(one_line(agent)), 100))}**"


# --- permissions --------------------------------------------------------------------------------
def _permission(request: PermissionRequest, agent: str) -> Body:
    about, blocks = _parts(request)
    tail = _offer(request)
    size = sum(len(code) for _, code in blocks)
    if size <= _MESSAGES * MESSAGE_LIMIT and len(about) <= _LONGEST_DESCRIPTION:
        contents = _rendered(request, agent, about, blocks, tail)
        if len(contents) <= _MESSAGES:
            return Body(contents)
    beginnings = [(language, code[: 2 * MESSAGE_LIMIT]) for language, code in blocks]
    contents = _rendered(request, agent, about[:_LONGEST_DESCRIPTION], beginnings, "")
    note = f"📎 **This is only the beginning.** All {size:,} characters are in the file.{tail}"
    whole = "\n\n".join(filter(None, [about, *(code for _, code in blocks)]))
    return Body([*contents[: _MESSAGES - 1], note], File("request.txt", whole.encode()))


def _offer(request: PermissionRequest) -> str:
    """What the button *Allow for this session* would allow."""
    grant = grant_of(request)
    return f"\n-# For this session: {clean(grant.words)}" if grant else ""


def _parts(request: PermissionRequest) -> tuple[str, list[tuple[str, str]]]:
    """What the CLI says about a request, if anything new, and the request as blocks of code.

    Each block has its language first.
    """
    about = clean(one_line(request.description or ""))
    rest = dict(request.input)
    blocks: list[tuple[str, str]] = []
    if isinstance(command := rest.get("command"), str):
        del rest["command"]
        blocks.append(("sh", clean(command)))
        if rest.get("description") == request.description:
            rest.pop("description", None)
        # The CLI describes a command by its own beginning if Claude gave it no description.
        if one_line(blocks[0][1]).startswith(about.removesuffix("…").rstrip()):
            about = ""
    elif (change := _change(request.tool_name, rest)) is not None:
        about, rest = change.path, change.rest
        blocks.append(("diff", clean(change.lines)))
    if rest or not blocks:
        blocks.append(("json", clean(json.dumps(_cleaned(rest), indent=1))))
    return about, blocks


@dataclass(frozen=True)
class _Change:
    """An edit of a file as lines of a diff, and what else its input holds."""

    path: str
    lines: str
    rest: dict[str, Any]


def _change(tool: str, values: Mapping[str, Any]) -> _Change | None:
    """What a call does to a file; None if it is no edit, or one of an unknown form."""
    rest = dict(values)
    path = rest.pop("file_path", None)
    if not isinstance(path, str):
        return None
    match tool, rest:
        case "Edit", {"old_string": str(old), "new_string": str(new)}:
            del rest["old_string"], rest["new_string"]
            lines = _lines(old, new)
        case "MultiEdit", {"edits": list()}:
            edits = [_edit(edit) for edit in cast("list[object]", rest.pop("edits"))]
            if None in edits:
                return None
            lines = "\n\n".join(filter(None, edits))
        case "Write", {"content": str(new)}:
            del rest["content"]
            lines = _lines(_present(path), new)
        case _:
            return None
    if rest.get("replace_all") is False:
        del rest["replace_all"]
    return _Change(clean(path), lines, rest)


def _edit(edit: object) -> str | None:
    """One of several edits; None if it has anything that is not known here."""
    match edit:
        case {"old_string": str(old), "new_string": str(new), "replace_all": True} if (
            len(cast("dict[str, object]", edit)) == 3
        ):
            return "every place:\n" + _lines(old, new)
        case {"old_string": str(old), "new_string": str(new)} if cast(
            "dict[str, object]", edit
        ).keys() <= {"old_string", "new_string", "replace_all"}:
            return _lines(old, new)
        case _:
            return None


def _lines(old: str, new: str) -> str:
    """The change; secrets go first, for they cannot be told behind the marks of a diff."""
    return diff(clean(old), clean(new)) or "(nothing changes that can be shown)"


def _present(path: str) -> str:
    """What stands in a file now; nothing if it is new, or too much or no text to compare with."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LONGEST_FILE:
            return ""
        return file.read_text()
    except (OSError, ValueError):
        return ""


def _rendered(
    request: PermissionRequest,
    agent: str,
    about: str,
    blocks: Sequence[tuple[str, str]],
    tail: str,
) -> list[str]:
    tool = f"**{escaped(request.display_name or request.tool_name)}**"
    whose = f" of the subagent **{escaped(clip(clean(one_line(agent)), 100))}**" if agent else ""
    text = f"🔐 {tool}{whose} asks for permission"
    if about:
        text += f": {escaped(about)}"
    for language, code in blocks:
        text += f"\n{_fenced(language, code)}"
    contents = render([Text(text)], limit=MESSAGE_LIMIT - _ROOM - len(tail))
    return [*contents[:-1], contents[-1] + tail]


def _fenced(language: str, code: str) -> str:
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


def _cleaned(value: object) -> object:
    """The same without secrets, which are harder to tell once they are written as JSON."""
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value).items()
            return {clean(key): _cleaned(item) for key, item in fields}
        case _:
            return value
