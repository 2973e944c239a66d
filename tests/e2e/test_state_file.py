"""Whatever lies where the state is kept: the bot starts, keeps what it can, and says so."""

import asyncio
import json
import sys
from collections.abc import Callable

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

Damage = Callable[[bytes], bytes]


def other_version(state: bytes) -> bytes:
    return json.dumps({**json.loads(state), "version": 99, "of_the_future": [1]}).encode()


def odd_record(state: bytes) -> bytes:
    tree = json.loads(state)
    tree["threads"]["not an id"] = {"sid": 1}
    return json.dumps(tree).encode()


UNREADABLE: dict[str, Damage] = {
    "empty": lambda state: b"",
    "an empty object": lambda state: b"{}",
    "binary": lambda state: bytes(range(256)),
    "cut in the head": lambda state: state[:20],
}
READABLE: dict[str, Damage] = {
    "cut behind the records": lambda state: state[:-3],
    "of another version": other_version,
    "with an odd record": odd_record,
    "without a version": lambda state: state.replace(b'"version": 1,', b""),
}


async def stopped(rig: Rig) -> tuple[str, bytes]:
    """A thread with one turn in it, and the state as the bot left it."""
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    assert await rig.stop() == 0
    return thread, rig.state_file.read_bytes()


def log_since(rig: Rig, before: int) -> str:
    return rig.log.read_bytes()[before:].decode()


@pytest.mark.parametrize("how", UNREADABLE)
async def test_a_file_that_cannot_be_read_is_set_aside_and_its_backup_is_used(
    rig: Rig, how: str
) -> None:
    thread, state = await stopped(rig)
    bad = UNREADABLE[how](state)
    rig.state_file.write_bytes(bad)
    rig.state_file.with_name("state.json.bak").write_bytes(state)
    logged = rig.log.stat().st_size
    await rig.start()
    (aside,) = rig.state.glob("state.json.corrupt-*")
    assert aside.read_bytes() == bad
    assert aside.name in log_since(rig, logged)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")
    assert len(rig.starts.all()) == 1


@pytest.mark.parametrize("how", ["empty", "binary"])
async def test_without_any_state_the_threads_of_the_bot_still_work(rig: Rig, how: str) -> None:
    thread, state = await stopped(rig)
    bad = UNREADABLE[how](state)
    rig.state_file.write_bytes(bad)
    rig.state_file.with_name("state.json.bak").write_bytes(bad)
    logged = rig.log.stat().st_size
    await rig.start()
    assert [path.read_bytes() for path in rig.state.glob("*.corrupt-*")] == [bad, bad]
    assert "starts with an empty state" in log_since(rig, logged)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "Echo #1: beta two | saw: ")
    other = await rig.open("gamma three")
    await rig.answer(other, "Echo #1: gamma three | saw: ")
    assert rig.prompts() == ["alpha one", "beta two", "gamma three"]


@pytest.mark.parametrize("how", READABLE)
async def test_what_can_be_read_of_a_damaged_file_is_kept(rig: Rig, how: str) -> None:
    thread, state = await stopped(rig)
    bad = READABLE[how](state)
    rig.state_file.write_bytes(bad)
    rig.state_file.with_name("state.json.bak").unlink(missing_ok=True)
    logged = rig.log.stat().st_size
    await rig.start()
    names = [path.name for path in rig.state.glob("state.json.*") if path.read_bytes() == bad]
    assert any(f"kept as {name}." in log_since(rig, logged) for name in names)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")


async def test_a_missing_file_is_made_of_its_backup(rig: Rig) -> None:
    thread, _ = await stopped(rig)
    rig.state_file.rename(rig.state_file.with_name("state.json.bak"))
    logged = rig.log.stat().st_size
    await rig.start()
    assert "state.json is missing" in log_since(rig, logged)
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")


async def test_a_state_that_cannot_be_used_is_named_and_ends_the_start(rig: Rig) -> None:
    await stopped(rig)
    rig.state_file.unlink()
    rig.state_file.mkdir()
    code, said = await another_bot(rig)
    assert code == 1
    assert str(rig.state_file) in said
    assert "Traceback" not in said


async def test_a_second_bot_on_the_same_state_refuses_to_start(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    identified = rig.discord.identifies
    code, said = await another_bot(rig)
    assert rig.bot is not None
    assert code == 1
    assert f"{rig.state} is in use by process {rig.bot.pid}" in said
    assert "Traceback" not in said
    assert rig.discord.identifies == identified
    await rig.say(thread, "beta two")
    await rig.answer(thread, "beta two | saw: alpha one")


async def another_bot(rig: Rig) -> tuple[int | None, str]:
    """Start one more bot with the same settings; its exit code and what it said."""
    bot = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bridge", "run"),
        env=rig.environment(),
        cwd=rig.work,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(60):
            said, _ = await bot.communicate()
    finally:
        if bot.returncode is None:
            bot.kill()
            await bot.wait()
    return bot.returncode, said.decode()
