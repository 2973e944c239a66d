"""What Claude is given of a message: its words, its files, its images, and safe names for them."""

import base64
import struct
import unicodedata
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp
import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.discord_io.attachments import MAX_BYTES, Downloads, NotFetched
from bridge.prompt import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_EDGE,
    MAX_INLINE_TEXT,
    as_text,
    compose,
    image_size,
    image_type,
    safe_name,
)
from bridge.rehearsal.discord import LoopbackDiscord
from state import Attachment, Queued
from tests.rehearsal.discord.rig import Bot, running

edges = st.integers(1, 0x3FFF)


# --- images, byte by byte -------------------------------------------------------------------------
def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IEND", b"")


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0"


def jpeg(width: int, height: int, *, before: bytes = b"", sof: int = 0xC0) -> bytes:
    frame = struct.pack(">BHHB", 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + before + struct.pack(">BBH", 0xFF, sof, len(frame) + 2) + frame


def riff(kind: bytes, body: bytes) -> bytes:
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def webp(width: int, height: int) -> bytes:
    frame = b"\x10\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return riff(b"VP8 ", frame)


def webp_lossless(width: int, height: int) -> bytes:
    return riff(b"VP8L", b"\x2f" + struct.pack("<I", (height - 1) << 14 | (width - 1)) + b"\0")


def webp_extended(width: int, height: int) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return riff(b"VP8X", b"\x10\0\0\0" + sizes)


FORMATS = {
    "png": (png, "image/png"),
    "gif": (gif, "image/gif"),
    "jpeg": (jpeg, "image/jpeg"),
    "webp": (webp, "image/webp"),
    "webp lossless": (webp_lossless, "image/webp"),
    "webp extended": (webp_extended, "image/webp"),
}


@pytest.mark.parametrize("name", FORMATS)
@given(edges, edges, st.binary(max_size=8))
def test_an_images_size_is_read_whatever_follows(
    name: str, width: int, height: int, rest: bytes
) -> None:
    make, media = FORMATS[name]
    data = make(width, height) + rest
    assert image_type(data) == media
    assert image_size(data) == (width, height)


def segment(marker: int, body: bytes, padding: int) -> bytes:
    return b"\xff" * padding + struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


segments = st.builds(
    segment,
    st.sampled_from([0xE0, 0xE1, 0xEE, 0xDB, 0xC4, 0xCC, 0xC8, 0xFE]),
    st.binary(max_size=40),
    st.integers(0, 3),
)
bare = st.sampled_from([b"\xff\x01", b"\xff\xd0", b"\xff\xd7"])
frames = st.sampled_from([c for c in range(0xC0, 0xD0) if c not in (0xC4, 0xC8, 0xCC)])


@given(edges, edges, st.lists(segments | bare, max_size=5), frames)
def test_a_jpegs_size_is_read_behind_any_segments(
    width: int, height: int, before: list[bytes], sof: int
) -> None:
    data = jpeg(width, height, before=b"".join(before), sof=sof)
    assert image_size(data) == (width, height)


def test_a_jpeg_that_has_no_segment_where_one_must_be_has_no_size() -> None:
    lost = b"\x12\xc0" + jpeg(5, 5)[4:]
    assert max(image_size(jpeg(9, 9, before=lost))) > MAX_IMAGE_EDGE


@pytest.mark.parametrize("name", FORMATS)
def test_an_image_that_is_torn_or_empty_is_never_small_enough(name: str) -> None:
    """It would be refused by the API, and with it each later request of the session."""
    make, _ = FORMATS[name]
    whole = make(300, 200)
    needed = next(n for n in range(len(whole) + 1) if max(image_size(whole[:n])) == 300)
    for length in range(needed):
        assert max(image_size(whole[:length])) > MAX_IMAGE_EDGE
    if name in ("png", "gif", "jpeg", "webp"):
        assert max(image_size(make(0, 200))) > MAX_IMAGE_EDGE


@given(st.sampled_from([b"", *(make(9, 9)[:16] for make, _ in FORMATS.values())]), st.binary())
def test_no_bytes_break_the_reader_of_sizes(head: bytes, rest: bytes) -> None:
    assert min(image_size(head + rest)) > 0


# --- names ----------------------------------------------------------------------------------------
names = st.text() | st.lists(
    st.sampled_from(["..", ".", "/", "\\", "~", "\0", " ", "a", "é", "漢", "💥", "\n", "-", ":"])
).map("".join)


@given(names)
def test_a_safe_name_is_one_file_in_its_folder(name: str) -> None:
    safe = safe_name(name)
    folder = Path("/folder")
    assert (folder / safe).parent == folder
    assert (folder / safe).resolve().parent == folder
    assert safe not in (".", "..", "")
    assert not safe.startswith((".", " "))
    assert not any(unicodedata.category(c) in ("Cc", "Cs") or c in '/\\"<>' for c in safe)


@given(st.text(st.characters(codec="utf-8"), min_size=80, max_size=400))
def test_a_safe_name_can_be_written_however_long_it_was(name: str) -> None:
    assert len(f"99-{safe_name(name)}".encode()) <= 255


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report v2.pdf", "report v2.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\notes.txt", "notes.txt"),
        (".bashrc", "bashrc"),
        ("...", "file"),
        ("", "file"),
        ("a/", "file"),
        ("日本語.txt", "日本語.txt"),
        ("x" * 300 + ".tar.gz", "x" * 193 + ".tar.gz"),
    ],
)
def test_a_safe_name_stays_what_it_was_as_far_as_it_can(name: str, safe: str) -> None:
    assert safe_name(name) == safe


