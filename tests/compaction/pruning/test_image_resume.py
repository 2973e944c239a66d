"""The real CLI goes on with sessions whose old images went, and with one repaired."""

import base64
import json
import struct
import uuid
import zlib

from bridge import protocol
from bridge.rehearsal.stage import Stage
from compaction.images import IMAGE_REMOVED
from compaction.sibling import write
from tests.compaction.transcript import law
from tests.compaction.transcript.sessions import Json, text
from tests.compaction.transcript.test_resume import (
    PIXEL,
    Cli,
    blocks,
    cli,
    resume_twice,
    tool,
    transcript_of,
)


def picture(data: bytes) -> Json:
    source = {"type": "base64", "media_type": "image/png"}
    return {"type": "image", "source": {**source, "data": base64.b64encode(data).decode()}}


def too_large() -> bytes:
    """A PNG with a side that the API refuses."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 9000, 1, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * 9001)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def show(running: Cli, words: str, data: bytes) -> Json:
    """A turn whose prompt has an image in it."""
    await running.send(protocol.user_line([text(words), picture(data)], str(uuid.uuid4())))
    return await running.event("result")


def images(messages: list[Json]) -> list[Json]:
    """All images of a request, in prompts and in results."""
    return law.images([{"type": message["role"], "message": message} for message in messages])


async def test_old_images_are_no_longer_sent() -> None:
    async with Stage() as stage:
        (stage.work / "i.png").write_bytes(PIXEL)
        read = tool("Read", file_path=str(stage.work / "i.png"))
        async with cli(stage) as running:
            await running.turn("SAY: hello")
            await show(running, "SAY: seen", PIXEL)
            await running.turn(f"STEPS: THINK of it ;; TOOLS: [{read}] ;; SAY: read")
            for at in range(4):
                await running.turn(f"SAY: {at}")
            await show(running, "SAY: seen again", PIXEL)
        transcript = transcript_of(stage, running.sid)
        before = transcript.path.read_bytes()
        written = write(transcript, {}, images=True)
        assert law.violations(written.path) == []
        messages = await resume_twice(stage, written)
        assert len(images(messages)) == 1
        assert json.dumps(messages).count(IMAGE_REMOVED) == 2
        assert blocks(messages, "thinking") == []
        assert transcript.path.read_bytes() == before


async def test_an_image_that_the_api_refuses_is_sent_no_more_after_a_repair() -> None:
    async with Stage() as stage:
        async with cli(stage) as running:
            await running.turn("SAY: hello")
            await show(running, "SAY: seen", PIXEL)
            await running.turn("SAY: more")
        path = transcript_of(stage, running.sid).path
        # This CLI makes large images smaller; others have put them in as they were.
        good, bad = (picture(data)["source"]["data"] for data in (PIXEL, too_large()))
        assert good in path.read_text()
        path.write_text(path.read_text().replace(good, bad))
        async with cli(stage, resume=running.sid) as broken:
            await broken.turn("SAY: still there?")
        # Versions before this one gave up here instead of asking once more without the image.
        assert "image dimensions exceed" in stage.model.violations.pop()
        written = write(transcript_of(stage, running.sid), {}, images="all")
        assert law.violations(written.path) == []
        messages = await resume_twice(stage, written)
        assert images(messages) == []
