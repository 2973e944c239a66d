"""The report in a browser, and the runs of lines that it shows."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from compaction.page import page, parts
from compaction.session import Request, compact_session
from compaction.transcript import Transcript
from tests.compaction.session.work import save, working
from tests.support.browser import CHROMIUM, Browser, Page, chromium

PHONE, DESK = (390, 844), (1280, 800)
WAIT = 30
in_browser = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium")
    async with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def report(browser: Browser, tmp_path: Path) -> AsyncIterator[Page]:
    """An open report; an error in its script fails the test."""
    path = save(working(24), tmp_path)
    transcript = Transcript.read(path)
    request = Request("both", target=transcript.tokens // 4, window=20_000, dry_run=True)
    outcome = compact_session(path, request, transcript=transcript)
    assert outcome.kept and outcome.trimmed and outcome.removed
    file = tmp_path / "report.html"
    file.write_text(page(outcome, transcript.messages), "utf-8")
    page_ = await browser.open(file.as_uri(), width=DESK[0], height=DESK[1])
    yield page_
    assert page_.errors == []
    await page_.call("Page.navigate", url="about:blank")


@in_browser
@pytest.mark.parametrize("size", [PHONE, DESK])
async def test_nothing_of_a_report_is_wider_than_the_screen(
    report: Page, size: tuple[int, int]
) -> None:
    await report.resize(*size)
    await report.evaluate("for (const each of document.querySelectorAll('summary')) each.click()")
    await report.until("document.querySelectorAll('.body').length > 20", WAIT)
    assert await report.evaluate("document.documentElement.scrollWidth <= innerWidth")


@in_browser
@pytest.mark.parametrize("kind", ["keep", "trim", "gone"])
async def test_a_filter_shows_the_calls_of_one_decision(report: Page, kind: str) -> None:
    await report.click(f"#filters [data-kind={kind}]")
    shown = (
        "[...document.querySelectorAll('#timeline > :not([hidden])')].map(e => e.className).join()"
    )
    assert set((await report.evaluate(shown)).split(",")) == {kind}
    counted = await report.evaluate(
        f"String(document.querySelectorAll('details.{kind}:not([hidden])').length)"
    )
    assert (await report.text(f"#filters .{kind}")).endswith(f" {counted}")


@in_browser
async def test_a_call_tells_its_reason_and_what_went_when_it_is_opened(report: Page) -> None:
    await open_first(report, "trim")
    await report.until("document.querySelector('details.trim[open] pre .went')", WAIT)
    assert "lines stay" in await report.text("details.trim .body")
    await open_first(report, "gone")
    await report.until("document.querySelector('details.gone[open] pre .went')", WAIT)
    assert not await report.evaluate("document.querySelector('details.gone pre :not(.went)')")


@in_browser
async def test_the_strip_tells_of_the_call_under_the_mouse_and_leads_to_it(report: Page) -> None:
    x, y = await report.evaluate(
        "(() => { const b = document.getElementById('before').getBoundingClientRect();"
        " const { from, to } = strips[0].pieces.find(p => p.entry.call?.action !== 'keep'"
        " && p.entry.call); return [b.x + b.width * (from + to) / 2 / before, b.y + 9]; })()"
    )
    await report.mouse("mouseMoved", x, y)
    await report.until("!document.getElementById('tip').hidden", WAIT)
    assert " → " in await report.text("#tip")
    for kind in ("mousePressed", "mouseReleased"):
        await report.mouse(kind, x, y, button="left", clickCount=1)
    await report.until("document.querySelector('details.here[open] .body')", WAIT)


async def open_first(report: Page, kind: str) -> None:
    """Open a call by the keyboard, which no layout that still settles can lead astray."""
    await report.evaluate(f"document.querySelector('details.{kind} summary').focus()")
    await report.press("Enter")


LINES = st.lists(st.sampled_from(["", "}", "a = 1", "b = 2", "     3→c"]), max_size=12)


@given(LINES, st.data())
def test_the_runs_of_a_text_are_the_text_and_hold_what_is_left_of_it(
    lines: list[str], data: st.DataObject
) -> None:
    stays = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    left = [line for line, stay in zip(lines, stays, strict=True) if stay]
    found = parts("\n".join(lines), "\n".join(["[… 0 lines omitted …]", *left]))
    assert "\n".join(text for _, text in found) == "\n".join(lines)
    assert [row for kind, text in found if kind for row in text.split("\n")] == left


def test_marks_tell_which_of_equal_lines_went() -> None:
    found = parts("a\n}\nb\n}\nc", "[… 2 lines omitted …]\nb\n}\n[… 1]")
    assert found == [(0, "a\n}"), (1, "b\n}"), (0, "c")]
