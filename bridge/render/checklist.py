"""Claude's own list of things to do: played from its calls, and as lines of a message."""

import re
from collections.abc import Iterable, Mapping
from typing import cast

from bridge.render.inline import escaped, one_line
from bridge.render.measure import clip
from bridge.render.segments import Item, Progress, Tool

TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})
"""All that keep the list; the last two only look at it."""

Items = Mapping[str, Item]
"""The list by the numbers that Claude gives its tasks, in order."""

_COLUMNS = 90
_MOST = 15
_MARKS: Mapping[Progress, str] = {"pending": "⬜", "in_progress": "⏩", "completed": "✅"}
"""All of one unit, so that an item that is done does not move the text behind it."""

_CREATED = re.compile(r"\s*Task #(\S+) created")


def played(calls: Iterable[Tool], before: Items) -> dict[str, Item]:
    """The list after these calls; what failed or still runs is as if it had not been called.

    One exception: `TodoWrite` brings its whole list along, and shows it at once.
    """
    items = dict(before)
    for call in calls:
        if call.name == "TodoWrite" and call.state in ("ok", "running"):
            if isinstance(call.input.get("todos"), list):
                items = _todos(cast("list[object]", call.input["todos"]))
        elif call.name == "TaskCreate" and call.state == "ok":
            found = _CREATED.match(call.output)
            if found is not None:
                items[found[1]] = Item(_string(call.input, "subject", "description"), "pending")
        elif call.name == "TaskUpdate" and call.state == "ok":
            _update(items, call.input)
    return items


def is_open(items: Items) -> bool:
    """Whether anything on the list is still to be done."""
    return any(item.progress != "completed" for item in items.values())


def checklist_lines(items: tuple[Item, ...]) -> list[str]:
    """The list as lines of subtext, the first one with the sum; what was done first gives way."""
    done = sum(item.progress == "completed" for item in items)
    shown = items
    if len(items) > _MOST:
        spare = len(items) - _MOST
        passed = [at for at, item in enumerate(items) if item.progress == "completed"][:spare]
        shown = tuple(item for at, item in enumerate(items) if at not in passed)[:_MOST]
    lines = [f"-# 📋 {done} of {len(items)} done"]
    for item in shown:
        text = escaped(clip(one_line(item.text), _COLUMNS)) or "…"
        lines.append(f"-# {_MARKS[item.progress]} {text}")
    if len(shown) < len(items):
        lines.append(f"-# … and {len(items) - len(shown)} more")
    return lines


def _todos(todos: list[object]) -> dict[str, Item]:
    items: dict[str, Item] = {}
    for number, todo in enumerate(todos, 1):
        if isinstance(todo, Mapping):
            values = cast("Mapping[str, object]", todo)
            text = _string(values, "content", "activeForm")
            items[str(number)] = Item(text, _progress(values) or "pending")
    return items


def _update(items: dict[str, Item], values: Mapping[str, object]) -> None:
    number = str(values.get("taskId", ""))
    if not number:
        return
    if values.get("status") == "deleted":
        items.pop(number, None)
        return
    known = items.get(number, Item(f"Task {number}", "pending"))
    text = _string(values, "subject") or known.text
    items[number] = Item(text, _progress(values) or known.progress)


def _progress(values: Mapping[str, object]) -> Progress | None:
    status = values.get("status")
    return cast("Progress", status) if isinstance(status, str) and status in _MARKS else None


def _string(values: Mapping[str, object], *keys: str) -> str:
    return next((v for key in keys if isinstance(v := values.get(key), str) and v.strip()), "")
