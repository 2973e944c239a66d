"""What the bot before a crash had heard, and nobody had written down yet, is not lost."""

import signal

import pytest

from bridge.rehearsal.model import Text, Tool
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e


async def test_the_beginning_of_a_message_stands_in_the_reply_when_its_end_came_after_a_crash(
    rig: Rig,
) -> None:
    """The CLI writes a message to its transcript only when the whole of it is there."""
    call = Tool("Bash", {"command": "echo tool-ran"})
    rig.model.script("go", (Text("First words."), Text("slow " * 40, 4), call), Text("Last words."))
    thread = await rig.open("go")
    await rig.answer(thread, "slow")
    await rig.restart(signal.SIGKILL)
    shown = await rig.settled(thread, 1)
    for once in ("First words.", "echo tool-ran", "Last words."):
        assert shown.count(once) == 1
    # The turn that went on is the person's, and not one that the CLI began by itself.
    assert rig.prompts() == ["go"]
    assert shown.index("First words.") < shown.index("slow") < shown.index("echo tool-ran")
    assert shown.index("echo tool-ran") < shown.index("Last words.")
    assert shown.count("slow") == 40
