"""Files that people send, as they reach Claude."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridge.rehearsal.discord.cdn import plain_png
from tests.e2e.rig import Message, Rig
from tests.support.paintings import painted

pytestmark = pytest.mark.e2e


def sent(rig: Rig) -> list[dict[str, Any]]:
    """The blocks of the newest message of the person."""
    message = next(m for m in reversed(rig.model.requests[-1].messages) if m["role"] == "user")
    content: str | list[dict[str, Any]] = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


async def ask(rig: Rig, thread: str, text: str, files: dict[str, bytes]) -> str:
    """Send a message with files; returns the prompt that the model got."""
    before = len(rig.prompts())
    footers = rig.shown(thread).count("context (")
    await rig.say(thread, text, files=files)
    await rig.settled(thread, footers + 1)
    assert len(rig.prompts()) == before + 1
    return rig.prompts()[-1]


@pytest.fixture
async def thread(rig: Rig) -> str:
    """A session to send files to."""
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    return thread


async def test_texts_are_part_of_the_prompt(rig: Rig, thread: str) -> None:
    paste = "SAY: a long paste\n" + "".join(f"line {n} äöü 😀\n" for n in range(600))
    assert await ask(rig, thread, "", {"message.txt": paste.encode()}) == paste.strip()
    await rig.answer(thread, "line 599 äöü 😀")
    prompt = await ask(rig, thread, "with words", {"message.txt": b"\xef\xbb\xbfand a paste"})
    assert prompt == "with words\n\nand a paste"
    prompt = await ask(rig, thread, "look", {"a b.py": b"print('hi')\n", "notes": b"remember"})
    one, two = saved(rig, thread)
    assert prompt == (
        f'look\n\n<file name="a_b.py" path="{one}">\nprint(\'hi\')\n\n</file>\n\n'
        f'<file name="notes" path="{two}">\nremember\n</file>'
    )
    assert two.read_bytes() == b"remember"
    prompt = await ask(rig, thread, "", {"only.csv": b"a,b"})
    assert prompt.endswith("\na,b\n</file>")


def saved(rig: Rig, thread: str) -> list[Path]:
    """The files that came in a thread, in order."""
    folder = rig.state / "inbox" / thread
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_images_reach_the_model_as_images_that_the_api_takes(rig: Rig, thread: str) -> None:
    files = {
        "a.png": painted("PNG", 30, 20),
        "b.jpg": painted("JPEG", 30, 20),
        "c.gif": painted("GIF", 30, 20),
        "d.webp": painted("WEBP", 30, 20),
        "e.bmp": painted("BMP", 30, 20),
        "misnamed.txt": painted("PNG", 9000, 100),
        "heavy.png": painted("PNG", 1900, 1900, noise=True),
    }
    await ask(rig, thread, "look at these", files)
    kinds = [b["source"]["media_type"] for b in sent(rig) if b["type"] == "image"]
    assert kinds == [
        *("image/png", "image/jpeg", "image/gif", "image/webp", "image/png"),
        *("image/png", "image/jpeg"),
    ]
    assert [path.read_bytes() for path in saved(rig, thread)] == list(files.values())
    told = json.dumps(rig.model.requests[-1].messages)
    for path in saved(rig, thread):
        assert f"is saved as {path}" in told
    await rig.say(thread, "", files={"alone.png": plain_png("ed4245")})
    await rig.settled(thread, 3)
    assert [b["type"] for b in sent(rig) if b["type"] == "image"]


async def test_what_is_not_shown_is_saved_where_claude_can_read_it(rig: Rig, thread: str) -> None:
    files = {
        "broken.png": b"\x89PNG\r\n\x1a\n",
        "paper.pdf": b"%PDF-1.4\n\xe2\xe3",
        "old.zip": b"PK\x05\x06" + b"\0" * 18,
        "voice-message.ogg": b"OggS\0\2",
        "big.log": b"\n".join(b"row %d" % n for n in range(40_000)),
    }
    prompt = await ask(rig, thread, "look", files)
    assert not [b for b in sent(rig) if b["type"] == "image"]
    paths = saved(rig, thread)
    assert [path.read_bytes() for path in paths] == list(files.values())
    for path in paths:
        assert f"is saved as {path}" in prompt
    assert "The voice message" in prompt
    read = {"name": "Read", "input": {"file_path": str(paths[4]), "offset": 39_990, "limit": 5}}
    await rig.say(thread, f"TOOL: {json.dumps(read)}")
    await rig.answer(thread, "row 39989")
    await rig.settled(thread, 3)


async def test_a_reply_quotes_what_it_answers(rig: Rig, thread: str) -> None:
    (shown,) = (
        m for m in rig.discord.messages(thread) if m["author"]["id"] == rig.discord.bot["id"]
    )
    assert "-# " in shown["content"], "it has a footer"
    await rig.say(thread, "what is this?", reply_to=shown["id"])
    await rig.settled(thread, 2)
    assert rig.prompts()[-1] == (
        "[This answers what you wrote:]\n> Echo #1: alpha | saw:\n\nwhat is this?"
    )
    mine = await rig.say(thread, "long " * 200)
    await rig.settled(thread, 3)
    await rig.say(thread, "/context", reply_to=mine["id"])
    await rig.answer(thread, "Context Usage")
    await rig.say(thread, "go on", reply_to=mine["id"])
    await rig.settled(thread, 4)
    quote = rig.prompts()[-1]
    assert quote.startswith(f"[This answers what {mine['author']['global_name']} wrote:]\n> long")
    assert quote.endswith("…\n\ngo on")
    assert len(quote) < 600


async def test_forwarded_messages_and_embeds_arrive_as_text(rig: Rig, thread: str) -> None:
    kept = await post_elsewhere(rig, {"plan.txt": b"in the file"})
    embed = {
        "type": "rich",
        "title": "Build 12",
        "description": "failed",
        "url": "https://ci.example/12",
        "fields": [{"name": "Step", "value": "tests", "inline": False}],
    }
    snapshot = {
        "type": 0,
        "content": "look\nat this",
        "embeds": [embed],
        "attachments": kept["attachments"],
        "timestamp": "2026-01-02T03:04:05+00:00",
        "edited_timestamp": None,
        "flags": 0,
        "mentions": [],
        "mention_roles": [],
    }
    plain: Message = {**kept, "attachments": []}
    reference = {"type": 1, "channel_id": kept["channel_id"], "message_id": kept["id"]}
    deliver(
        *(rig, thread, plain),
        content="",
        message_reference=reference,
        message_snapshots=[{"message": snapshot}],
    )
    await rig.settled(thread, 2)
    (path,) = saved(rig, thread)
    assert rig.prompts()[-1] == (
        "[Forwarded, written 2026-01-02 03:04 UTC:]\n"
        "> look\n> at this\n> [Embed: https://ci.example/12]\n"
        "> > Build 12\n> > failed\n> > Step: tests\n\n"
        f'<file name="plan.txt" path="{path}">\nin the file\n</file>'
    )
    deliver(rig, thread, plain, content="see https://ci.example/12", embeds=[embed])
    await rig.settled(thread, 3)
    assert rig.prompts()[-1] == (
        "see https://ci.example/12\n\n[Embed: https://ci.example/12]\n"
        "> Build 12\n> failed\n> Step: tests"
    )
    sticker = {"id": "749054660769218631", "name": "Wave", "format_type": 3}
    deliver(rig, thread, plain, content="", sticker_items=[sticker])
    await rig.settled(thread, 4)
    assert rig.prompts()[-1] == "(sticker: Wave)"


HOSTILE = (
    "../../escape.bin",
    "/etc/absolute.bin",
    "..",
    "",
    "a\0b\n\x1b[31m.bin",
    "..\\..\\windows.bin",
    "x" * 300 + ".bin",
    "-rf",
    ".hidden",
    "\u202egpj.exe",
)


async def test_other_files_are_saved_under_safe_names(rig: Rig, thread: str) -> None:
    data = {name: b"\0\1\2" + bytes([n]) for n, name in enumerate(HOSTILE)}
    kept = await post_elsewhere(rig, {f"f{n}": data[name] for n, name in enumerate(HOSTILE)})
    files = [
        {**file, "filename": name} for file, name in zip(kept["attachments"], HOSTILE, strict=True)
    ]
    message = deliver(rig, thread, kept, attachments=files)
    await rig.settled(thread, 2)
    folder = rig.state / "inbox" / thread / message
    saved = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(saved.values()) == sorted(data.values())
    assert all(name.isprintable() and len(name.encode()) < 255 for name in saved)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    for name in saved:
        assert str(folder / name) in rig.prompts()[-1]
    assert {path.parent for path in rig.folder.rglob("*.bin")} == {folder}


async def post_elsewhere(rig: Rig, files: dict[str, bytes]) -> Message:
    """Let Discord keep files; returns the message that they came with, which the bot ignores."""
    place = rig.discord.add_channel("elsewhere")["id"]
    return await rig.discord.say(place, files=files)


def deliver(rig: Rig, thread: str, like: Message, **changes: Any) -> str:
    """Send the bot a message as no client here can make it; returns its id."""
    d = rig.discord
    id: str = d.world.snowflakes.next()
    event = {**like, "id": id, "channel_id": thread, "guild_id": d.guild_id, **changes}
    d.events.emit("MESSAGE_CREATE", event, channel=thread)
    return id


async def test_a_file_that_cannot_be_had_is_named_with_the_reason(rig: Rig, thread: str) -> None:
    d = rig.discord
    d.faults.fail("GET", r"/cdn/.*gone\.txt", status=404)
    d.faults.drop("GET", r"/cdn/.*shaky\.txt")
    prompt = await ask(rig, thread, "look", {"gone.txt": b"one", "shaky.txt": b"two"})
    assert "two" in prompt
    assert "one" not in prompt
    assert "📎 gone.txt was left out: Discord does not give it out (any more)" in rig.shown(thread)
    d.faults.fail("GET", r"/cdn/.*gone\.txt", status=403)
    prompt = await ask(rig, thread, "", {"gone.txt": b"one"})
    assert prompt == "(The message had only files, and none of them arrived.)"

    huge = await post_elsewhere(rig, {"huge.bin": b"\0"})
    file: dict[str, Any] = {**huge["attachments"][0], "size": 60 << 20}
    deliver(rig, thread, huge, attachments=[file], content="and this")
    await rig.answer(thread, "📎 huge.bin was left out: it is larger than 50 MB")
    await rig.settled(thread, 4)
    assert rig.prompts()[-1] == "and this"
