"""A Jev to speak to, and no key from the machine that runs the tests."""

from collections.abc import AsyncIterator

import pytest

from compaction.jev import JevClient
from tests.compaction.jev.server import JevServer, running

KEY = "ts_live_Zx81Qp0aRk77"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)


@pytest.fixture
async def jev() -> AsyncIterator[JevServer]:
    async with running() as server:
        yield server


@pytest.fixture
async def client(jev: JevServer) -> AsyncIterator[JevClient]:
    async with JevClient(api_key=KEY, base_url=jev.url) as client:
        yield client
