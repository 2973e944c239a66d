"""Uploads: how Discord names, describes and serves them."""

import mimetypes
import re
import struct
from dataclasses import dataclass
from pathlib import PurePosixPath

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.world import World

MAX_BYTES = 10 << 20
MAX_PER_MESSAGE = 10


@dataclass(frozen=True)
class Upload:
    """A file on its way in; `content_type` overrides what its name suggests."""

    name: str
    data: bytes
    description: str | None = None
    content_type: str | None = None


def keep(world: World, cdn: str, channel: str, upload: Upload, *, ephemeral: bool = False) -> Json:
    """Store a file where the CDN serves it; the attachment that describes it."""
    id = world.snowflakes.next()
    name = safe_name(upload.name)
    path = f"/attachments/{channel}/{id}/{name}"
    kind = upload.content_type or guess_type(name)
    world.files[path] = (upload.data, kind or "application/octet-stream")
    attachment: Json = {
        "id": id,
        "filename": name,
        "size": len(upload.data),
        "url": f"{cdn}{path}?ex=0&is=0&hm=0",
        "proxy_url": f"{cdn}{path}",
    }
    if kind:
        attachment["content_type"] = kind
    if name != upload.name:
        attachment["title"] = PurePosixPath(upload.name).stem
    if upload.description:
        attachment["description"] = upload.description
    if ephemeral:
        attachment["ephemeral"] = True
    if size := image_size(upload.data):
        attachment["width"], attachment["height"] = size
    return attachment


def safe_name(name: str) -> str:
    """Discord's spelling of a file name: spaces become underscores, other odd signs vanish."""
    kept = re.sub(r"[^\w.\-]", "", name.replace(" ", "_"), flags=re.ASCII).lstrip(".")
    return kept if PurePosixPath(kept).stem else f"unknown{PurePosixPath(kept).suffix}"


def guess_type(name: str) -> str | None:
    kind, _ = mimetypes.guess_type(name)
    return f"{kind}; charset=utf-8" if kind and kind.startswith("text/") else kind


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG or GIF, from its header."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return struct.unpack(">II", data[16:24])
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return struct.unpack("<HH", data[6:10])
    return None
