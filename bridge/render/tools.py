"""One compact line for each tool call: what was done to what, and how it went."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from bridge.render.diff import diff
from bridge.render.inline import code, escaped, one_line
from bridge.render.measure import clip, clip_start, width
from bridge.render.secrets import mask
from bridge.render.segments import Tool

_COLUMNS = 120
_ICONS = {
    "running": "⏳",
    "ok": "✅",
    "error": "❌",
    "denied": "⛔",
}  # one unit each
_LONGEST_DIFF = 400
_BACKGROUND = " · in the background"
_AGENTS = frozenset({"Agent", "Task"})
_DISCORD = "mcp__discord__"
_LABELS = {
    f"{_DISCORD}send_file": "Send file",
    f"{_DISCORD}react": "React",
    f"{_DISCORD}rename_thread": "Rename thread",
}
_SILENT = _AGENTS | {
    "AskUserQuestion",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "Write",
}
_SHOWN_OF_A_DIFF = 10
_SHOWN_OF_AN_OUTPUT = 8
_BLOCK_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class _Gist:
    """What a call is about; `words` are shown as prose, a `path` keeps its end when cut."""

    text: str
    after: str = ""
    words: bool = False
    path: bool = False


def tool_line(tool: Tool, *, cwd: str = "") -> str:
    """The call as one line of subtext, about 120 columns at most.

    Only the icon tells the state and all icons are equally long, so that a call that ends does
    not move the text behind it.
    """
    label = escaped(clip(_label(tool.name), 40))
    agent = f"↳ {escaped(clip(one_line(tool.agent), 30))} · " if tool.agent else ""
    detail = f" · {escaped(clip(one_line(tool.detail), 40))}" if tool.detail.strip() else ""
    gist = _gist(tool, cwd)
    progress = f" · {escaped(clip(one_line(tool.progress), 50))}" if tool.progress else ""
    after = gist.after + progress + (_BACKGROUND if _in_background(tool) else "")
    room = _COLUMNS - sum(map(width, (label, agent, detail, after))) - 4
    shown = _shown(gist, max(room, 20))
    return f"-# {_ICONS[tool.state]} {agent}**{label}**{shown}{after}{detail}"


def tool_block(tool: Tool) -> tuple[str, str]:
    """What stands below the line: language and text of a code block, no text if there is none.

    That is the change of a small edit, else the beginning of the output and its end.
    """
    changes = [
        diff(_string(edit, "old_string"), _string(edit, "new_string"))
        for edit in (_objects(tool.input, "edits") or [tool.input])
        if tool.name in ("Edit", "MultiEdit")
    ]
    # Masked before it is cut: a part of a secret does not look like one.
    change = mask("\n".join(filter(None, changes)))
    if change.strip() and len(change.splitlines()) <= _SHOWN_OF_A_DIFF:
        return "diff", _clipped(change.splitlines())
    lines = [line for line in mask(tool.output).splitlines() if line.strip()]
    if len(lines) > _SHOWN_OF_AN_OUTPUT:
        half = _SHOWN_OF_AN_OUTPUT // 2
        between = f"… {len(lines) - 2 * half} more lines"
        lines = [*lines[:half], between, *lines[-half:]]
    return "", _clipped(lines)


def _clipped(lines: Iterable[str]) -> str:
    return "\n".join(clip(line.expandtabs(4), _BLOCK_COLUMNS) for line in lines)


def is_agent(name: str) -> bool:
    """Whether this tool is a subagent."""
    return name in _AGENTS


def tells_by_output(name: str) -> bool:
    """Whether the output of this tool is what a reader wants of it, rather than its effect."""
    return name not in _SILENT and not name.startswith(_DISCORD)


def briefly(tool: Tool) -> str:
    """The call in a few plain words."""
    return f"{_label(tool.name)} {one_line(_gist(tool, '').text)}".strip()


def _in_background(tool: Tool) -> bool:
    return tool.input.get("run_in_background") is True


def _shown(gist: _Gist, room: int) -> str:
    text = one_line(mask(gist.text))
    if not text:
        return ""
    text = clip_start(text, room) if gist.path else clip(text, room)
    return f" {escaped(text) if gist.words else code(text)}"


def _label(name: str) -> str:
    if name in _LABELS:
        return _LABELS[name]
    if not name.startswith("mcp__"):
        return one_line(name) or "tool"
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return f"{server} · {tool}" if tool else server


def _gist(tool: Tool, cwd: str) -> _Gist:
    known = _FORMATTERS.get(tool.name)
    return known(tool.input, cwd) if known else _unknown(tool.input, cwd)


def _string(values: Mapping[str, object], *keys: str) -> str:
    """The first of these that is a string with something in it."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _objects(values: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = values.get(key)
    if not isinstance(value, list):
        return []
    items = cast(list[object], value)
    return [cast(Mapping[str, object], item) for item in items if isinstance(item, Mapping)]


def _relative(path: str, cwd: str) -> str:
    inside = path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
    return inside or path


def _lines(text: str) -> int:
    return len(text.splitlines())


def _changed(edits: Iterable[Mapping[str, object]]) -> str:
    added = removed = 0
    for edit in edits:
        plus, minus = _difference(_string(edit, "old_string"), _string(edit, "new_string"))
        added += plus
        removed += minus
    return f" +{added} −{removed}" if added or removed else ""  # noqa: RUF001


