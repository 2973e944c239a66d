"""The slash commands: everywhere, in a busy thread, and over bad connections."""

import re
from typing import Any

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

COMMANDS = ("new", "stop", "status", "cleanup", "help")
CALLBACK = r"/interactions/\d+/.+/callback"
ANSWER = r"/webhooks/\d+/.+/messages/@original"
DEFERRED = 5


async def test_each_server_is_told_the_commands_at_the_start_and_when_it_joins(rig: Rig) -> None:
    d = rig.discord

    def told(guild: str) -> list[Any]:
        path = f"/applications/{d.application_id}/guilds/{guild}/commands"
        return [e.request for e in d.exchanges if e.method == "PUT" and e.path == path]

    await rig.until(lambda: told(d.guild_id))
    assert {command["name"] for command in told(d.guild_id)[0]} >= set(COMMANDS)
    joined = d.world.snowflakes.next()
    guild: dict[str, Any] = {**d.world.guild, "id": joined, "member_count": 1, "large": False}
    d.events.emit("GUILD_CREATE", guild | {"channels": [], "threads": [], "members": []})
    await rig.until(lambda: told(joined))
    assert told(joined)[0] == told(d.guild_id)[0]


async def test_each_command_answers_in_a_session_a_channel_and_a_busy_thread(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await rig.say(thread, "SLOW 20 beta")
    await rig.answer(thread, "working")
    await rig.say(thread, "gamma")
    expected = {
        "help": "/new fork:True",
        "status": "a turn runs",
        "cleanup": "Nothing to clean up",
        "stop": "Stopped; the session is kept. 1 waiting message was dropped.",
        "new": "The next message starts a clean session",
    }
    for name, words in expected.items():
        interaction = await d.slash(thread, name)
        assert await interaction.acked() == DEFERRED
        assert words in await interaction.done()
    await rig.say(thread, "delta")
    await rig.answer(thread, "Echo #1: delta | saw: ")
    for name in COMMANDS:
        interaction = await d.slash(d.general, name)
        assert await interaction.acked() == DEFERRED
        words = await interaction.done()
        assert ("This is no session" in words) == (name in ("new", "stop", "status"))
    assert await rig.command(thread, "stop") == "Nothing is running here."


async def test_status_tells_all_that_there_is_to_know(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    shown = await rig.command(thread, "status")
    lines = dict(re.findall(r"^\*\*(\w+)\*\* (.+)$", shown, re.MULTILINE))
    record = rig.record(thread)
    assert lines["Session"] == f"`{record['sid']}`"
    assert rig.transcripts()[0].stem == record["sid"]
    assert lines["Folder"] == f"`{rig.work}`"
    assert lines["Model"].startswith("claude-")
    assert re.fullmatch(r"\d+k of \S+ \(\d+%\)", lines["Context"])
    assert lines["Used"].startswith("1 turns · $0.")
    assert lines["Now"] == "idle"
    assert lines["Queue"] == "0 waiting"
    found = re.fullmatch(r"pid (\d+) · .+ old · (\d+) MB in (\d+) processes", lines["Process"])
    assert found
    cli = rig.clis()[0]
    assert int(found[1]) == cli.ppid()
    assert int(found[2]) * 1e6 > cli.memory_info().rss / 2

    await rig.command(thread, "new", fork=True)
    assert "forks at the next message" in await rig.command(thread, "status")
    await rig.command(thread, "new")
    shown = await rig.command(thread, "status")
    assert "**Session** `none yet`" in shown
    assert "**Process** none" in shown
    assert "1 earlier sessions" in shown

    await rig.say(thread, "SLOW 20 beta")
    await rig.answer(thread, "working")
    await rig.say(thread, "gamma")
    shown = await rig.command(thread, "status")
    assert "a turn runs for" in shown
    assert "**Queue** 1 waiting" in shown
    await rig.command(thread, "stop")


async def test_a_command_works_once_and_is_answered_once_over_a_bad_connection(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    for count, after in enumerate((False, True), 1):
        await rig.settled(thread, count)
        for method, path in (("POST", CALLBACK), ("PATCH", ANSWER)):
            d.faults.drop(method, path, "after" if after else "before")
        before = len(d.messages(thread))
        assert "clean session" in await rig.command(thread, "new")
        assert len(d.messages(thread)) == before + 1
        assert not d.faults.pending
        await rig.eventually(lambda: rig.record(thread).get("sid") is None)
        assert len(rig.record(thread)["lineage"]) == count
        await rig.say(thread, f"again {count}")
        await rig.answer(thread, f"Echo #1: again {count} | saw:")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("POST", CALLBACK, 404, 10062), ("PATCH", ANSWER, 401, 50027), ("PATCH", ANSWER, 404, 10015)],
    ids=["late", "token expired", "webhook gone"],
)
async def test_a_command_that_discord_takes_no_answer_to_is_answered_in_the_channel(
    rig: Rig, method: str, path: str, status: int, code: int
) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    d.faults.fail(method, path, status=status, code=code)
    await d.slash(thread, "new")
    await rig.until(lambda: "clean session" in rig.shown(thread))
    await rig.say(thread, "beta")
    await rig.answer(thread, "Echo #1: beta | saw: ")
    assert rig.shown(thread).count("clean session") == 1
    # Also while a turn runs: the answer does not wait for its end.
    await rig.say(thread, "SLOW 20 gamma")
    await rig.answer(thread, "working")
    d.faults.fail(method, path, status=status, code=code)
    await d.slash(thread, "stop")
    await rig.until(lambda: "Stopped; the session is kept." in rig.shown(thread))
    assert len(rig.record(thread)["lineage"]) == 1


async def test_a_command_that_is_delivered_twice_works_once(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    d.faults.duplicate = True
    for count, name in enumerate(("new", "status", "help", "cleanup", "stop"), 1):
        interaction = await d.slash(thread, name)
        await interaction.done()
        assert not interaction.followups
        answers = [e for e in d.exchanges if e.template and e.template.endswith("/callback")]
        assert len(answers) == count
    assert len(rig.record(thread)["lineage"]) == 1


async def test_a_command_that_fails_says_so(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    rig.tolerated.append("a command in channel")
    runs = rig.state / "run"
    runs.rename(rig.state / "elsewhere")
    runs.write_text("no folder")
    assert "The command failed; the bot's log says why." in await rig.command(thread, "cleanup")
    runs.unlink()
    (rig.state / "elsewhere").rename(runs)
    assert "Nothing to clean up" in await rig.command(thread, "cleanup")
