"""The real bot with the real CLI on a loopback Discord and a scripted model."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from bridge.config import ClaudeNotFound, Config, find_claude
from tests.e2e.rig import Rig
from tests.support import conform


@pytest.fixture(scope="session")
def cli() -> None:
    """Skip where there is no Claude Code CLI."""
    try:
        find_claude(Config(state_dir=conform.SPEC.parent, project_dir=conform.SPEC.parent), {})
    except ClaudeNotFound as missing:
        pytest.skip(f"no Claude Code CLI: {missing}")


@pytest.fixture
async def rig(request: pytest.FixtureRequest, cli: None) -> AsyncIterator[Rig]:
    """A stage with the bot started. `@pytest.mark.settings(KEY=...)` sets variables of the bot.

    At the end, no request or answer may have broken Discord's description of its API, the model
    may have seen nothing that the real one refuses, and the bot may have logged no traceback.
    """
    marker = request.node.get_closest_marker("settings")
    async with AsyncExitStack() as stack:
        rig = await stack.enter_async_context(Rig(settings=marker.kwargs if marker else {}))
        if not (marker and marker.args == ("stopped",)):
            await rig.start()
        yield rig
        await rig.check()
