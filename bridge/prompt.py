"""A queued message becomes a prompt: what it answers, its words, its files.

Every file is saved under a safe name, and its path is told to Claude. A short text stands in the
prompt as well, and a picture is shown. A long paste, which Discord's client makes a file of, is
what the person says.
"""

import asyncio
import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge import pictures, uploads
from bridge.discord_io.attachments import MAX_BYTES, Downloads, NotFetched
from state import Attachment, Queued

LONG_PASTE = "message.txt"
"""The name that Discord's client gives to a text that is too long for a message."""
VOICE = "voice-message.ogg"
"""The name that Discord's client gives to what a person says into it."""

MAX_INLINE_TEXT = 50_000
MAX_PASTED_TEXT = 500_000
"""Characters; a paste is what the person says, so it is a file only where no window would take it.
"""
MAX_NAME = 200
"""Bytes; file systems take 255."""
MAX_SHOWN = 12_000_000
"""Bytes of pictures in one prompt: the API takes 32 MB of base64 for the whole conversation."""


@dataclass(frozen=True)
class Prompt:
    """What the CLI is given, and what the person is told about their files."""

    content: str | list[dict[str, Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Part:
    text: str = ""
    note: str = ""
    picture: pictures.Picture | None = None

    @property
    def shown(self) -> int:
        """Bytes of a picture that stand in the prompt."""
        return len(self.picture.data) if self.picture else 0


async def compose(item: Queued, downloads: Downloads, inbox: Path) -> Prompt:
    """Make the prompt of a message; files are saved below `inbox`, a folder of this message."""
    parts: list[_Part] = []
    room, shown = MAX_BYTES, 0
    for number, file in enumerate(item.attachments, 1):  # never more than one in memory as it came
        try:
            data = await downloads.fetch(file, room)
        except NotFetched as fault:
            parts.append(_Part(note=f"📎 {file.filename} was left out: {fault}"))
            continue
        room -= file.size
        path = inbox / f"{number}-{safe_name(file.filename)}"
        part = await asyncio.to_thread(_part, file, data, path, MAX_SHOWN - shown)
        parts.append(part)
        shown += part.shown
    told = (*said(item), *(p.text for p in parts))
    text = "\n\n".join(part for part in told if part.strip())
    images = [_image(part.picture) for part in parts if part.picture]
    notes = tuple(part.note for part in parts if part.note)
    if not images:
        return Prompt(text or "(The message had only files, and none of them arrived.)", notes)
    return Prompt([{"type": "text", "text": text}, *images], notes)


def said(item: Queued) -> tuple[str, str]:
    """The words of a message behind those that it answers.

    A command to the CLI is one only where it stands at the very beginning.
    """
    command = item.content.startswith("/")
    return ("", item.content) if command else (item.reply, item.content)


def _image(picture: pictures.Picture) -> dict[str, Any]:
    data = base64.b64encode(picture.data).decode()
    source = {"type": "base64", "media_type": picture.media_type, "data": data}
    return {"type": "image", "source": source}


def _part(file: Attachment, data: bytes, path: Path, room: int) -> _Part:
    """What a file is in the prompt; it is saved under `path`, unless it is the message itself.

    A picture is shown if it has no more than `room` bytes.
    """
    text = as_text(data) if len(data) <= 4 * MAX_PASTED_TEXT else None  # 4 bytes a character
    if text is not None and file.filename == LONG_PASTE and len(text) <= MAX_PASTED_TEXT:
        return _Part(text=text)
    try:
        uploads.save(path, data)
    except OSError as fault:
        reason = fault.strerror or type(fault).__name__
        return _Part(note=f"📎 {file.filename} was left out: it cannot be saved ({reason})")
    if text is not None and len(text) <= MAX_INLINE_TEXT:
        name = safe_name(file.filename)
        return _Part(text=f'<file name="{name}" path="{path}">\n{text}\n</file>')
    what = "voice message" if file.filename == VOICE else "file"
    told = f"The {what} {file.filename!r} ({len(data)} bytes) is saved as {path}"
    picture = pictures.fitting(data) if text is None else None
    if picture is None or len(picture.data) > room:
        return _Part(text=told)
    made = "" if picture.data == data else " (what you see of it here was made smaller)"
    return _Part(text=told + made, picture=picture)


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