# --- text -----------------------------------------------------------------------------------------
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_text_is_text_with_or_without_a_mark_of_its_coding(text: str) -> None:
    assert as_text(text.encode("utf-8")) == text.removeprefix("\ufeff")
    assert as_text(text.encode("utf-8-sig")) == text


@given(st.binary())
def test_what_is_not_utf8_or_has_a_zero_is_no_text(data: bytes) -> None:
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError:
        decoded = "\0"
    assert (as_text(data) is None) == ("\0" in decoded)


# --- the whole prompt, with files on a real CDN ---------------------------------------------------
async def composed(
    inbox: Path,
    content: str,
    files: dict[str, bytes],
    *,
    sizes: Mapping[str, int] = MappingProxyType({}),
    trace: aiohttp.TraceConfig | None = None,
) -> tuple[Any, tuple[str, ...]]:
    """The prompt of a message with these files; `sizes` are what Discord claims of some."""
    discord_server = LoopbackDiscord(rate_limits="off")
    discord_server.faults.delay("GET", "/cdn/.*", 0.01, times=len(files))
    await discord_server.start()
    try:
        bot = Bot(discord.Intents.none(), http_trace=trace)
        async with running(discord_server, bot) as client:
            message = await discord_server.say(discord_server.general, "x", files=files)
            attachments = tuple(
                Attachment(
                    url=file["url"],
                    filename=name,
                    size=sizes.get(name, file["size"]),
                    content_type=None,
                )
                for name, file in zip(files, message["attachments"], strict=True)
            )
            item = Queued(
                message=1, author=1, author_name="A", content=content, attachments=attachments, at=0
            )
            prompt = await compose(item, Downloads(client), inbox)
            return prompt.content, prompt.notes
    finally:
        await discord_server.stop()


def contents(folder: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in folder.iterdir())


async def test_words_alone_are_the_prompt(tmp_path: Path) -> None:
    assert await composed(tmp_path, "- not an option", {}) == ("- not an option", ())
    assert contents(tmp_path) == []


async def test_text_files_stand_in_the_prompt_behind_the_words(tmp_path: Path) -> None:
    files = {"a.py": b"print(1)", "message.txt": "a long påste".encode(), "empty.txt": b""}
    content, notes = await composed(tmp_path, "Look:", files)
    assert notes == ()
    assert content == (
        'Look:\n\n<file name="a.py">\nprint(1)\n</file>\n\na long påste'
        '\n\n<file name="empty.txt">\n\n</file>'
    )


async def test_a_long_paste_alone_is_the_prompt_as_it_was_written(tmp_path: Path) -> None:
    assert await composed(tmp_path, "", {"message.txt": b"all of it"}) == ("all of it", ())


async def test_images_are_blocks_behind_the_words(tmp_path: Path) -> None:
    image = png(20, 10)
    content, notes = await composed(tmp_path, "See", {"a.bin": image, "b.txt": b"text"})
    assert notes == ()
    text, block = content
    assert text == {"type": "text", "text": 'See\n\n<file name="b.txt">\ntext\n</file>'}
    assert block["source"]["media_type"] == "image/png"
    assert base64.b64decode(block["source"]["data"]) == image


