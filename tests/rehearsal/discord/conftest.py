from collections.abc import AsyncIterator

import pytest

from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Bot, running
from tests.support.conform import Conformity


@pytest.fixture
def audit() -> Conformity:
    """A test that sends what Discord refuses clears the violations itself."""
    return Conformity()


@pytest.fixture
async def loopback(audit: Conformity) -> AsyncIterator[LoopbackDiscord]:
    """A loopback Discord whose whole traffic has to conform to Discord's own description."""
    server = LoopbackDiscord(audit=audit, rate_limits="off")
    await server.start()
    yield server
    await server.stop()
    assert audit.violations == []


@pytest.fixture
async def bot(loopback: LoopbackDiscord) -> AsyncIterator[Bot]:
    async with running(loopback, Bot()) as bot:
        yield bot
