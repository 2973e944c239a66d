"""What the API asks of an image, read from the first bytes of the file."""

import base64
import binascii
import struct
from dataclasses import dataclass

MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MAX_BASE64_BYTES = 5 * 1024 * 1024
MAX_SIDE = 8000
MAX_SIDE_OF_MANY = 2000
MANY = 20
"""More images than this in one request make it a many-image request."""


@dataclass(frozen=True)
class Picture:
    """Kind and size in pixels."""

    media_type: str
    width: int
    height: int


def complaint(media_type: str | None, data: str, *, many: bool) -> str | None:
    """Why the API would refuse this image, or None."""
    if media_type not in MEDIA_TYPES:
        known = ", ".join(repr(known) for known in MEDIA_TYPES)
        return f"media_type: Input should be {known}"
    if len(data) > MAX_BASE64_BYTES:
        return f"image exceeds 5 MB maximum: {len(data)} bytes > {MAX_BASE64_BYTES} bytes"
    try:
        picture = look(base64.b64decode(data, validate=True))
    except binascii.Error:
        return "data: invalid base64"
    if picture is None:
        return "Could not process image"
    if picture.media_type != media_type:
        return (
            f"The image was specified using the {media_type} media type, "
            f"but the image appears to be a {picture.media_type} image"
        )
    side = max(picture.width, picture.height)
    if many and side > MAX_SIDE_OF_MANY:
        return (
            "At least one of the image dimensions exceed max allowed size for many-image "
            f"requests: {MAX_SIDE_OF_MANY} pixels"
        )
    if side > MAX_SIDE:
        return f"At least one of the image dimensions exceed max allowed size: {MAX_SIDE} pixels"
    return None


def look(data: bytes) -> Picture | None:
    """Kind and size of a PNG, GIF, JPEG or WebP file; None where the bytes are none of these."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return Picture("image/png", *struct.unpack(">II", data[16:24]))
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return Picture("image/gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError):
        return None
    return None


def _jpeg(data: bytes) -> Picture | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Picture("image/jpeg", width, height)
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp(data: bytes) -> Picture | None:
    match data[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        case b"VP8L":
            bits = struct.unpack("<I", data[21:25])[0]
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = (side & 0x3FFF for side in struct.unpack("<HH", data[26:30]))
        case _:
            return None
    return Picture("image/webp", width, height)
