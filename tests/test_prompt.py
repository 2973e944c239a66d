"""What Claude is given of a message: its words, its files, its images, and safe names for them."""

import base64
import unicodedata
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
from bridge.prompt import MAX_INLINE_TEXT, MAX_PASTED_TEXT, as_text, compose, safe_name
from bridge.rehearsal.discord import LoopbackDiscord
from state import Attachment, Queued
from tests.rehearsal.discord.rig import Bot, running
from tests.support.paintings import painted, size_of

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
    reply: str = "",
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
                message=1,
                author=1,
                author_name="A",
                content=content,
                attachments=attachments,
                reply=reply,
                at=0,
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


async def test_text_files_are_saved_and_stand_in_the_prompt_behind_the_words(
    tmp_path: Path,
) -> None:
    files = {"a.py": b"print(1)", "message.txt": "a long påste".encode(), "empty.txt": b""}
    content, notes = await composed(tmp_path, "Look:", files)
    assert notes == ()
    assert content == (
        f'Look:\n\n<file name="a.py" path="{tmp_path}/1-a.py">\nprint(1)\n</file>\n\na long påste'
        f'\n\n<file name="empty.txt" path="{tmp_path}/3-empty.txt">\n\n</file>'
    )
    assert contents(tmp_path) == [b"", b"print(1)"]


async def test_a_long_paste_alone_is_the_prompt_as_it_was_written(tmp_path: Path) -> None:
    assert await composed(tmp_path, "", {"message.txt": b"all of it"}) == ("all of it", ())
    assert contents(tmp_path) == []


async def test_a_paste_that_no_window_takes_is_a_file(tmp_path: Path) -> None:
    content, _ = await composed(tmp_path, "", {"message.txt": b"x" * (MAX_PASTED_TEXT + 1)})
    assert str(tmp_path / "1-message.txt") in content


async def test_what_is_answered_stands_before_the_words(tmp_path: Path) -> None:
    content, _ = await composed(tmp_path, "why?", {}, reply="[An answer to:]\n> so")
    assert content == "[An answer to:]\n> so\n\nwhy?"


async def test_a_command_stands_at_the_beginning_whatever_it_answers(tmp_path: Path) -> None:
    assert await composed(tmp_path, "/compact", {}, reply="> so") == ("/compact", ())


async def test_images_are_saved_and_shown_behind_the_words(tmp_path: Path) -> None:
    image = painted("PNG", 20, 10)
    content, notes = await composed(tmp_path, "See", {"a.bin": image, "b.txt": b"text"})
    assert notes == ()
    text, block = content
    assert text["text"].startswith(f"See\n\nThe file 'a.bin' ({len(image)} bytes) is saved as ")
    assert (tmp_path / "1-a.bin").read_bytes() == image
    assert block["source"]["media_type"] == "image/png"
    assert base64.b64decode(block["source"]["data"]) == image


async def test_an_image_that_the_api_would_refuse_is_shown_smaller_and_kept_whole(
    tmp_path: Path,
) -> None:
    image = painted("PNG", 4000, 100)
    content, _ = await composed(tmp_path, "", {"wide.png": image})
    text, block = content
    assert size_of(base64.b64decode(block["source"]["data"])) == (2000, 50)
    assert str(tmp_path / "1-wide.png") in text["text"]
    assert (tmp_path / "1-wide.png").read_bytes() == image


async def test_no_more_images_are_shown_than_a_request_may_hold(tmp_path: Path) -> None:
    image = painted("BMP", 1000, 1000, noise=True)
    content, _ = await composed(tmp_path, "", {f"{n}.bmp": image for n in range(10)})
    text, *blocks = content
    assert text["text"].count(" is saved as ") == 10
    assert sum(len(block["source"]["data"]) for block in blocks) < 20_000_000
    assert 2 <= len(blocks) < 10


async def test_what_is_neither_text_nor_image_is_saved_and_its_place_is_told(
    tmp_path: Path,
) -> None:
    inbox = tmp_path / "deep" / "inbox"
    files = {
        "torn.png": painted("PNG", 90, 90, noise=True)[:900],
        "paper.pdf": b"%PDF-1.7\n\xff\xfe",
        "old.zip": b"PK\x03\x04\0\0",
        "long.txt": b"x" * (MAX_INLINE_TEXT + 1),
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


async def test_a_voice_message_is_told_as_one(tmp_path: Path) -> None:
    content, _ = await composed(tmp_path, "", {"voice-message.ogg": b"OggS\0\2"})
    assert content.startswith("The voice message 'voice-message.ogg' (6 bytes) is saved as ")


async def test_a_file_that_cannot_be_saved_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "inbox").write_text("no folder")
    content, notes = await composed(tmp_path / "inbox", "Hi", {"a.bin": b"\0"})
    assert content == "Hi"
    assert notes == ("📎 a.bin was left out: it cannot be saved (File exists)",)


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
    assert content.count("<file name") == 10
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
