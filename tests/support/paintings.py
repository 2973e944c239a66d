"""Pictures that tests send."""

import io
import random

from PIL import Image


def painted(kind: str, width: int, height: int, *, mode: str = "RGB", noise: bool = False) -> bytes:
    """A picture of a kind that Pillow can write; noise cannot be compressed."""
    image = Image.new(mode, (width, height))
    if noise:
        bands = len(image.getbands())
        image.frombytes(random.Random(7).randbytes(width * height * bands))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def size_of(data: bytes) -> tuple[int, int]:
    """Width and height of a picture that can be read to its end."""
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return image.size
