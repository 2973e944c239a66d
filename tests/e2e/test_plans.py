"""Plans of Claude: shown in full, approved, or sent back with a comment."""

import json
import signal
from typing import Any

import pytest

from tests.e2e.asked import asked, attached, closed, fill, labels, press, question
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e, pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")]

APPROVED = "Tool said: User has approved your plan"


def write(rig: Rig) -> str:
    call: dict[str, Any] = {
        "name": "Write",
        "input": {"file_path": str(rig.work / "made"), "content": "x"},
    }
    return f"TOOL: {json.dumps(call)}"


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
async def test_an_approved_plan_is_carried_out_and_edits_are_asked_for(
    rig: Rig, number: signal.Signals | None
) -> None:
    thread = await rig.open("PLAN the @everyone code")
    shown = await asked(rig, thread)
    assert "📋 **Claude has a plan**" in shown["content"]
    assert "3. Run the tests" in shown["content"]
    assert not shown["mention_everyone"]
    assert labels(shown) == ["Approve", "Approve and auto-accept edits", "Keep planning"]
    if number is not None:
        await rig.restart(number)
    await (await press(rig, thread, shown, "Approve")).acked()
    await rig.answer(thread, APPROVED)
    await closed(rig, thread, "✅ plan approved by")
    await rig.settled(thread, 1)
    await rig.say(thread, write(rig))
    await (await press(rig, thread, await asked(rig, thread), "Deny")).acked()
    await rig.settled(thread, 2)


async def test_a_plan_can_be_approved_with_all_its_edits(rig: Rig) -> None:
    thread = await rig.open("PLAN the code")
    shown = await asked(rig, thread)
    await (await press(rig, thread, shown, "Approve and auto-accept edits")).acked()
    await rig.answer(thread, APPROVED)
    await closed(rig, thread, "edits are accepted from now on")
    await rig.settled(thread, 1)
    await rig.say(thread, write(rig))
    await rig.settled(thread, 2)
    assert (rig.work / "made").read_text() == "x"
    assert rig.shown(thread).count("asks for permission") == 0


@pytest.mark.parametrize("way", ["form", "message"])
async def test_who_keeps_planning_says_what_is_to_be_different(rig: Rig, way: str) -> None:
    thread = await rig.open("PLAN the code")
    shown = await asked(rig, thread)
    if way == "form":
        opened = await press(rig, thread, shown, "Keep planning")
        await (await fill(rig, opened, "tests first")).acked()
    else:
        await rig.say(thread, "tests first")
    await rig.answer(thread, "Their comment: tests first")
    await closed(rig, thread, "asks to keep planning: tests first")
    await rig.settled(thread, 1)
    await rig.say(thread, "and now")
    await rig.answer(thread, "Echo #2: and now")


async def test_all_of_a_long_plan_is_there(rig: Rig) -> None:
    words = " ".join(f"w{n:05}" for n in range(800))
    thread = await rig.open("", files={"message.txt": f"PLAN {words}".encode()})
    last = await asked(rig, thread)
    shown = rig.shown(thread)
    assert all(word in shown for word in words.split())
    assert not attached(rig, last)
    await (await press(rig, thread, last, "Approve")).acked()
    await rig.settled(thread, 1)

    words = " ".join(f"w{n:05}" for n in range(5000))
    await rig.say(thread, "", files={"message.txt": f"PLAN {words}".encode()})
    last = await asked(rig, thread)
    assert words in attached(rig, last)
    await (await press(rig, thread, last, "Approve")).acked()
    await rig.settled(thread, 2)
    assert question(rig, thread) is None