def _difference(old: str, new: str) -> tuple[int, int]:
    """Lines that came and lines that went."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _LONGEST_DIFF:  # the time for a diff grows with the square
        return len(after), len(before)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return len(after) - same, len(before) - same


def _bash(values: Mapping[str, object], _: str) -> _Gist:
    lines = [line for line in _string(values, "command").splitlines() if line.strip()]
    return _Gist(lines[0] if lines else "", " …" if len(lines) > 1 else "")


def _read(values: Mapping[str, object], cwd: str) -> _Gist:
    first, count = values.get("offset"), values.get("limit")
    after = ""
    if isinstance(first, int) and isinstance(count, int):
        after = f" lines {first}–{first + count - 1}"  # noqa: RUF001
    elif isinstance(first, int):
        after = f" from line {first}"
    elif isinstance(count, int):
        after = f" first {count} lines"
    return _Gist(_relative(_string(values, "file_path"), cwd), after, path=True)


def _write(values: Mapping[str, object], cwd: str) -> _Gist:
    count = _lines(_string(values, "content"))
    after = f" +{count}" if count else ""
    return _Gist(_relative(_string(values, "file_path"), cwd), after, path=True)


def _edit(values: Mapping[str, object], cwd: str) -> _Gist:
    edits = _objects(values, "edits") or [values]
    return _Gist(_relative(_string(values, "file_path"), cwd), _changed(edits), path=True)


def _notebook(values: Mapping[str, object], cwd: str) -> _Gist:
    count = _lines(_string(values, "new_source"))
    after = f" +{count}" if count else ""
    return _Gist(_relative(_string(values, "notebook_path"), cwd), after, path=True)


def _search(values: Mapping[str, object], cwd: str) -> _Gist:
    place = _relative(_string(values, "path"), cwd) or _string(values, "glob")
    after = f" in {escaped(clip_start(place, 40))}" if place and place != cwd else ""
    return _Gist(_string(values, "pattern"), after)


def _fetch(values: Mapping[str, object], _: str) -> _Gist:
    url = _string(values, "url")
    return _Gist(_host(url) or url, words=True)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _agent(values: Mapping[str, object], _: str) -> _Gist:
    return _Gist(_string(values, "description", "prompt"), words=True)


def _todos(values: Mapping[str, object], _: str) -> _Gist:
    todos = _objects(values, "todos")
    done = sum(todo.get("status") == "completed" for todo in todos)
    current = [todo for todo in todos if todo.get("status") == "in_progress"]
    now = _string(current[0], "activeForm", "content") if current else ""
    return _Gist(f"{done}/{len(todos)} done" + (f": {now}" if now else ""), words=True)


def _task_update(values: Mapping[str, object], _: str) -> _Gist:
    number, status = _string(values, "taskId"), _string(values, "status")
    arrow = f" → {status.replace('_', ' ')}" if status else ""
    return _Gist(f"#{number}{arrow}" if number else status, words=True)


def _questions(values: Mapping[str, object], _: str) -> _Gist:
    asked = _objects(values, "questions")
    return _Gist(_string(asked[0], "question") if asked else "", words=True)


def _words(*keys: str) -> Callable[[Mapping[str, object], str], _Gist]:
    return lambda values, _: _Gist(_string(values, *keys), words=True)


def _unknown(values: Mapping[str, object], _: str) -> _Gist:
    strings = [value for value in values.values() if isinstance(value, str) and value.strip()]
    return _Gist(next((text for text in strings if len(text) <= _COLUMNS), ""))


_FORMATTERS: Mapping[str, Callable[[Mapping[str, object], str], _Gist]] = {
    "Agent": _agent,
    "AskUserQuestion": _questions,
    "Bash": _bash,
    "BashOutput": _words("bash_id", "task_id"),
    "CronCreate": _words("cron", "prompt"),
    "EnterPlanMode": lambda _values, _cwd: _Gist(""),
    "Edit": _edit,
    "ExitPlanMode": lambda _values, _cwd: _Gist("plan", words=True),
    "Glob": _search,
    "Grep": _search,
    "KillShell": _words("shell_id", "task_id"),
    "LS": lambda values, cwd: _Gist(_relative(_string(values, "path"), cwd), path=True),
    "MultiEdit": _edit,
    "NotebookEdit": _notebook,
    "Read": _read,
    "SendMessage": _words("summary", "message"),
    "Skill": _words("skill", "command"),
    "Task": _agent,
    "TaskCreate": _words("subject", "description"),
    "TaskOutput": _words("task_id"),
    "TaskStop": _words("task_id", "shell_id"),
    "TaskUpdate": _task_update,
    "TodoWrite": _todos,
    "ToolSearch": _words("query"),
    "WebFetch": _fetch,
    "WebSearch": _words("query"),
    "Write": _write,
    f"{_DISCORD}react": _words("emoji"),
    f"{_DISCORD}rename_thread": _words("title"),
    f"{_DISCORD}send_file": lambda values, cwd: _Gist(
        _relative(_string(values, "path"), cwd), path=True
    ),
}
