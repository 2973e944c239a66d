"""`/mode`: what Claude may do without asking, switched while it lives, and kept."""

import pytest

from tests.e2e.asked import asked, press, question
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e]


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")
async def test_a_mode_holds_at_once_and_over_restarts(rig: Rig) -> None:
    thread = await rig.open("RUN: touch one")
    await (await press(rig, thread, await asked(rig, thread), "Allow")).acked()
    await rig.settled(thread, 1)
    assert "Mode `acceptEdits` from now on" in await rig.command(thread, "mode", mode="acceptEdits")
    assert len(rig.clis()) == 1
    await rig.say(thread, "RUN: touch two")
    await rig.settled(thread, 2)
    assert (rig.work / "two").exists()
    assert "mode `acceptEdits`" in await rig.command(thread, "status")
    await rig.restart()
    await rig.kill_clis()
    await rig.say(thread, "RUN: touch three")
    await rig.settled(thread, 3)
    assert (rig.work / "three").exists()
    assert question(rig, thread) is None
    await rig.command(thread, "mode", mode="default")
    await rig.say(thread, "RUN: touch four")
    await (await press(rig, thread, await asked(rig, thread), "Deny")).acked()
    await rig.settled(thread, 4)
    assert not (rig.work / "four").exists()


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")
async def test_nobody_switches_all_questions_off_unless_the_operator_permits_it(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    refused = await rig.command(thread, "mode", mode="bypassPermissions")
    assert "BRIDGE_ALLOW_BYPASS" in refused
    await rig.say(thread, "RUN: touch one")
    await (await press(rig, thread, await asked(rig, thread), "Deny")).acked()
    await rig.settled(thread, 2)
    stranger = rig.discord.add_user("stranger")
    other = await rig.discord.slash(thread, "mode", author=stranger, mode="acceptEdits")
    assert "not on this bot's list" in await other.done()
    assert not rig.record(thread).get("settings", {}).get("permission_mode")


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default", BRIDGE_ALLOW_BYPASS="true")
async def test_an_operator_may_permit_to_never_ask(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    said = await rig.command(thread, "mode", mode="bypassPermissions")
    assert "never asks" in said
    await rig.say(thread, "RUN: mkfifo one")
    await rig.settled(thread, 2)
    assert (rig.work / "one").exists()
    assert question(rig, thread) is None


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")
async def test_after_an_approved_plan_a_thread_that_plans_goes_on_to_work(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    await rig.command(thread, "mode", mode="plan")
    await rig.say(thread, "PLAN it")
    await (await press(rig, thread, await asked(rig, thread), "Approve")).acked()
    await rig.settled(thread, 2)
    await rig.eventually(
        lambda: rig.record(thread)["settings"]["permission_mode"] == "default",
        what="the thread does not plan any more",
    )


async def test_a_mode_outside_of_a_session_is_explained(rig: Rig) -> None:
    await rig.settled(await rig.open("hello"), 1)
    answer = await rig.command(rig.discord.general, "mode", mode="plan")
    assert "This is no session" in answer
