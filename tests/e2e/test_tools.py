"""What a thread shows of Claude's tools: lines, small changes, lists, subagents, outputs."""

import json
import re
import signal
from typing import Any

import pytest

from bridge.rehearsal.discord.components import BUTTON
from tests.e2e.asked import attached, button, items, press
from tests.e2e.rig import Message, Rig

pytestmark = pytest.mark.e2e


def call(name: str, **given: Any) -> str:
    return f"TOOL: {json.dumps({'name': name, 'input': given})}"


def steps(*each: str) -> str:
    return f"STEPS: {' ;; '.join(each)}"


def last(rig: Rig, thread: str) -> Message:
    return [m for m in rig.discord.messages(thread) if m["author"]["id"] == rig.discord.bot["id"]][
        -1
    ]


def answers(pressed: Any) -> list[Message]:
    """What a press was answered with so far."""
    return [r for r in (pressed.response, *pressed.followups) if r]


async def test_an_edit_shows_its_small_change_without_harm(rig: Rig) -> None:
    file = rig.work / "a.py"
    file.write_text("one\nx = 1\nthree\n")
    changed = call("Edit", file_path=str(file), old_string="x = 1", new_string="x = '```@everyone'")
    thread = await rig.open(steps(call("Read", file_path=str(file)), changed))
    shown = await rig.settled(thread, 1)
    assert "✅ **Read** `a.py`\n" in shown
    assert re.search(r"\*\*Edit\*\* `a\.py` \+1 .1\n```diff\n-x = 1\n\+x = '``", shown)
    assert shown.count("```") == 2
    assert not any(m["mention_everyone"] for m in rig.discord.messages(thread))


@pytest.mark.parametrize("tasks", ["1", "0"])
async def test_claudes_list_is_one_list_that_lives(rig: Rig, tasks: str) -> None:
    await rig.stop()
    rig.settings |= {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": tasks}
    await rig.start()
    if tasks == "1":
        first = (
            call("TaskCreate", subject="Read it", description="d", activeForm="Reading"),
            call("TaskCreate", subject="Test it", description="d", activeForm="Testing"),
            call("TaskUpdate", taskId="1", status="in_progress"),
        )
        second = (call("TaskUpdate", taskId="1", status="completed"),)
    else:
        todos = [{"content": "Read it", "status": "in_progress", "activeForm": "Reading"},
                 {"content": "Test it", "status": "pending", "activeForm": "Testing"}]  # fmt: skip
        first = (call("TodoWrite", todos=todos),)
        second = (call("TodoWrite", todos=[{**todos[0], "status": "completed"}, todos[1]]),)
    thread = await rig.open(steps(*first))
    shown = await rig.settled(thread, 1)
    assert "-# 📋 0 of 2 done\n-# ⏩ Read it\n-# ⬜ Test it\n" in shown
    assert "**Task" not in shown
    assert "**Todo" not in shown
    await rig.say(thread, steps(*second))
    shown = await rig.settled(thread, 2)
    assert "-# 📋 1 of 2 done\n-# ✅ Read it\n-# ⬜ Test it\n" in shown


async def test_a_subagent_is_one_line_that_counts_its_calls(rig: Rig) -> None:
    task = call(
        "Agent",
        description="Look around",
        prompt="STEPS: RUN: echo a ;; RUN: echo b",
        subagent_type="general-purpose",
        run_in_background=False,
    )
    thread = await rig.open(task)
    shown = await rig.settled(thread, 1)
    assert "✅ **Agent** Look around · 2 calls" in shown
    assert "**Bash**" not in shown


async def test_the_end_of_a_task_in_the_background_is_told(rig: Rig) -> None:
    command = call("Bash", command="sleep 0.5", description="Wait", run_in_background=True)
    thread = await rig.open(command)
    shown = await rig.answer(thread, "🔔 In the background, completed")
    assert "**Bash** `sleep 0.5` · in the background" in shown


@pytest.mark.settings(BRIDGE_VERBOSITY="quiet")
async def test_a_quiet_thread_has_only_words_and_errors(rig: Rig) -> None:
    thread = await rig.open(steps("RUN: echo fine", "RUN: seq 100; exit 3", "SAY: done"))
    shown = await rig.settled(thread, 1)
    assert "echo fine" not in shown
    assert "❌ **Bash** `seq 100; exit 3`" in shown
    assert "done" in shown
    assert not items(last(rig, thread), BUTTON)


@pytest.mark.settings(BRIDGE_VERBOSITY="full")
async def test_a_full_thread_has_the_outputs_too(rig: Rig) -> None:
    thread = await rig.open(steps("RUN: seq 100; echo '```'", "SAY: done"))
    shown = await rig.settled(thread, 1)
    assert "```\n1\n2\n3\n4\n… 93 more lines\n98\n99\n100\n" in shown
    assert shown.count("```") == 2


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
async def test_a_long_output_is_shown_when_it_is_asked_for(
    rig: Rig, number: signal.Signals | None
) -> None:
    thread = await rig.open(steps("RUN: seq 20000 # long", "RUN: echo short", "SAY: done"))
    shown = await rig.settled(thread, 1)
    assert "```" not in shown
    await rig.until(lambda: items(last(rig, thread), BUTTON), within=30, what="there is a button")
    if number is not None:
        await rig.restart(number)
    pressed = await press(rig, thread, last(rig, thread), "Show output")
    await pressed.acked()
    answer = await rig.until(
        lambda: next((r for r in answers(pressed) if r["attachments"]), None), within=30
    )
    text = attached(rig, answer)
    assert text.startswith("=== Bash seq 20000 # long ===\n1\n2\n")
    assert "\n19999\n20000\n" in text
    assert "=== Bash echo short ===\nshort\n" in text
    assert rig.shown(thread) == shown


async def test_a_short_output_needs_no_button_and_a_stranger_gets_none(rig: Rig) -> None:
    thread = await rig.open(steps("RUN: echo short", "SAY: done"))
    await rig.settled(thread, 1)
    assert not items(last(rig, thread), BUTTON)
    await rig.say(thread, steps("RUN: seq 100", "SAY: done"))
    await rig.settled(thread, 2)
    await rig.until(lambda: items(last(rig, thread), BUTTON), within=30, what="there is a button")
    stranger = rig.discord.add_user("stranger")
    shown = last(rig, thread)
    pressed = await rig.discord.press(
        thread, shown["id"], button(shown, "Show output"), author=stranger
    )
    assert "not on this bot's list" in await pressed.done()
