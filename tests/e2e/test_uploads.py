"""Files that people sent do not stay for ever."""

import os
import time
from pathlib import Path

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e


def saved(rig: Rig) -> list[Path]:
    """The files that are kept now."""
    return sorted((rig.state / "inbox").glob("*/*/*"))


async def test_files_go_with_their_thread_and_old_ones_at_the_next_start(rig: Rig) -> None:
    one = await rig.open("", files={"one.bin": b"\0one"})
    await rig.settled(one, 1)
    two = await rig.open("", files={"two.bin": b"\0two"})
    await rig.settled(two, 1)
    await rig.say(two, "", files={"three.bin": b"\0three"})
    await rig.settled(two, 2)
    assert len(saved(rig)) == 3

    await rig.discord.delete_channel(one)
    await rig.eventually(lambda: not (rig.state / "inbox" / one).exists(), what="its files go")
    (new,) = (path for path in saved(rig) if path.name.endswith("three.bin"))
    (old,) = (path for path in saved(rig) if path.name.endswith("two.bin"))
    await rig.stop()
    assert saved(rig) == sorted([new, old])
    at = time.time() - 31 * 86400
    os.utime(old.parent, (at, at))
    await rig.start()
    await rig.eventually(lambda: not old.parent.exists(), what="what is old goes")
    assert saved(rig) == [new]
    await rig.say(two, "and on")
    await rig.answer(two, "Echo #3: and on")
