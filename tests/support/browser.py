"""Chromium without a screen, driven over the DevTools protocol."""

import asyncio
import base64
import itertools
import json
import os
import re
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

Json = dict[str, Any]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)
START_SECONDS = 30
_KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40}
_WAIT = """
new Promise((resolve, reject) => {
  const found = () => (%s);
  const check = () => {
    const value = found();
    if (!value) return;
    observer.disconnect();
    clearTimeout(timer);
    resolve(value);
  };
  const observer = new MutationObserver(check);
  const timer = setTimeout(() => { observer.disconnect(); reject(new Error("not in time")); }, %d);
  observer.observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  check();
})
"""


class BrowserError(Exception):
    """The browser refused a command or the page's script failed."""


class Browser:
    """One running Chromium."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._pages: dict[str, Page] = {}

    async def open(self, url: str, *, width: int = 1200, height: int = 800) -> "Page":
        """A new page at that address, of that size, once it is loaded."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        page = Page(self, attached["sessionId"])
        self._pages[attached["sessionId"]] = page
        for domain in ("Page", "Runtime", "Log", "DOM"):
            await page.call(f"{domain}.enable")
        await page.resize(width, height)
        await page.call("Page.navigate", url=url)
        await page.loaded.wait()
        return page

    async def call(self, method: str, session: str | None = None, **params: Any) -> Json:
        number = next(self._numbers)
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        message: Json = {"id": number, "method": method, "params": params}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        answer = await future
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    async def read(self) -> None:
        """Take in answers and events until the browser goes."""
        async for frame in self._socket:
            message: Json = json.loads(frame.data)
            if "id" in message:
                self._answers.pop(message["id"]).set_result(message)
            elif page := self._pages.get(message.get("sessionId", "")):
                page.happened(message["method"], message["params"])
        for future in self._answers.values():
            future.cancel()


class Page:
    """One page; `errors` holds what its scripts threw or logged as an error."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.loaded = asyncio.Event()
        self.errors: list[str] = []

    async def call(self, method: str, **params: Any) -> Json:
        return await self._browser.call(method, self._session, **params)

    def happened(self, method: str, params: Json) -> None:
        match method:
            case "Page.loadEventFired":
                self.loaded.set()
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.errors.append(details.get("exception", details).get("description", "?"))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])
            case _:
                pass

    async def resize(self, width: int, height: int) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        answer = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if failure := answer.get("exceptionDetails"):
            said = failure.get("exception", {}).get("description", failure["text"])
            raise BrowserError(f"{said} in {expression[:300]}")
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = 10) -> Any:
        """The expression's first truthy value, asked again whenever the document changes."""
        try:
            return await self.evaluate(_WAIT % (expression, seconds * 1000))
        except BrowserError as error:
            shown = await self.evaluate("document.body.innerText")
            raise AssertionError(f"{expression!r}: {error}; the page shows {shown}") from None

    async def shows(self, text: str, selector: str = "#messages", seconds: float = 10) -> None:
        """Wait until the text is seen in an element that matches."""
        wanted, where = json.dumps(text), json.dumps(selector)
        await self.until(
            f"[...document.querySelectorAll({where})].some(e => e.innerText.includes({wanted}))",
            seconds,
        )

    async def text(self, selector: str) -> str:
        return await self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    async def click(self, selector: str) -> None:
        """Click in the middle of the first element that matches, as a mouse does."""
        await self.until(f"document.querySelector({json.dumps(selector)})")
        box = await self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        await self.mouse("mouseMoved", *box)
        for kind in ("mousePressed", "mouseReleased"):
            await self.mouse(kind, *box, button="left", clickCount=1)

    async def mouse(self, kind: str, x: float, y: float, **params: Any) -> None:
        await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **params)

    async def type(self, text: str, into: str | None = None) -> None:
        """Insert text where the focus is."""
        if into is not None:
            await self.evaluate(f"document.querySelector({json.dumps(into)}).focus()")
        await self.call("Input.insertText", text=text)

    async def press(self, key: str) -> None:
        params: Json = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        if key == "Enter":
            params["text"] = "\r"
        await self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    async def attach(self, selector: str, paths: Sequence[Path]) -> None:
        """Choose files in a file input."""
        document = await self.call("DOM.getDocument")
        found = await self.call(
            "DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector
        )
        await self.call(
            "DOM.setFileInputFiles", nodeId=found["nodeId"], files=[str(path) for path in paths]
        )

    async def screenshot(self) -> bytes:
        """What is seen now, as a PNG."""
        shot = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])


@asynccontextmanager
async def chromium(home: Path) -> AsyncGenerator[Browser]:
    """A Chromium of its own profile below `home`, ended on leaving."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={home / 'profile'}",
        "about:blank",
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            address = await _address(process)
        draining = asyncio.create_task(_drain(process))
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(address, max_msg_size=0) as socket,
        ):
            browser = Browser(socket)
            reading = asyncio.create_task(browser.read())
            yield browser
            await browser.call("Browser.close")
            await reading
        await asyncio.wait_for(process.wait(), START_SECONDS)
        await draining
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        if found := re.search(rb"DevTools listening on (ws://\S+)", line):
            return found[1].decode()
    raise BrowserError("the browser went before it listened")


async def _drain(process: asyncio.subprocess.Process) -> None:
    """A full pipe would stop the browser."""
    assert process.stderr is not None
    while await process.stderr.read(65536):
        pass
