"""`/new fork:True`: a session that knows all of another one, which stays as it was."""

import signal
from pathlib import Path

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e


def transcript(rig: Rig, sid: str) -> Path:
    (found,) = [path for path in rig.transcripts() if path.stem == sid]
    return found


async def session(rig: Rig, thread: str, *, not_: str | None = None) -> str:
    """The thread's session as it stands on the disk, once there is one other than `not_`."""
    return await rig.eventually(
        lambda: (sid := rig.record(thread).get("sid")) != not_ and sid,
        what=f"a session other than {not_}",
    )


async def fork(rig: Rig, thread: str) -> str:
    return await rig.command(thread, "new", fork=True)


async def test_a_fork_knows_all_and_leaves_its_parent_byte_for_byte(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    assert "new session that knows all of this one" in await fork(rig, thread)
    before = transcript(rig, parent).read_bytes()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    child = await session(rig, thread, not_=parent)
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: alpha one / beta two")
    await rig.kill_clis()
    await rig.say(thread, "delta four")
    await rig.answer(thread, "delta four | saw: alpha one / beta two / gamma three")
    assert transcript(rig, parent).read_bytes() == before
    first, second, third = rig.starts.all()
    assert (first.sid, first.resumed) == (parent, None)
    assert (second.sid, second.resumed) == (child, parent)
    assert (third.sid, third.resumed) == (child, child)
    assert "--fork-session" not in third.arguments
    assert [past["sid"] for past in rig.record(thread)["lineage"]] == [parent]


async def test_a_fork_asked_for_twice_before_a_message_is_one_fork(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await fork(rig, thread)
    await fork(rig, thread)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert len(rig.starts.all()) == 2
    assert "forks at the next message" not in await rig.command(thread, "status")


async def test_a_fork_of_a_fork_knows_all_and_changes_neither_parent(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await fork(rig, thread)
    await rig.say(thread, "beta two")
    await rig.settled(thread, 2)
    await fork(rig, thread)
    before = {path: path.read_bytes() for path in rig.transcripts()}
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: alpha one / beta two")
    assert len(before) == 2
    assert {path: path.read_bytes() for path in before} == before
    assert len({start.sid for start in rig.starts.all()}) == 3


async def test_a_fork_asked_for_in_mid_turn_begins_after_that_turn(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    await rig.say(thread, "SLOW 2 beta")
    await rig.answer(thread, "working")
    assert "After the turn that runs" in await fork(rig, thread)
    await rig.answer(thread, "END-OF-SLOW SLOW 2 beta")
    await rig.settled(thread, 2)
    assert rig.record(thread)["sid"] == parent
    assert "END-OF-SLOW" in transcript(rig, parent).read_text()
    await rig.eventually(lambda: not rig.processes(), what="the parent's process ends")
    before = transcript(rig, parent).read_bytes()
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: alpha one / SLOW 2 beta")
    assert transcript(rig, parent).read_bytes() == before
    assert rig.starts.all()[-1].resumed == parent
    assert rig.starts.all()[-1].sid != parent


async def test_a_fork_asked_for_in_the_first_turn_of_all_branches_off_after_it(rig: Rig) -> None:
    thread = await rig.open("SLOW 2 alpha")
    await rig.answer(thread, "working")
    await fork(rig, thread)
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: SLOW 2 alpha")
    last = rig.starts.all()[-1]
    assert last.resumed == parent
    assert last.sid != parent


async def test_a_fork_asked_for_in_the_turn_that_forks_is_one_more_fork(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    await fork(rig, thread)
    await rig.say(thread, "SLOW 2 beta")
    await rig.answer(thread, "working")
    await fork(rig, thread)
    await rig.settled(thread, 2)
    child = await session(rig, thread, not_=parent)
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: alpha one / SLOW 2 beta")
    assert [(start.resumed) for start in rig.starts.all()] == [None, parent, child]
    assert len({start.sid for start in rig.starts.all()}) == 3


async def test_without_a_context_there_is_nothing_to_branch_off(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await rig.command(thread, "new")
    assert "nothing to branch off" in await fork(rig, thread)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    assert rig.starts.all()[-1].resumed is None


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_fork_that_was_asked_for_is_not_forgotten_over_a_restart(
    rig: Rig, how: signal.Signals
) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    await fork(rig, thread)
    await rig.restart(how)
    before = transcript(rig, parent).read_bytes()
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert await session(rig, thread, not_=parent) == rig.starts.all()[-1].sid
    assert transcript(rig, parent).read_bytes() == before


@pytest.mark.parametrize("asked", ["before the turn", "in the turn", "in the first turn"])
async def test_a_turn_goes_on_over_a_restart_where_a_fork_was_asked_for(
    rig: Rig, asked: str
) -> None:
    first = asked == "in the first turn"
    if not first:
        thread = await rig.open("alpha one")
        await rig.settled(thread, 1)
        if asked == "before the turn":
            await fork(rig, thread)
        await rig.say(thread, "SLOW 3 beta")
    else:
        thread = await rig.open("SLOW 3 beta")
    await rig.answer(thread, "working")
    if asked != "before the turn":
        await fork(rig, thread)
    started = rig.starts.all()
    await rig.restart(signal.SIGKILL)
    shown = await rig.answer(thread, "END-OF-SLOW SLOW 3 beta")
    shown = await rig.settled(thread, 1 if first else 2)
    assert shown.count("END-OF-SLOW") == 1
    assert rig.prompts().count("SLOW 3 beta") == 1
    assert rig.starts.all() == started
    await rig.eventually(lambda: not rig.record(thread).get("turn"), what="the turn is settled")
    assert rig.record(thread)["sid"] == started[-1].sid
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: " + "alpha one / " * (not first) + "SLOW 3 beta")
    forked = [start for start in rig.starts.all() if "--fork-session" in start.arguments]
    assert len(forked) == 1


async def test_a_forking_turn_that_dies_before_it_is_answered_is_forked_anew(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    await fork(rig, thread)
    before = transcript(rig, parent).read_bytes()
    await rig.say(thread, "HANG beta")
    await rig.asked("HANG beta")
    await rig.kill_clis()
    await rig.answer(thread, "SIGKILL")
    assert rig.record(thread)["sid"] == parent
    await rig.say(thread, "gamma three")
    await rig.answer(thread, "gamma three | saw: alpha one")
    assert transcript(rig, parent).read_bytes() == before
    assert [start.resumed for start in rig.starts.all()] == [None, parent, parent]
    assert len({start.sid for start in rig.starts.all()}) == 3


async def test_a_clean_session_takes_back_a_fork_that_was_asked_for(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await fork(rig, thread)
    await rig.command(thread, "new")
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    assert rig.starts.all()[-1].resumed is None


async def test_a_fork_of_a_session_that_is_gone_starts_afresh_once_and_says_so(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    parent = await session(rig, thread)
    await fork(rig, thread)
    transcript(rig, parent).unlink()
    await rig.say(thread, "beta two")
    shown = await rig.answer(thread, "Echo #1: beta two | saw: ")
    assert shown.count("Claude starts afresh") == 1
    await rig.say(thread, "gamma three")
    shown = await rig.answer(thread, "gamma three | saw: beta two")
    assert shown.count("Claude starts afresh") == 1
    assert [start.resumed for start in rig.starts.all()] == [None, parent, None]
