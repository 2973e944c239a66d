"""Sessions made smaller before they are resumed: when, by whom, how it is shown and undone."""

import asyncio
import json
import os
import signal
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bridge.rehearsal.model import Error, Text
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

ARCHIVE = "/tool-results/"
SMALL: dict[str, str] = {"BRIDGE_COMPACT_AT": "0.03", "BRIDGE_COMPACT_TO": "0.02"}
WORK = " ;; ".join(f"RUN: seq {n} {n + 4000}" for n in range(1000, 10000, 1000))
small = pytest.mark.settings(**SMALL)


async def begun(rig: Rig) -> tuple[str, str]:
    """A thread over the threshold, and its session."""
    thread = await rig.open(f"STEPS: {WORK} ;; SAY: all done")
    await rig.settled(thread, 1)
    for count, words in enumerate(("beta two", "gamma three"), 2):
        await rig.say(thread, words)
        await rig.settled(thread, count)
    return thread, await rig.session(thread)


def transcript(rig: Rig, sid: str) -> Path:
    (found,) = [path for path in rig.transcripts() if path.stem == sid]
    return found


def age(path: Path) -> bytes:
    """Move a session into the past, so that its prompt cache has expired."""
    lines: list[str] = []
    for line in path.read_text().splitlines():
        record: dict[str, Any] = json.loads(line)
        if at := record.get("timestamp"):
            before = datetime.fromisoformat(at) - timedelta(hours=3)
            record["timestamp"] = before.isoformat().replace("+00:00", "Z")
        lines.append(json.dumps(record, separators=(",", ":"), ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n")
    return path.read_bytes()


async def left_for_hours(rig: Rig) -> tuple[str, str, bytes]:
    """A thread over the threshold that nobody serves, its session, and that one's file."""
    thread, sid = await begun(rig)
    await rig.kill_clis()
    return thread, sid, age(transcript(rig, sid))


def stubs(rig: Rig) -> int:
    """How many names of files of an archive the model was shown in the newest request."""
    return json.dumps(rig.model.requests[-1].messages).count(ARCHIVE)


def reasons(rig: Rig, thread: str) -> list[tuple[str, str]]:
    return [(past["sid"], past["reason"]) for past in rig.record(thread)["lineage"]]


@small
async def test_a_long_session_whose_cache_has_expired_is_made_smaller_and_can_be_taken_back(
    rig: Rig,
) -> None:
    thread, old, before = await left_for_hours(rig)
    await rig.say(thread, "delta four")
    shown = await rig.settled(thread, 4)
    assert "delta four | saw: " in shown
    assert "beta two / gamma three" in shown
    assert shown.count("🗜️") == 1
    assert "removed) in" in shown
    assert stubs(rig)
    new = await rig.session(thread)
    assert new != old
    assert reasons(rig, thread) == [(old, "compaction")]
    assert transcript(rig, old).read_bytes() == before
    assert rig.starts.all()[-1].resumed == new
    assert "--fork-session" not in rig.starts.all()[-1].arguments

    words = await rig.command(thread, "context")
    assert f"`{old}`" in words
    assert "(compaction)" in words
    words = await rig.command(thread, "compact", undo=True, dry_run=True)
    assert f"go back to session `{old}`" in words
    assert rig.record(thread)["sid"] == new
    words = await rig.command(thread, "compact", undo=True)
    assert old in words
    assert "does not know the 1 prompt since" in words
    await rig.say(thread, "epsilon five")
    shown = await rig.answer(thread, "Echo #4: epsilon five")
    assert not stubs(rig)
    assert rig.starts.all()[-1].resumed == old
    assert "was undone" in await rig.command(thread, "context")


@small
async def test_within_the_caches_time_nothing_is_made_smaller(rig: Rig) -> None:
    thread, old = await begun(rig)
    await rig.kill_clis()
    words = await rig.command(thread, "context")
    assert "not due: the prompt cache is warm" in words
    await rig.say(thread, "delta four")
    shown = await rig.settled(thread, 4)
    assert "🗜️" not in shown
    assert not stubs(rig)
    assert await rig.session(thread) == old


@small
async def test_two_quick_messages_start_one_compaction(rig: Rig) -> None:
    thread, old, _ = await left_for_hours(rig)
    await rig.say(thread, "delta four")
    await rig.say(thread, "epsilon five")
    shown = await rig.settled(thread, 5)
    assert shown.count("🗜️") == 1
    assert reasons(rig, thread) == [(old, "compaction")]
    assert len(rig.transcripts()) == 2
    assert len(rig.starts.all()) == 2


def uncollected() -> subprocess.Popen[bytes]:
    """A process that has ended, and still has its number until somebody waits for it."""
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process


@small
async def test_a_session_that_may_not_be_made_smaller_is_resumed_as_it_is(rig: Rig) -> None:
    thread, old, _ = await left_for_hours(rig)
    # The CLI's register names a process that has ended, and that nobody has collected yet: that
    # is no reason not to resume the session, but one to leave its file alone.
    register = rig.home / ".claude" / "sessions" / "1.json"
    register.parent.mkdir(exist_ok=True)
    ended = uncollected()
    register.write_text(json.dumps({"pid": ended.pid, "sessionId": old}))
    await rig.say(thread, "delta four")
    shown = await rig.settled(thread, 4)
    assert "was not made smaller: process" in shown
    assert "delta four | saw: " in shown
    assert not stubs(rig)
    assert await rig.session(thread) == old
    assert "not compacted: process" in rig.log.read_text()
    assert ended.wait() == 0


@small
async def test_a_command_makes_a_live_thread_smaller_at_once_and_a_dry_run_nothing(
    rig: Rig,
) -> None:
    thread, old = await begun(rig)
    (cli,) = rig.clis()
    words = await rig.command(thread, "compact", dry_run=True, target=5)
    assert "Would make the session smaller" in words
    assert "Nothing was changed" in words
    assert cli.is_running()
    assert len(rig.transcripts()) == 1

    words = await rig.command(thread, "compact", target=5)
    assert "The session is smaller now" in words
    assert "seq" in words
    new = await rig.eventually(lambda: (sid := rig.record(thread)["sid"]) != old and sid)
    assert not rig.clis()
    await rig.say(thread, "delta four")
    await rig.answer(thread, "delta four | saw: ")
    assert stubs(rig)
    assert rig.starts.all()[-1].resumed == new
    await rig.settled(thread, 4)

    words = await rig.command(thread, "compact", strategy="auto", target=5)
    assert "Nothing was changed" in words or "smaller now" in words


@small
async def test_a_command_waits_for_the_turn_that_runs_and_comes_before_the_next(rig: Rig) -> None:
    thread, old = await begun(rig)
    await rig.say(thread, "SLOW 2 delta")
    await rig.answer(thread, "working")
    await rig.say(thread, "epsilon five")
    words = await rig.command(thread, "compact", target=5)
    assert "smaller now" in words or "right after it" in words
    shown = await rig.settled(thread, 5)
    assert "END-OF-SLOW SLOW 2 delta" in shown
    assert stubs(rig)
    assert [start.resumed for start in rig.starts.all()] == [None, await rig.session(thread)]
    assert reasons(rig, thread) == [(old, "compaction")]


@pytest.mark.settings(**SMALL, BRIDGE_IDLE_TIMEOUT="2s")
async def test_what_an_idle_process_leaves_is_made_smaller_in_the_background(rig: Rig) -> None:
    thread, old = await begun(rig)
    age(transcript(rig, old))
    new = await rig.eventually(lambda: (sid := rig.record(thread)["sid"]) != old and sid)
    assert len(rig.starts.all()) == 1
    await rig.say(thread, "delta four")
    shown = await rig.settled(thread, 4)
    assert shown.count("🗜️") == 1
    assert stubs(rig)
    assert rig.starts.all()[-1].resumed == new


@small
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_leaves_the_original_or_the_smaller_session(rig: Rig, when: str) -> None:
    thread, old, before = await left_for_hours(rig)
    await rig.say(thread, "delta four")
    if when == "after":
        await rig.eventually(lambda: rig.record(thread)["sid"] != old, what="the record has it")
    else:
        await rig.eventually(lambda: rig.record(thread).get("turn"), what="the turn stands there")
    await rig.restart(signal.SIGKILL)
    shown = await rig.answer(thread, "delta four | saw: ", within=60)
    assert "beta two / gamma three" in shown
    assert shown.count("delta four | saw: ") == 1
    assert transcript(rig, old).read_bytes() == before
    assert rig.prompts().count("delta four") == 1


# --- too long ----------------------------------------------------------------------------------
TOO_LONG = Error("prompt-too-long")


async def too_long(rig: Rig, last: str) -> None:
    """Let the model refuse the prompt until the bot takes this step, then answer."""
    rig.model.script("delta", TOO_LONG)
    await rig.eventually(lambda: f"too long; next: {last}" in rig.log.read_text(), within=60)
    rig.model.script("delta", Text("answered at last"))


def asked_in(rig: Rig) -> list[str | None]:
    """The sessions in which the prompt was asked; the CLI itself tries more than once."""
    return [r.session for r in rig.model.requests if r.prompts and "delta" in r.prompts[-1]]


@small
async def test_a_session_too_long_is_made_smaller_and_asked_the_same_again(rig: Rig) -> None:
    thread, old = await begun(rig)
    refusing = asyncio.create_task(too_long(rig, "compaction"))
    await rig.say(thread, "delta four")
    await refusing
    shown = await rig.answer(thread, "answered at last", within=60)
    assert "no longer fitted" in shown
    await rig.settled(thread, 4)
    assert stubs(rig)
    assert len(set(asked_in(rig))) == 2
    last = rig.model.requests[-1].prompts
    assert [p for p in last if "delta" in p] == ["delta four"]
    assert (old, "compaction") in reasons(rig, thread)


@small
async def test_where_nothing_else_helps_a_fresh_session_is_told_the_last_words(rig: Rig) -> None:
    thread, _ = await begun(rig)
    refusing = asyncio.create_task(too_long(rig, "seed"))
    await rig.say(thread, "delta four")
    await refusing
    shown = await rig.answer(thread, "answered at last", within=60)
    assert "Claude sums the conversation up" in shown
    assert "A fresh session takes over" in shown
    await rig.settled(thread, 4)
    assert len(set(asked_in(rig))) == 4
    (prompt,) = rig.model.requests[-1].prompts
    assert "gamma three" in prompt
    assert prompt.endswith("delta four")


async def test_a_first_prompt_that_is_too_long_itself_is_not_asked_again(rig: Rig) -> None:
    thread = await rig.open("ERROR prompt-too-long alpha")
    await rig.answer(thread, "no longer fits")
    assert len(rig.starts.all()) == 1
