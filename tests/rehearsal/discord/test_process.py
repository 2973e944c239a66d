"""A bot in a process of its own, ended by its pid."""

import asyncio
import signal
import sys
from pathlib import Path

from bridge.rehearsal.discord import LoopbackDiscord

SCRIPT = Path(__file__).with_name("echo_bot.py")


async def test_a_bot_process_works_resumes_and_ends(loopback: LoopbackDiscord) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), loopback.url, loopback.token
    )
    try:
        await loopback.until(lambda: loopback.connected, 30, "the process connects")
        await loopback.say(loopback.general, "workshop")
        [thread] = await loopback.until(loopback.threads, what="a thread")
        await loopback.until(lambda: loopback.shown(thread["id"]), what="the welcome")
        await loopback.cut_gateway()
        said = await loopback.say(thread["id"], "echo this")
        await loopback.until(
            lambda: "echo this" in loopback.shown(thread["id"]), what="the echo after a cut"
        )
        assert loopback.resumes == 1
        reply = loopback.messages(thread["id"])[-1]
        assert reply["message_reference"]["message_id"] == said["id"]
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
    await loopback.until(lambda: not loopback.connected, what="the connection ends")
