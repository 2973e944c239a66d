"""The main job: a thread is a session, over turns and restarts."""

import signal

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e


async def test_a_thread_is_one_session_with_all_of_its_turns(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.answer(thread, "Echo #1: alpha one")
    await rig.say(thread, "beta two")
    shown = await rig.answer(thread, "Echo #2: beta two | saw: alpha one")
    assert shown.count("Echo #1") == 1
    assert len(rig.transcripts()) == 1
    assert len(rig.clis()) == 1


async def test_a_stopped_bot_goes_on_with_the_session(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    assert await rig.stop() == 0
    await rig.start()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert len(rig.clis()) == 1


async def test_a_bot_killed_in_mid_turn_shows_the_whole_answer_once(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await rig.say(thread, "SLOW 4 gamma")
    await rig.asked("SLOW 4 gamma")
    await rig.answer(thread, "working")
    before = [m["id"] for m in rig.discord.messages(thread)]
    await rig.restart(signal.SIGKILL)
    shown = await rig.answer(thread, "END-OF-SLOW SLOW 4 gamma")
    assert shown.count("END-OF-SLOW") == 1
    await rig.settled(thread, 2)
    assert [m["id"] for m in rig.discord.messages(thread)] == before
    assert rig.prompts().count("SLOW 4 gamma") == 1
    await rig.say(thread, "delta four")
    await rig.answer(thread, "delta four | saw: alpha one / SLOW 4 gamma")
    assert len(rig.transcripts()) == 1
