"""Pictures as the API takes them: of a known kind, whole, and within its limits.

An image that the API refuses stays in the conversation, and every later request is refused with it.
So what cannot be decoded here is never sent, and what is too large is made smaller first.
"""

import io
import logging
import math
from dataclasses import dataclass

from PIL import Image, ImageOps

log = logging.getLogger(__name__)

MAX_BYTES = 3_750_000
"""The API takes 5 MB of base64, which are 3.75 MB of image."""
MAX_EDGE = 2000
"""Pixels; the API refuses larger ones in requests with many images (and any over 8000)."""
MAX_PIXELS = 40_000_000
"""What is decoded at most: 160 MB of memory. A JPEG is decoded at a fraction of its size."""

_MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_READ = (*_MEDIA, "BMP", "TIFF", "ICO", "PPM", "AVIF")
"""Kinds that are decoded; others (EPS, for one, which is a program) are not looked into."""
_QUALITIES = (85, 70, 50)


@dataclass(frozen=True)
class Picture:
    """An image that the API takes."""

    media_type: str
    data: bytes


def fitting(data: bytes) -> Picture | None:
    """The picture, made smaller if need be; None if it is none, or is damaged. Blocks.

    What fits as it is stays as it is, to the byte.
    """
    try:
        return _fitting(data)
    except Exception as fault:  # a damaged file can make Pillow's readers fail in any way
        log.info("a file is not shown as a picture: %s: %s", type(fault).__name__, fault)
        return None


def _fitting(data: bytes) -> Picture | None:
    with Image.open(io.BytesIO(data), formats=_READ) as image:
        kind = image.format or ""
        fits = max(image.size) <= MAX_EDGE and len(data) <= MAX_BYTES
        if not fits:
            image.draft("RGB", (MAX_EDGE, MAX_EDGE))
        if math.prod(image.size) > MAX_PIXELS:
            return None
        image.load()
        if kind in _MEDIA and fits:
            return Picture(_MEDIA[kind], data)
        upright = ImageOps.exif_transpose(image)
        upright.thumbnail((MAX_EDGE, MAX_EDGE))
        return _encoded(upright, photo=kind == "JPEG")


def _encoded(image: Image.Image, *, photo: bool) -> Picture | None:
    """As PNG, which loses nothing, if that is small enough; else as JPEG, then smaller."""
    if not photo:
        flat = image if image.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else _rgba(image)
        data = _written(flat, "PNG")
        if len(data) <= MAX_BYTES:
            return Picture("image/png", data)
    opaque = _on_white(image)
    while max(opaque.size) > 16:
        for quality in _QUALITIES:
            data = _written(opaque, "JPEG", quality=quality)
            if len(data) <= MAX_BYTES:
                return Picture("image/jpeg", data)
        opaque.thumbnail((opaque.width // 2, opaque.height // 2))
    return None


def _written(image: Image.Image, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _rgba(image: Image.Image) -> Image.Image:
    return image.convert("RGBA")


def _on_white(image: Image.Image) -> Image.Image:
    """Without transparency, which a JPEG does not know."""
    if image.mode == "RGB":
        return image.copy()
    whole = _rgba(image)
    ground = Image.new("RGBA", whole.size, "white")
    return Image.alpha_composite(ground, whole).convert("RGB")
