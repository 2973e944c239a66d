"""Files that people send, as they reach Claude."""

import json
import struct
import zlib
from typing import Any

import pytest

from bridge.rehearsal.discord.cdn import plain_png
from tests.e2e.rig import Message, Rig

pytestmark = pytest.mark.e2e


def png(width: int, height: int) -> bytes:
    """A black picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (width + 1) * height)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b"")]
    )


def jpeg(width: int, height: int) -> bytes:
    """The beginning of a JPEG, as far as anybody looks here."""
    comment = b"\xff\xfe" + struct.pack(">H", 5) + b"abc"
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + comment + frame + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x00\xff\xd9"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00\x3b"


def webp(width: int, height: int, kind: bytes) -> bytes:
    match kind:
        case b"VP8X":
            body = (
                b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
            )
        case b"VP8L":
            body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
        case _:
            body = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


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
    assert prompt == (
        "look\n\n<file name=\"a_b.py\">\nprint('hi')\n\n</file>\n\n"
        '<file name="notes">\nremember\n</file>'
    )
    prompt = await ask(rig, thread, "", {"only.csv": b"a,b"})
    assert prompt == '<file name="only.csv">\na,b\n</file>'


async def test_images_reach_the_model_as_images(rig: Rig, thread: str) -> None:
    files = {
        "a.png": plain_png("5865f2"),
        "b.jpg": jpeg(64, 48),
        "c.gif": gif(10, 20),
        "d.webp": webp(30, 40, b"VP8X"),
        "e.webp": webp(30, 40, b"VP8L"),
        "f.webp": webp(30, 40, b"VP8 "),
        "misnamed.txt": png(2000, 2000),
    }
    await ask(rig, thread, "look at these", files)
    kinds = [b["source"]["media_type"] for b in sent(rig) if b["type"] == "image"]
    assert kinds == [
        "image/png",
        "image/jpeg",
        "image/gif",
        *["image/webp"] * 3,
        "image/png",
    ]
    await rig.say(thread, "", files={"alone.png": plain_png("ed4245")})
    await rig.settled(thread, 3)
    assert [b["type"] for b in sent(rig) if b["type"] == "image"]


async def test_what_is_too_large_is_saved_where_claude_can_read_it(rig: Rig, thread: str) -> None:
    big = b"\n".join(b"row %d" % n for n in range(40_000))
    files = {
        "wide.png": png(2001, 10),
        "heavy.png": png(10, 10) + b"\0" * 3_800_000,
        "broken.png": b"\x89PNG\r\n\x1a\n",
        "big.log": big,
    }
    prompt = await ask(rig, thread, "look", files)
    assert not [b for b in sent(rig) if b["type"] == "image"]
    paths = [
        line.rsplit(" saved as ", 1)[1] for line in prompt.splitlines() if " saved as " in line
    ]
    assert len(paths) == 4
    read = {"name": "Read", "input": {"file_path": paths[3], "offset": 39_990, "limit": 5}}
    await rig.say(thread, f"TOOL: {json.dumps(read)}")
    await rig.answer(thread, "row 39989")
    read = {"name": "Read", "input": {"file_path": paths[0]}}
    await rig.say(thread, f"TOOL: {json.dumps(read)}")
    shown = await rig.settled(thread, 4)
    assert "✅ **Read**" in shown
    assert "❌" not in shown


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
