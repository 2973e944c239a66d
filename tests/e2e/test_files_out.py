"""Files that Claude sends, and what else it can do in its thread."""

import json
import signal
from typing import Any

import pytest

from bridge.tools.briefing import TOOLS
from tests.e2e.rig import Message, Rig

pytestmark = pytest.mark.e2e


def attachments(rig: Rig, thread: str) -> dict[str, bytes]:
    """The files that the bot has posted in a thread; each name once."""
    found: dict[str, bytes] = {}
    for message in rig.discord.messages(thread):
        if message["author"]["id"] != rig.discord.bot["id"]:
            continue
        for file in message["attachments"]:
            assert file["filename"] not in found
            path = file["url"].removeprefix(rig.discord.cdn_url).partition("?")[0]
            found[file["filename"]] = rig.discord.world.files[path][0]
    return found


def tool(name: str, **arguments: Any) -> str:
    """The prompt that makes the model call one of the bot's tools."""
    return "TOOL: " + json.dumps({"name": f"mcp__discord__{name}", "input": arguments})


def outbox(rig: Rig, thread: str) -> str:
    """The folder from which files are sent."""
    return str(rig.state / "inbox" / thread / "outbox")


@pytest.fixture
async def thread(rig: Rig) -> str:
    """A session that sends files."""
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    return thread


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")
async def test_claude_sends_a_file_without_asking(rig: Rig, thread: str) -> None:
    (rig.work / "report.txt").write_text("all is well")
    await rig.say(thread, tool("send_file", path="report.txt", caption="Here @everyone"))
    shown = await rig.settled(thread, 2)
    assert "Tool said: report.txt (11 bytes) was posted in the thread." in shown
    assert "Here @everyone" in shown
    assert attachments(rig, thread) == {"report.txt": b"all is well"}
    names = {t["name"] for t in rig.model.requests[-1].body["tools"]}
    assert {n for n in names if n.startswith("mcp__")} == {f"mcp__discord__{n}" for n in TOOLS}


async def test_what_may_not_leave_stays_and_claude_is_told_why(rig: Rig, thread: str) -> None:
    (rig.work / ".env").write_text("TOKEN=1")
    (rig.work / "big.bin").write_bytes(bytes((10 << 20) + 1))
    (rig.work / "way.txt").symlink_to("/etc/hostname")
    wanted = {
        "/etc/hostname": "only files of the project folder or of the outbox can be sent",
        "way.txt": "only files of the project folder or of the outbox can be sent",
        "../state/state.json": "only files of the project folder or of the outbox can be sent",
        ".env": "it looks like a file with credentials",
        "big.bin": "it has 10.0 MB, and Discord takes 10.0 MB here",
        "none.txt": "it cannot be read (No such file or directory)",
    }
    for number, (path, reason) in enumerate(wanted.items(), 2):
        await rig.say(thread, tool("send_file", path=path))
        shown = await rig.settled(thread, number)
        assert f"{path} was not sent: {reason}" in shown
    assert attachments(rig, thread) == {}


async def test_what_a_turn_leaves_in_the_outbox_is_posted_once_below_its_answer(
    rig: Rig, thread: str
) -> None:
    box = outbox(rig, thread)
    await rig.say(thread, f"RUN: cd {box} && echo a > a.txt && mkdir sub && echo b > sub/b.txt")
    await rig.settled(thread, 2)
    await rig.until(lambda: len(attachments(rig, thread)) == 2, within=30, what="both files")
    assert attachments(rig, thread) == {"a.txt": b"a\n", "b.txt": b"b\n"}
    posted = [m for m in rig.discord.messages(thread) if m["attachments"]]
    assert len(posted) == 1
    assert int(posted[0]["id"]) > int(answers(rig, thread)[-1]["id"])
    await rig.say(thread, f"RUN: ls {box} | wc -l")
    await rig.settled(thread, 3)
    assert rig.shown(thread).count("Tool said: 0") == 1
    assert len(attachments(rig, thread)) == 2


