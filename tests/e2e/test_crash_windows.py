"""A crash between two steps: what one of them has done, the other must not do again."""

import json
import signal

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("lives", [True, False], ids=["process lives on", "process is gone"])
async def test_a_prompt_that_the_session_took_is_not_asked_again(rig: Rig, lives: bool) -> None:
    """The prompt reached the CLI, and the bot died before its own record of that was on disk."""
    thread = await rig.open("alpha one")
    await rig.settled(thread, 1)
    await rig.say(thread, "beta two")
    await rig.settled(thread, 2)
    await rig.stop(signal.SIGKILL)
    if not lives:
        rig.sweep()
    path = rig.state / "state.json"
    state = json.loads(path.read_text())
    record = state["threads"][thread]
    beta = next(m for m in rig.discord.messages(thread) if m["content"] == "beta two")
    record["queue"] = [
        {
            "message": int(beta["id"]),
            "author": int(beta["author"]["id"]),
            "author_name": "alice",
            "content": "beta two",
            "at": 0.0,
        }
    ]
    path.write_text(json.dumps(state))
    await rig.start()
    await rig.say(thread, "gamma three")
    shown = await rig.answer(thread, "Echo #3: gamma three | saw: alpha one / beta two")
    assert rig.prompts() == ["alpha one", "beta two", "gamma three"]
    assert shown.index("Echo #2") < shown.index("Echo #3")
