from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.rehearsal.discord import Deadlines, LoopbackDiscord
from bridge.rehearsal.page import mount
from tests.support.browser import CHROMIUM, Browser, Page, chromium


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium")
    async with chromium(tmp_path) as browser:
        yield browser


@pytest.fixture
async def served() -> AsyncIterator[LoopbackDiscord]:
    """A loopback Discord with the page, whose interactions fail soon."""
    loopback = LoopbackDiscord(rate_limits="off", deadlines=Deadlines(answer=0.5))
    mount(loopback)
    await loopback.start()
    yield loopback
    await loopback.stop()


@pytest.fixture
async def page(served: LoopbackDiscord, browser: Browser) -> AsyncIterator[Page]:
    """The open page; an error in its scripts fails the test."""
    page = await browser.open(f"{served.url}/")
    await page.shows("This is the beginning of #general.")
    yield page
    assert page.errors == []
    await page.call("Page.navigate", url="about:blank")
