"""Sessions go between threads and terminals: /resume, /sessions, /export, /handoff, titles."""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from bridge.rehearsal.model import Text
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

WITHIN = 30.0


@asynccontextmanager
async def terminal(rig: Rig, *arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A CLI that somebody else runs in the project's folder; it is left to end at the end."""
    environment = {k: v for k, v in rig.environment().items() if not k.startswith("BRIDGE_")}
    cli = await asyncio.create_subprocess_exec(
        *(str(rig.starts.program), "-p", "--verbose"),
        *("--input-format", "stream-json", "--output-format", "stream-json", *arguments),
        cwd=rig.work,
        env={**environment, "CLAUDE_CODE_ENTRYPOINT": "cli"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    assert cli.stdin is not None
    try:
        yield cli
    finally:
        cli.stdin.close()
        try:
            async with asyncio.timeout(WITHIN):
                await cli.wait()
        except TimeoutError:
            cli.kill()
            await cli.wait()


async def turn(cli: asyncio.subprocess.Process, prompt: str) -> None:
    assert cli.stdin is not None
    assert cli.stdout is not None
    message = {"role": "user", "content": prompt}
    line = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}
    cli.stdin.write(json.dumps(line).encode() + b"\n")
    async with asyncio.timeout(WITHIN):
        while json.loads(await cli.stdout.readline())["type"] != "result":
            pass


async def known(rig: Rig) -> None:
    """Wait until Discord knows the commands: the bot sends them right after it has connected."""
    told = rig.discord.commands
    await rig.until(lambda: told.on(rig.discord.guild_id), within=WITHIN)


async def spent(rig: Rig, thread: str, turns: int) -> dict[str, Any]:
    """What a thread has spent, once that many turns of it stand on the disk."""
    await rig.eventually(lambda: rig.record(thread).get("usage", {}).get("turns") == turns)
    return rig.record(thread)["usage"]


async def offered(rig: Rig, channel: str, typed: str) -> list[dict[str, Any]]:
    interaction = await rig.discord.autocomplete(channel, "resume", "session", typed)
    await rig.until(lambda: interaction.choices is not None, within=WITHIN)
    return interaction.choices or []


async def test_a_session_of_the_terminal_goes_on_in_a_thread_and_back(rig: Rig) -> None:
    sid = str(uuid.uuid4())
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    old = await rig.session(thread)
    before = (await spent(rig, thread, 1))["cost_usd"]
    async with terminal(rig, "--session-id", sid) as cli:
        await turn(cli, "terminal words")
        assert "has that session open" in await rig.command(thread, "resume", session=sid)
    choices = await offered(rig, thread, "terminal")
    assert [choice["value"] for choice in choices] == [sid]
    assert re.fullmatch(r"terminal words · .+ · \d+(\.\d)? [kM]B", choices[0]["name"])
    assert {choice["value"] for choice in await offered(rig, thread, "")} == {sid, old}
    assert "goes on with **terminal words**" in await rig.command(thread, "resume", session=sid)
    await rig.say(thread, "beta")
    await rig.answer(thread, "Echo #2: beta | saw: terminal words")
    record = rig.record(thread)
    assert record["sid"] == sid
    assert (record["lineage"][-1]["sid"], record["lineage"][-1]["reason"]) == (old, "resume")
    # What the terminal had spent is not counted again.
    usage = await spent(rig, thread, 2)
    assert 0 < usage["cost_usd"] - before < usage["session_cost_usd"]

    shown = await rig.command(thread, "handoff")
    assert f"cd {rig.work} && claude --resume {sid}" in shown
    await rig.eventually(lambda: not rig.processes(), what="the process has let go")
    async with terminal(rig, "--resume", sid) as cli:
        await turn(cli, "gamma")
        await rig.say(thread, "too early")
        await rig.answer(thread, "has this session open")
        assert "too early" not in rig.prompts()
    await rig.say(thread, "delta")
    await rig.answer(thread, "Echo #4: delta | saw: terminal words / beta / gamma")


async def test_a_session_has_one_thread(rig: Rig) -> None:
    first = await rig.open("alpha")
    await rig.settled(first, 1)
    sid = await rig.session(first)
    assert "has that session already" in await rig.command(first, "resume", session=sid)
    second = await rig.open("beta")
    await rig.settled(second, 1)
    assert f"<#{first}> has that session" in await rig.command(second, "resume", session=sid)
    await rig.command(first, "new")
    await rig.say(second, "SLOW 60 gamma")
    await rig.answer(second, "working")
    assert "A turn runs here" in await rig.command(second, "resume", session=sid)
    await rig.command(second, "stop")
    assert "goes on with" in await rig.command(second, "resume", session=sid)
    await rig.say(second, "delta")
    await rig.answer(second, "Echo #2: delta | saw: alpha")


async def test_a_session_that_is_resumed_in_a_channel_gets_a_thread(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    sid = await rig.session(thread)
    await rig.command(thread, "new")
    shown = await rig.command(rig.discord.general, "resume", session=sid)
    found = re.search(r"<#(\d+)> goes on", shown)
    assert found
    await rig.say(found[1], "beta")
    await rig.answer(found[1], "Echo #2: beta | saw: alpha")


@pytest.mark.parametrize("session", ["nonsense", "../../etc/passwd", str(uuid.UUID(int=7))])
async def test_a_session_that_is_not_there_is_not_resumed(rig: Rig, session: str) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    sid = await rig.session(thread)
    assert "no such session" in await rig.command(thread, "resume", session=session)
    assert rig.record(thread)["sid"] == sid


async def test_a_stranger_sees_no_sessions_and_resumes_none(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    stranger = d.add_user("stranger")
    interaction = await d.autocomplete(thread, "resume", "session", "", author=stranger)
    await rig.until(lambda: interaction.choices is not None, within=WITHIN)
    assert interaction.choices == []
    sid = await rig.session(thread)
    for name, options in (("resume", {"session": sid}), ("export", {}), ("usage", {})):
        given = await d.slash(thread, name, author=stranger, **options)
        assert "not on this bot's list" in await given.done()


async def test_sessions_lists_all_threads_with_their_states(rig: Rig) -> None:
    await known(rig)
    assert "no sessions yet" in await rig.command(rig.discord.general, "sessions")
    first = await rig.open("alpha")
    await rig.settled(first, 1)
    second = await rig.open("SLOW 60 beta")
    await rig.answer(second, "working")
    shown = await rig.command(rig.discord.general, "sessions")
    lines = shown.splitlines()
    assert "2 sessions" in lines[0]
    assert lines[1].startswith(f"<#{second}> 🟢 at work")
    assert lines[2].startswith(f"<#{first}> 🔵 ready")
    assert "`work`" in lines[2]
    await rig.command(second, "stop")


async def test_a_conversation_is_exported_as_a_file(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("RUN: echo '<script>alert(1)</script>'")
    await rig.settled(thread, 1)
    for kind, ending in (("markdown", ".md"), ("html", ".html")):
        interaction = await d.slash(thread, "export", format=kind)
        await interaction.done(WITHIN)
        assert interaction.response is not None
        (file,) = interaction.response["attachments"]
        assert file["filename"].endswith(ending)
        async with aiohttp.ClientSession() as http, http.get(file["url"]) as got:
            page = await got.text()
        assert "Running it." in page
        assert "alert(1)" in page
        assert kind == "markdown" or "<script" not in page
    await rig.command(thread, "new")
    assert "no session here yet" in await rig.command(thread, "export")
    assert "no session here yet" in await rig.command(thread, "handoff")


async def test_a_handoff_waits_for_the_turn_that_runs(rig: Rig) -> None:
    thread = await rig.open("SLOW 60 alpha")
    await rig.answer(thread, "working")
    shown = await rig.command(thread, "handoff")
    assert "no session here yet" in shown or "A turn runs here" in shown
    assert rig.clis()
    await rig.command(thread, "stop")


async def test_a_thread_whose_first_words_tell_nothing_is_named_by_the_answer(rig: Rig) -> None:
    d = rig.discord

    def name(thread: str) -> str:
        return next(t["name"] for t in d.threads() if t["id"] == thread)

    rig.model.script("hello", Text("# Weather maps\n\nThis project draws them."))
    thread = await rig.open("hello")
    await rig.until(lambda: name(thread) == "Weather maps", within=WITHIN)
    telling = await rig.open("alpha")
    await rig.settled(telling, 1)
    await rig.say(telling, "beta")
    await rig.settled(telling, 2)
    assert name(telling) == "alpha"


async def test_an_error_names_no_thread(rig: Rig) -> None:
    thread = await rig.open("hi ERROR 401")
    await rig.answer(thread, "not logged in")
    await rig.say(thread, "alpha")
    await rig.settled(thread, 1)
    assert next(t["name"] for t in rig.discord.threads() if t["id"] == thread) == "hi ERROR 401"
