"""The CDN: attachments, and an avatar for everybody."""

import asyncio
import struct
import zlib
from urllib.parse import unquote

from aiohttp import web

from bridge.rehearsal.discord.faults import Delay, Failure, Faults
from bridge.rehearsal.discord.world import World

BASE = "/cdn"
_SIDE = 64
# Discord's own palette for people without a picture.
_COLOURS = ("5865f2", "757e8a", "3ba55c", "faa61a", "ed4245", "eb459f")


class Cdn:
    def __init__(self, world: World, faults: Faults) -> None:
        self._world = world
        self._faults = faults

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve a file; faults match its path with `/cdn` in front."""
        for order in self._faults.take("GET", request.rel_url.raw_path):
            if isinstance(order, Delay):
                await asyncio.sleep(order.seconds)
            elif isinstance(order, Failure):
                return web.Response(status=order.status, text="rehearsed failure")
            elif request.transport is not None:
                request.transport.abort()
        path = unquote(request.rel_url.raw_path.removeprefix(BASE))
        if found := self._world.files.get(path):
            data, kind = found
            return web.Response(body=data, headers={"Content-Type": kind})
        parts = path.strip("/").split("/")
        if parts[0] in ("avatars", "icons") or parts[:2] == ["embed", "avatars"]:
            number = sum(map(ord, parts[-1 if parts[0] == "embed" else 1]))
            picture = plain_png(_COLOURS[number % len(_COLOURS)])
            return web.Response(body=picture, headers={"Content-Type": "image/png"})
        return web.Response(status=404, text="not found")


def plain_png(colour: str, side: int = _SIDE) -> bytes:
    """A square of one colour (`rrggbb`) as a PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\x00" + bytes.fromhex(colour) * side) * side
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
