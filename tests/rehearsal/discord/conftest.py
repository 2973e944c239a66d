from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Ask, Bot, running
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


@pytest.fixture
async def ask(loopback: LoopbackDiscord) -> AsyncIterator[Ask]:
    """Requests with the bot's token, unless headers say otherwise."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bot {loopback.token}"}) as session:

        async def request(method: str, path: str, **more: Any) -> tuple[Any, Any]:
            async with session.request(method, f"{loopback.url}/api/v10{path}", **more) as answer:
                return answer, await answer.json() if answer.status != 204 else None

        yield request