async def test_an_image_without_words_is_a_prompt(tmp_path: Path) -> None:
    content, _ = await composed(tmp_path, "", {"a.gif": gif(5, 5)})
    assert [block["type"] for block in content] == ["image"]


async def test_what_the_model_cannot_take_is_saved_and_its_place_is_told(tmp_path: Path) -> None:
    inbox = tmp_path / "deep" / "inbox"
    files = {
        "wide.png": png(MAX_IMAGE_EDGE + 1, 10),
        "heavy.png": png(10, 10) + bytes(MAX_IMAGE_BYTES),
        "long.txt": b"x" * (MAX_INLINE_TEXT + 1),
        "data.bin": b"\0\1",
        "漢" * 60 + ".bin": b"\0\1",
    }
    content, notes = await composed(inbox, "Here", files)
    assert notes == ()
    assert isinstance(content, str)
    saved = sorted(inbox.iterdir(), key=lambda path: int(path.name.partition("-")[0]))
    assert [path.read_bytes() for path in saved] == list(files.values())
    for path in saved:
        assert str(path) in content
        assert path.stat().st_mode & 0o777 == 0o600
    assert inbox.stat().st_mode & 0o777 == 0o700


async def test_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    """Discord gives different names only to what one message has twice; folders fall out here."""
    await composed(tmp_path, "", {"a/x.bin": b"\0one", "b/x.bin": b"\0two"})
    assert contents(tmp_path) == [b"\0one", b"\0two"]


async def test_a_file_that_is_too_large_is_left_out_and_the_person_is_told(tmp_path: Path) -> None:
    content, notes = await composed(
        tmp_path, "Hi", {"big.bin": b"x"}, sizes={"big.bin": MAX_BYTES + 1}
    )
    assert content == "Hi"
    assert notes == ("📎 big.bin was left out: it is larger than 50 MB",)


@pytest.mark.parametrize(
    ("sizes", "taken"),
    [
        ([50], "0"),
        ([20, 20, 20], "01"),
        ([49, 2, 1], "02"),
        ([51, 50, 1], "1"),
    ],
)
async def test_the_files_of_one_message_have_one_limit_together(
    tmp_path: Path, sizes: list[int], taken: str
) -> None:
    names = [f"{number}.txt" for number in range(len(sizes))]
    claimed = {name: size << 20 for name, size in zip(names, sizes, strict=True)}
    content, notes = await composed(
        tmp_path, "Hi", {name: b"in it" for name in names}, sizes=claimed
    )
    assert [name for name in names if f'name="{name}"' in content] == [f"{n}.txt" for n in taken]
    left = [size for name, size in zip(names, sizes, strict=True) if f'"{name}"' not in content]
    assert len(notes) == len(left)
    for size, note in zip(left, notes, strict=True):
        words = "it is larger than 50 MB" if size > 50 else "more than 50 MB of files"
        assert words in note


async def test_files_of_one_message_come_one_after_the_other(tmp_path: Path) -> None:
    """Each may be as large as all together may be, and is in memory as a whole when it comes."""
    under_way, most = 0, 0

    async def begins(*_: object) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)

    async def ends(*_: object) -> None:
        nonlocal under_way
        under_way -= 1

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(begins)
    trace.on_request_end.append(ends)
    files = {f"{number}.txt": b"text" for number in range(10)}
    content, _ = await composed(tmp_path, "", files, trace=trace)
    assert content.count("<file") == 10
    assert (under_way, most) == (0, 1)


async def test_a_message_of_which_nothing_arrived_still_says_so(tmp_path: Path) -> None:
    content, notes = await composed(
        tmp_path, "", {"big.bin": b"x"}, sizes={"big.bin": MAX_BYTES + 1}
    )
    assert "none of them arrived" in content
    assert len(notes) == 1


async def test_a_file_that_discord_does_not_give_out_is_a_fault_in_words(tmp_path: Path) -> None:
    server = LoopbackDiscord(rate_limits="off")
    await server.start()
    try:
        async with running(server, Bot(discord.Intents.none())) as client:
            gone = f"{server.cdn_url}/attachments/1/2/gone.txt"
            missing = Attachment(url=gone, filename="gone.txt", size=1)
            with pytest.raises(NotFetched, match="does not give it out"):
                await Downloads(client).fetch(missing)
    finally:
        await server.stop()
