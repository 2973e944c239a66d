"""A queued message becomes a prompt: its text, its text files inline, its images as blocks.

What can be neither is saved under a safe name, and its path is told to Claude.
"""

import asyncio
import base64
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge import uploads
from bridge.discord_io.attachments import MAX_BYTES, Downloads, NotFetched
from state import Attachment, Queued

LONG_PASTE = "message.txt"
"""The name that Discord's client gives to a text that is too long for a message."""

MAX_INLINE_TEXT = 200_000
MAX_PASTED_TEXT = 500_000
"""Characters; a paste is what the person says, so it is a file only where no window would take it.
"""
MAX_IMAGE_BYTES = 3_750_000
"""The API takes 5 MB of base64, which are 3.75 MB of image."""
MAX_NAME = 200
"""Bytes; file systems take 255."""
MAX_IMAGE_EDGE = 2000
"""Pixels; the API refuses larger ones in requests with many images, and so for good."""


@dataclass(frozen=True)
class Prompt:
    """What the CLI is given, and what the person is told about their files."""

    content: str | list[dict[str, Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Part:
    text: str = ""
    image: dict[str, Any] | None = None
    note: str = ""


async def compose(item: Queued, downloads: Downloads, inbox: Path) -> Prompt:
    """Make the prompt of a message; files are saved below `inbox`, a folder of this message."""
    if not item.attachments:
        return Prompt(item.content)
    parts: list[_Part] = []
    room = MAX_BYTES
    for number, file in enumerate(item.attachments, 1):  # never more than one in memory as it came
        try:
            data = await downloads.fetch(file, room)
        except NotFetched as fault:
            parts.append(_Part(note=f"📎 {file.filename} was left out: {fault}"))
            continue
        room -= file.size
        path = inbox / f"{number}-{safe_name(file.filename)}"
        parts.append(await asyncio.to_thread(_part, file, data, path))
    text = "\n\n".join(t for t in (item.content, *(p.text for p in parts)) if t.strip())
    images = [part.image for part in parts if part.image]
    notes = tuple(part.note for part in parts if part.note)
    if not images:
        return Prompt(text or "(The message had only files, and none of them arrived.)", notes)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return Prompt([*blocks, *images], notes)


def _part(file: Attachment, data: bytes, path: Path) -> _Part:
    """What a file is in the prompt; it is saved under `path` if it is neither text nor image."""
    text = as_text(data) if len(data) <= 4 * MAX_PASTED_TEXT else None  # 4 bytes a character
    if text is not None and file.filename == LONG_PASTE and len(text) <= MAX_PASTED_TEXT:
        return _Part(text=text)
    if text is not None and len(text) <= MAX_INLINE_TEXT:
        return _Part(text=f'<file name="{safe_name(file.filename)}">\n{text}\n</file>')
    media = image_type(data)
    if media and len(data) <= MAX_IMAGE_BYTES and max(image_size(data)) <= MAX_IMAGE_EDGE:
        source = {"type": "base64", "media_type": media, "data": base64.b64encode(data).decode()}
        return _Part(image={"type": "image", "source": source})
    uploads.save(path, data)
    return _Part(text=f"The file {file.filename!r} ({len(data)} bytes) is saved as {path}")


def safe_name(name: str) -> str:
    """A file name without folders, control characters or surprises; never empty, never too long.

    Of a long one the end is kept, which says what it is.
    """
    plain = re.sub(r"[^\w.\- ]+", "_", name.replace("\\", "/").rsplit("/", 1)[-1])
    short = plain.encode()[-MAX_NAME:].decode(errors="ignore")
    return short.strip(". ") or "file"


def as_text(data: bytes) -> str | None:
    """The file as text, if it is text: the content decides, not the name."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def image_type(data: bytes) -> str | None:
    """The media type of an image that the API takes, told by its first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels; as if it were too large where they cannot be read."""
    try:
        match image_type(data):
            case "image/png":
                size = struct.unpack(">II", data[16:24])
            case "image/gif":
                size = struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                size = _jpeg_size(data)
            case "image/webp":
                size = _webp_size(data)
            case _:
                size = (0, 0)
    except struct.error:
        size = (0, 0)
    return size if min(size) > 0 else (MAX_IMAGE_EDGE + 1, MAX_IMAGE_EDGE + 1)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Walk the segments to the frame header (SOF0-SOF15, without the three that are none)."""
    at = 2
    while True:
        start, marker = struct.unpack(">BB", data[at : at + 2])
        if start != 0xFF:
            return 0, 0
        if marker == 0xFF:  # a segment may be padded in front
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # a marker without a segment
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        else:
            at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            *_, wide, high_wide, tall, high_tall = struct.unpack("<IHBHB", data[20:30])
            return (high_wide << 16 | wide) + 1, (high_tall << 16 | tall) + 1
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return 0, 0