def answers(rig: Rig, thread: str) -> list[Message]:
    """The bot's messages with a footer."""
    return [
        m
        for m in rig.discord.messages(thread)
        if m["author"]["id"] == rig.discord.bot["id"] and "\n-# " in m["content"]
    ]


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")
async def test_the_outbox_can_be_written_without_asking(rig: Rig, thread: str) -> None:
    file = {"file_path": f"{outbox(rig, thread)}/n.txt", "content": "note"}
    await rig.say(thread, "TOOL: " + json.dumps({"name": "Write", "input": file}))
    await rig.until(lambda: attachments(rig, thread) == {"n.txt": b"note"}, within=30, what="it")
    assert outbox(rig, thread) in json.dumps(rig.model.requests[-1].body["system"])


async def test_what_cannot_be_sent_from_the_outbox_is_named_and_kept(rig: Rig, thread: str) -> None:
    box = outbox(rig, thread)
    many = f"for n in $(seq 11); do echo $n > {box}/f$n.txt; done"
    await rig.say(thread, f"RUN: {many}; ln -s /etc/hostname {box}/link; echo x > {box}/id_rsa")
    await rig.answer(thread, "📎 link was not sent: only files of the project folder")
    shown = await rig.answer(thread, "📎 id\\_rsa was not sent: it looks like a file with cred")
    assert "It is kept as `id_rsa` in `" in shown
    await rig.until(lambda: len(attachments(rig, thread)) == 11, within=30, what="eleven files")
    folder = rig.state / "inbox" / thread
    await rig.eventually(lambda: not list(folder.glob("parcel-*")), what="nothing is on its way")
    (kept,) = folder.glob("unsent-*")
    assert (kept / "id_rsa").read_text() == "x\n"


async def test_two_threads_never_mix_their_files(rig: Rig) -> None:
    one, two = await rig.open("one"), await rig.open("two")
    await rig.settled(one, 1)
    await rig.settled(two, 1)
    for thread in (one, two):
        await rig.say(thread, f"RUN: echo {thread} > {outbox(rig, thread)}/mine.txt; sleep 0.2")
    for thread in (one, two):
        await rig.until(lambda t=thread: attachments(rig, t), within=30, what="its file")
        assert attachments(rig, thread) == {"mine.txt": f"{thread}\n".encode()}


async def test_files_arrive_once_whenever_the_bot_is_killed(rig: Rig, thread: str) -> None:
    """Killed before they are posted, after that, and while the turn runs that makes them."""
    box = outbox(rig, thread)
    d = rig.discord
    d.faults.fail("POST", rf".*/channels/{thread}/messages", status=503, times=1000)
    await rig.say(thread, f"RUN: echo a > {box}/a.txt")
    parcels = rig.state / "inbox" / thread
    await rig.eventually(lambda: list(parcels.glob("parcel-*")), what="a parcel is on its way")
    await rig.stop(signal.SIGKILL)
    d.faults.clear()
    await rig.start()
    await rig.until(lambda: attachments(rig, thread) == {"a.txt": b"a\n"}, within=30, what="it")
    await rig.eventually(lambda: not list(parcels.glob("parcel-*")), what="it has arrived")

    # As if the bot had been killed right after Discord had the file, and that long ago.
    (old,) = (m for m in d.messages(thread) if m["attachments"])
    at = (int(old["id"]) >> 22) // 1000 + 1420070400
    await rig.stop(signal.SIGKILL)
    parcel = parcels / f"parcel-{at:08x}abcd"
    parcel.mkdir()
    (parcel / "a.txt").write_text("a\n")
    (parcel / "c.txt").symlink_to("/etc/hostname")
    (rig.state / "inbox" / thread / "outbox" / "left.txt").write_text("left")
    await rig.start()
    await rig.eventually(lambda: not list(parcels.glob("parcel-*")), what="nothing is on its way")
    await rig.answer(thread, "📎 c.txt was not sent")
    await rig.until(lambda: "left.txt" in attachments(rig, thread), within=30, what="the other")
    assert attachments(rig, thread) == {"a.txt": b"a\n", "left.txt": b"left"}


