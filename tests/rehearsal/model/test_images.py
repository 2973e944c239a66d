"""What the API asks of images."""

import base64
import struct
from typing import Any

import pytest

from bridge.rehearsal.model.images import Picture, complaint, look
from bridge.rehearsal.model.rules import violations
from bridge.rehearsal.model.wire import MessagesRequest


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x06\0\0\0"


def jpeg(width: int, height: int) -> bytes:
    size = struct.pack(">BHH", 8, height, width)
    return b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x0b" + size + b"\x01\x01\x11\0"


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + rest


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(300, 200), Picture("image/png", 300, 200)),
        (jpeg(300, 200), Picture("image/jpeg", 300, 200)),
        (b"GIF89a" + struct.pack("<HH", 300, 200), Picture("image/gif", 300, 200)),
        (
            webp(b"VP8X", b"\0\0\0\0" + b"\x2b\x01\0" + b"\xc7\0\0"),
            Picture("image/webp", 300, 200),
        ),
        (
            webp(b"VP8L", b"\x2f" + struct.pack("<I", 299 | 199 << 14)),
            Picture("image/webp", 300, 200),
        ),
        (
            webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300, 200)),
            Picture("image/webp", 300, 200),
        ),
        (b"\xff\xd8\xff\xe0", None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"hello", None),
    ],
)
def test_kind_and_size_are_read_from_the_first_bytes(data: bytes, expected: Picture | None) -> None:
    assert look(data) == expected


@pytest.mark.parametrize(
    ("media_type", "data", "many", "said"),
    [
        ("image/png", png(8000, 10), False, None),
        ("image/png", png(2000, 10), True, None),
        ("image/png", png(2001, 10), True, "2000 pixels"),
        ("image/png", png(8001, 10), False, "8000"),
        ("image/jpeg", png(10, 10), False, "appears to be a image/png"),
        ("image/bmp", png(10, 10), False, "media_type"),
        ("image/png", b"nonsense", False, "Could not process"),
        ("image/png", png(10, 10) + bytes(4 << 20), False, "exceeds 5 MB"),
    ],
)
def test_the_limits_of_images(media_type: str, data: bytes, many: bool, said: str | None) -> None:
    found = complaint(media_type, base64.b64encode(data).decode(), many=many)
    assert (found is None) if said is None else (found is not None and said in found)


def test_more_than_twenty_images_make_a_many_image_request_wherever_they_are() -> None:
    data = base64.b64encode(png(3000, 10)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    def broken(count: int) -> list[str]:
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": [image]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "R", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [image] * (count - 1)}
                ],
            },
        ]
        return violations(MessagesRequest.model_validate({"model": "m", "messages": messages}))

    assert broken(20) == []
    assert len(broken(21)) == 21
