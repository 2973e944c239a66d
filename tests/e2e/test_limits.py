"""The two time limits of a turn: how long it may be silent, and how long it may take."""

import pytest

from tests.e2e.programs import running
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SILENCE = "gave no sign of life for"
LENGTH = "took longer than"


@pytest.mark.settings(BRIDGE_SILENCE_TIMEOUT="4")
async def test_a_silent_turn_ends_with_a_message_and_the_queue_goes_on(rig: Rig) -> None:
    """B38, B08: the model never answers; the session and even its process stay."""
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    session, (cli,) = await rig.session(thread), rig.clis()
    await rig.say(thread, "HANG")
    await rig.say(thread, "queued")
    shown = await rig.answer(thread, "queued | saw: hello / HANG")
    assert shown.count(SILENCE) == shown.count("⚠️") == 1
    assert "BRIDGE_SILENCE_TIMEOUT" in shown
    assert await rig.session(thread) == session
    assert rig.clis() == [cli]


@pytest.mark.settings(BRIDGE_SILENCE_TIMEOUT="3", BRIDGE_IDLE_TIMEOUT="0.2")
async def test_a_silent_first_turn_keeps_its_session(rig: Rig) -> None:
    """Its process has ended before the next message, which has the first one in its context."""
    thread = await rig.open("HANG")
    await rig.answer(thread, SILENCE)
    await rig.eventually(lambda: not rig.clis(), what="the idle process is gone")
    await rig.say(thread, "again")
    await rig.answer(thread, "again | saw: HANG")


@pytest.mark.settings(BRIDGE_SILENCE_TIMEOUT="6")
async def test_tries_of_the_model_are_signs_of_life(rig: Rig) -> None:
    """The CLI waits 0.6, 1.2, 2.3 and 4.4 s before them, together longer than the limit."""
    thread = await rig.open("ERROR 529 times=4")
    await rig.answer(thread, "The model does not answer (status 529); try 4 of")
    shown = await rig.answer(thread, "Echo #1", within=60)
    assert "⚠️" not in shown
    assert "The model does not answer" not in shown


@pytest.mark.settings(BRIDGE_TURN_TIMEOUT="6")
async def test_a_turn_that_takes_too_long_ends_with_a_message(rig: Rig) -> None:
    """It is not silent at all; what Claude had said until then stays."""
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    await rig.say(thread, "SLOW 30 at work")
    await rig.say(thread, "queued")
    shown = await rig.answer(thread, "queued | saw: hello / SLOW 30 at work")
    assert shown.count(LENGTH) == shown.count("⚠️") == 1
    assert "BRIDGE_TURN_TIMEOUT" in shown
    assert "working working" in shown
    assert "END-OF-SLOW" not in shown


@pytest.mark.settings(BRIDGE_TURN_TIMEOUT="6", BRIDGE_STOP_GRACE="0.5")
async def test_a_command_that_takes_too_long_ends_with_its_turn(rig: Rig) -> None:
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    await rig.say(thread, "RUN: sh -c 'sleep 600.125; true'")
    await rig.eventually(lambda: running("600.125"), what="the command runs")
    await rig.answer(thread, LENGTH)
    await rig.eventually(lambda: not running("600.125"), what="the command is gone")
    shown = rig.shown(thread)
    assert "❌" in shown or "not finished" in shown, shown
    await rig.say(thread, "again")
    await rig.answer(thread, "again | saw: hello / RUN: sh -c 'sleep 600.125; true'")