async def test_a_new_bot_answers_for_the_tools_of_a_process_that_an_old_one_started(
    rig: Rig, thread: str
) -> None:
    (rig.work / "one.txt").write_text("1")
    (rig.work / "two.txt").write_text("2")
    cli = {p.pid for p in rig.clis()}
    await rig.stop(signal.SIGKILL)
    await rig.start()
    await rig.say(thread, tool("send_file", path="one.txt"))
    await rig.settled(thread, 2)
    assert attachments(rig, thread) == {"one.txt": b"1"}
    assert {p.pid for p in rig.clis()} == cli

    # Killed in the middle of a call: the next bot makes it again, and answers it.
    rig.discord.faults.fail("POST", rf".*/channels/{thread}/messages", status=503, times=1000)
    await rig.say(thread, tool("send_file", path="two.txt"))
    runs = rig.state / "run"
    await rig.eventually(lambda: list(runs.glob("*/tool-*.json")), what="the call is taken")
    await rig.stop(signal.SIGKILL)
    rig.discord.faults.clear()
    await rig.start()
    await rig.answer(thread, "Tool said: two.txt (1 bytes) was posted in the thread.")
    await rig.settled(thread, 3)
    assert attachments(rig, thread) == {"one.txt": b"1", "two.txt": b"2"}
    assert {p.pid for p in rig.clis()} == cli
    await rig.eventually(lambda: not list(runs.glob("*/tool-*.json")), what="nothing is kept")

    # As if it had been killed when Discord had the file and the CLI not its answer, long ago.
    await rig.stop(signal.SIGKILL)
    (run,) = runs.iterdir()
    (run / "tool-other.json").write_text(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 99,
                "method": "tools/call",
                "params": {"name": "send_file", "arguments": {"path": "two.txt"}},
            }
        )
    )
    await rig.start()
    await rig.eventually(lambda: not list(runs.glob("*/tool-*.json")), what="nothing is kept")
    assert attachments(rig, thread) == {"one.txt": b"1", "two.txt": b"2"}
    await rig.say(thread, "go on")
    await rig.answer(thread, "go on | saw:")


async def test_a_resumed_session_has_the_tools(rig: Rig, thread: str) -> None:
    (rig.work / "one.txt").write_text("1")
    await rig.kill_clis()
    await rig.say(thread, tool("send_file", path="one.txt"))
    await rig.settled(thread, 2)
    assert attachments(rig, thread) == {"one.txt": b"1"}


async def test_claude_reacts_to_the_message_that_it_answers(rig: Rig, thread: str) -> None:
    mine = await rig.say(thread, tool("react", emoji="👍"))
    shown = await rig.settled(thread, 2)
    assert "The message has your 👍 now." in shown
    assert reactions(rig, thread, mine["id"]) == ["👍"]
    await rig.say(thread, tool("react", emoji="no emoji"))
    assert "Discord says: " in await rig.settled(thread, 3)
    first = await rig.open(tool("react", emoji="🎉"))
    await rig.settled(first, 1)
    assert reactions(rig, rig.discord.general, first) == ["🎉"], "it stands in the channel above"


def reactions(rig: Rig, channel: str, message: str) -> list[str]:
    """The emojis on a message."""
    shown = rig.discord.world.message(channel, message)
    return [reaction["emoji"]["name"] for reaction in shown.get("reactions", ())]


async def test_claude_renames_its_thread_as_often_as_discord_allows(rig: Rig, thread: str) -> None:
    shown = ""
    for number, title in enumerate(("**Bold** plans", "Other", "Third"), 2):
        await rig.say(thread, tool("rename_thread", title=title))
        shown = await rig.settled(thread, number)
    (name,) = (t["name"] for t in rig.discord.threads() if t["id"] == thread)
    assert name == "Other"
    assert "The thread is called 'Bold plans' now." in shown
    assert "Discord allows the next change of title in 10 minutes." in shown
