"""What of a reply a thread sees: quiet, normal, full; the list; subagents in one line."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from bridge.render import render
from bridge.render.checklist import checklist_lines, played
from bridge.render.segments import (
    Break,
    Checklist,
    Item,
    Note,
    Part,
    Progress,
    Segment,
    State,
    Text,
    Tool,
)
from bridge.render.view import View

AGENT = Tool("a", "Agent", {"description": "Look"}, "running")
TOKEN = "ghp_" + "a1B2" * 9


def inner(number: int, state: State) -> Tool:
    given_input = {"command": f"ls {number}"}
    return Tool(f"i{number}", "Bash", given_input, state, agent="Look", parent="a")


def create(number: int) -> Tool:
    output = f"Task #{number} created successfully: x"
    return Tool(f"c{number}", "TaskCreate", {"subject": f"Do {number}"}, "ok", output=output)


def update(number: str, status: str, state: State = "ok") -> Tool:
    return Tool(f"u{number}{status}", "TaskUpdate", {"taskId": number, "status": status}, state)


# --- how much is shown ----------------------------------------------------------------------------
def test_a_quiet_thread_sees_words_and_errors() -> None:
    failed = Tool("2", "Bash", {}, "error", "exit 1")
    words, told, minor = Text("hello"), Note("compacted"), Note("thinking", minor=True)
    parts: list[Part] = [words, Tool("1", "Bash", {}, "ok"), Break(), failed, told, minor]
    assert View("quiet").of(parts) == [words, Break(), failed, told]


def test_outputs_are_for_full_threads_and_for_tools_that_are_called_for_them() -> None:
    said = Tool("1", "Bash", {}, "ok", output="fine")
    read = Tool("2", "Read", {}, "ok", output="fine")
    assert [getattr(s, "output", "") for s in View("normal").of([said, read])] == ["", ""]
    assert [getattr(s, "output", "") for s in View("full").of([said, read])] == ["fine", ""]


def test_only_a_long_output_of_such_a_tool_asks_for_a_button() -> None:
    long = "x\n" * 50
    assert View().leaves_out([Tool("1", "Bash", {}, "ok", output=long)])
    assert not View().leaves_out([Tool("1", "Bash", {}, "ok", output="short")])
    assert not View().leaves_out([Tool("1", "Read", {}, "ok", output=long)])
    assert not View("quiet").leaves_out([Tool("1", "Bash", {}, "ok", output=long)])


# --- subagents ------------------------------------------------------------------------------------
def test_a_subagents_calls_are_told_in_its_own_line() -> None:
    shown = View().of([AGENT, inner(1, "ok"), inner(2, "running")])
    assert [getattr(segment, "progress", "") for segment in shown] == ["2 calls · Bash ls 2"]
    assert len(View("full").of([AGENT, inner(1, "ok")])) == 2
    assert View().of([inner(1, "ok")]) == [inner(1, "ok")]  # whose it is was not heard


# --- the list -------------------------------------------------------------------------------------
def test_one_list_stands_for_all_calls_that_keep_it() -> None:
    calls: list[Part] = [create(1), Text("a"), create(2), update("1", "completed")]
    items = (Item("Do 1", "completed"), Item("Do 2", "pending"))
    assert View().of(calls) == [Checklist(items), Text("a")]
    assert list(View().after(calls).values()) == list(items)


def test_a_list_goes_on_in_the_next_reply_until_all_of_it_is_done() -> None:
    before = View().after([create(1), create(2)])
    done: list[Part] = [update("1", "completed"), update("2", "completed")]
    assert View(items=before).of(done)[0] == Checklist(
        (Item("Do 1", "completed"), Item("Do 2", "completed"))
    )
    assert View(items=before).after(done) == {}


def test_a_call_that_failed_changes_nothing_and_is_shown() -> None:
    failed = update("1", "completed", "error")
    assert View().of([create(1), failed]) == [Checklist((Item("Do 1", "pending"),)), failed]


def test_a_task_can_be_deleted_and_one_that_was_never_heard_of_has_its_number() -> None:
    assert played([update("1", "deleted")], {"1": Item("x", "pending")}) == {}
    assert played([update("7", "in_progress")], {}) == {"7": Item("Task 7", "in_progress")}


progresses: st.SearchStrategy[Progress] = st.sampled_from(["pending", "in_progress", "completed"])
items = st.lists(st.builds(Item, st.text(max_size=200), progresses), max_size=40)


@given(items)
def test_a_list_has_few_short_lines_and_loses_no_count(listed: list[Item]) -> None:
    lines = checklist_lines(tuple(listed))
    assert len(lines) <= 17
    assert all(line.startswith("-# ") and "\n" not in line for line in lines)
    more = [line for line in lines if line.startswith("-# … and ")]
    hidden = int(more[0].split()[3]) if more else 0
    assert len(lines) - 1 - len(more) + hidden == len(listed)


values = st.recursive(st.none() | st.text(max_size=9), lambda v: st.lists(v, max_size=3))
keeping = st.builds(
    Tool,
    st.uuids().map(str),
    st.sampled_from(["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"]),
    st.dictionaries(st.sampled_from(["todos", "taskId", "status", "subject"]), values),
    st.sampled_from(["running", "ok", "error", "denied"]),
    output=st.sampled_from(["", "Task #1 created successfully: x"]),
)


@given(st.lists(keeping, max_size=6))
def test_any_input_makes_a_list_or_its_own_line(calls: list[Tool]) -> None:
    shown = View().of(calls)
    assert sum(isinstance(segment, Checklist) for segment in shown) <= 1


# --- blocks below a line --------------------------------------------------------------------------
def block(tool: Tool) -> str:
    segments: list[Segment] = [tool]
    return "\n".join(render(segments))


def test_a_small_edit_shows_its_change_and_a_large_one_its_size() -> None:
    def edit(old: str, new: str) -> Tool:
        given_input: Mapping[str, object] = {"file_path": "a", "old_string": old, "new_string": new}
        return Tool("1", "Edit", given_input, "ok")

    assert block(edit("a", "b")).endswith("+1 −1\n```diff\n-a\n+b\n```")  # noqa: RUF001
    assert "```" not in block(edit("a\n" * 20, "b\n" * 20))


def test_blocks_are_harmless_and_secrets_masked_before_they_are_cut() -> None:
    output = f"```\n@everyone\n{'x' * 80} {TOKEN}"
    shown = block(Tool("1", "Bash", {}, "ok", output=output))
    assert shown.count("```") == 2
    assert TOKEN[:12] not in shown
