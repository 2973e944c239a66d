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

from bridge.discord_io.attachments import Downloads, NotFetched
from state import Attachment, Queued

LONG_PASTE = "message.txt"
"""The name that Discord's client gives to a text that is too long for a message."""

MAX_INLINE_TEXT = 200_000
MAX_IMAGE_BYTES = 3_750_000
"""The API takes 5 MB of base64, which are 3.75 MB of image."""
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
    parts = await asyncio.gather(
        *(_part(n, a, downloads, inbox) for n, a in enumerate(item.attachments, 1))
    )
    text = "\n\n".join(t for t in (item.content, *(p.text for p in parts)) if t.strip())
    images = [part.image for part in parts if part.image]
    notes = tuple(part.note for part in parts if part.note)
    if not images:
        return Prompt(text or "(The message had only files, and none of them arrived.)", notes)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return Prompt([*blocks, *images], notes)


async def _part(number: int, file: Attachment, downloads: Downloads, inbox: Path) -> _Part:
    try:
        data = await downloads.fetch(file)
    except NotFetched as fault:
        return _Part(note=f"📎 {file.filename} was left out: {fault}")
    text = as_text(data)
    if text is not None and len(text) <= MAX_INLINE_TEXT:
        if file.filename == LONG_PASTE:
            return _Part(text=text)
        return _Part(text=f'<file name="{safe_name(file.filename)}">\n{text}\n</file>')
    media = image_type(data)
    if media and len(data) <= MAX_IMAGE_BYTES and max(image_size(data)) <= MAX_IMAGE_EDGE:
        source = {"type": "base64", "media_type": media, "data": base64.b64encode(data).decode()}
        return _Part(image={"type": "image", "source": source})
    path = inbox / f"{number}-{safe_name(file.filename)}"
    await asyncio.to_thread(_save, path, data)
    return _Part(text=f"The file {file.filename!r} ({len(data)} bytes) is saved as {path}")


def _save(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)


def safe_name(name: str) -> str:
    """A file name without folders, control characters or surprises; never empty."""
    plain = re.sub(r"[^\w.\- ]+", "_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")
    return plain[-100:] or "file"


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
    unknown = (MAX_IMAGE_EDGE + 1, MAX_IMAGE_EDGE + 1)
    try:
        match image_type(data):
            case "image/png":
                return struct.unpack(">II", data[16:24])
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                return _jpeg_size(data)
            case "image/webp":
                return _webp_size(data)
            case _:
                return unknown
    except (struct.error, IndexError):
        return unknown


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Walk the segments to the frame header (SOF0-SOF15, without the three that are none)."""
    at = 2
    while True:
        marker, length = struct.unpack(">HH", data[at : at + 4])
        if 0xFFC0 <= marker <= 0xFFCF and marker not in (0xFFC4, 0xFFC8, 0xFFCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        return width, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF
