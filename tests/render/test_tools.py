"""The line of each tool."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.render.measure import units, width
from bridge.render.segments import State, Tool
from bridge.render.tools import tool_line
from tests.render.markdown import untimed

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = ("command", "file_path", "old_string", "new_string", "edits", "todos", "questions", "url",
        "pattern", "path", "offset", "limit", "description", "content", "query")  # fmt: skip
NAMES = ("Bash", "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Grep", "Glob", "LS", "Task",
         "WebFetch", "WebSearch", "TodoWrite", "TaskCreate", "TaskUpdate", "AskUserQuestion",
         "ExitPlanMode", "Skill", "mcp__github__create_issue", "mcp__x", "Unheard")  # fmt: skip
inputs = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
EDITS = [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "x\ny"}]
TODOS = [
    {"content": "Read", "status": "completed", "activeForm": "Reading"},
    {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
    {"content": "Test", "status": "pending", "activeForm": "Testing"},
]


@pytest.mark.parametrize(
    ("name", "given_input", "line"),
    [
        ("Bash", {"command": "pytest -q"}, "**Bash** `pytest -q`"),
        ("Bash", {"command": "\ncd x\nmake"}, "**Bash** `cd x` …"),
        ("Read", {"file_path": "/w/src/a.py"}, "**Read** `src/a.py`"),
        (
            "Read",
            {"file_path": "/w/a.py", "offset": 10, "limit": 5},
            "**Read** `a.py` lines 10\u201314",
        ),
        ("Read", {"file_path": "/w/a.py", "offset": 10}, "**Read** `a.py` from line 10"),
        ("Read", {"file_path": "/w/a.py", "limit": 5}, "**Read** `a.py` first 5 lines"),
        ("WebFetch", {"url": "http://[bad"}, "**WebFetch** http://\\[bad"),
        (
            "Edit",
            {"file_path": "/w/a.py", "old_string": "a\n" * 300, "new_string": "b\n" * 200},
            "**Edit** `a.py` +200 \u2212300",
        ),
        ("Read", {"file_path": "/etc/hosts"}, "**Read** `/etc/hosts`"),
        ("Write", {"file_path": "/w/a.py", "content": "a\nb\n"}, "**Write** `a.py` +2"),
        (
            "Edit",
            {"file_path": "/w/a.py", "old_string": "a\nb", "new_string": "a\nc\nd"},
            "**Edit** `a.py` +2 \u22121",
        ),
        ("MultiEdit", {"file_path": "/w/a.py", "edits": EDITS}, "**MultiEdit** `a.py` +3 \u22121"),
        ("NotebookEdit", {"notebook_path": "/w/n.ipynb"}, "**NotebookEdit** `n.ipynb`"),
        ("Grep", {"pattern": "a.*b", "path": "/w/src_x"}, "**Grep** `a.*b` in src\\_x"),
        ("Glob", {"pattern": "**/*.py"}, "**Glob** `**/*.py`"),
        ("WebFetch", {"url": "https://docs.example.org/x?y"}, "**WebFetch** docs.example.org"),
        ("WebSearch", {"query": "how to"}, "**WebSearch** how to"),
        ("Task", {"description": "Look around"}, "**Task** Look around"),
        ("TodoWrite", {"todos": TODOS}, "**TodoWrite** 1/3 done: Writing"),
        (
            "TaskUpdate",
            {"taskId": "4", "status": "in_progress"},
            "**TaskUpdate** \\#4 → in progress",
        ),
        ("AskUserQuestion", {"questions": [{"question": "Which?"}]}, "**AskUserQuestion** Which?"),
        ("mcp__git_hub__new_issue", {"title": "T"}, "**git\\_hub · new\\_issue** `T`"),
        ("Unheard", {"n": 1, "long": "x" * 500, "what": "this"}, "**Unheard** `this`"),
        ("Unheard", {}, "**Unheard**"),
        ("Bash", {"command": "echo `id` @everyone"}, "**Bash** `echo \u02cbid\u02cb @everyone`"),
    ],
)
def test_a_known_tool_says_what_it_does_to_what(
    name: str, given_input: Mapping[str, object], line: str
) -> None:
    assert tool_line(Tool("1", name, given_input, "ok"), cwd="/w") == f"-# ✅ {line}"


def test_a_call_of_a_subagent_says_whose_it_is() -> None:
    call = Tool("1", "Bash", {"command": "ls"}, "error", "exit 1", agent="Look around")
    assert tool_line(call) == "-# ❌ ↳ Look around · **Bash** `ls` · exit 1"


def test_a_long_path_keeps_its_end_and_a_long_command_its_start() -> None:
    path = tool_line(Tool("1", "Read", {"file_path": "/x" * 100 + "/end.py"}, "ok"))
    command = tool_line(Tool("1", "Bash", {"command": "start " + "x" * 300}, "ok"))
    assert path.endswith("/end.py`")
    assert command.startswith("-# ✅ **Bash** `start xx")


@untimed
@given(st.sampled_from(NAMES), inputs, st.text(max_size=80), st.text(max_size=80))
def test_any_input_makes_one_short_harmless_line(
    name: str, given_input: Mapping[str, object], detail: str, agent: str
) -> None:
    states: tuple[State, ...] = ("running", "ok", "error", "denied")
    lines = [tool_line(Tool("1", name, given_input, state, detail, agent)) for state in states]
    assert len({units(line) for line in lines}) == 1
    for line in lines:
        assert "\n" not in line
        assert line.count("`") - line.count("\\`") in (0, 2)
        assert width(line.replace("\\", "")) <= 180
