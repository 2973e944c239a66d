"""Two things at the same moment: each keeps to what it was meant for."""

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e


async def test_a_message_sent_while_new_works_belongs_to_the_new_session(rig: Rig) -> None:
    """The CLI takes its time over the interrupt; the message is there before it gives in."""
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await rig.say(thread, "SLOW 20 beta")
    await rig.answer(thread, "working")
    (cli,) = rig.clis()
    cli.suspend()
    new = await rig.discord.slash(thread, "new")
    await new.acked()
    await rig.say(thread, "gamma three")
    await rig.until(lambda: rig.calls("PUT", "/reactions/"), what="the message waits")
    cli.resume()
    await new.done()
    await rig.answer(thread, "Echo #1: gamma three | saw:")
    assert len(rig.transcripts()) == 2


async def test_stop_during_a_download_frees_the_thread(rig: Rig) -> None:
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    rig.discord.faults.delay("GET", r"/cdn/attachments/.*", 600)
    await rig.say(thread, "look at this", files={"a.txt": b"hello"})
    await rig.eventually(lambda: rig.record(thread).get("turn"))
    assert "Stopped" in await rig.command(thread, "stop")
    await rig.say(thread, "after stop")
    await rig.answer(thread, "after stop | saw: alpha one")
    rig.discord.faults.clear()
