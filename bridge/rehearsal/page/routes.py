"""The page's addresses on the loopback Discord's port: its files, its events, a visitor's deeds."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web
from pydantic import ValidationError

from bridge.rehearsal.discord import ApiError, LoopbackDiscord
from bridge.rehearsal.page.snapshot import commands, history, snapshot
from bridge.rehearsal.page.visitor import DEEDS, Visitor

PREFIX = "/visitor/"
STATIC = Path(__file__).parent / "static"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_OWN_NAMES = ("127.0.0.1", "localhost")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def mount(discord: LoopbackDiscord) -> None:
    """Put the page on a loopback Discord; to be called before its `start`."""
    page = Page(discord)
    discord.mount("/", page.handle)
    discord.mount(PREFIX, page.handle)


class Page:
    """Serves one loopback Discord to all browsers that are open."""

    def __init__(self, discord: LoopbackDiscord) -> None:
        self._discord = discord
        self._visitor = Visitor(discord)
        self._routes: Mapping[tuple[str, str], Handler] = {
            ("GET", "events"): self._events,
            ("GET", "history"): self._history,
            ("GET", "commands"): self._commands,
            ("POST", "say"): self._say,
        } | {("POST", name): self._deed for name in DEEDS}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if not _is_own_page(request):
            # A foreign web page in the same browser must not steer a CLI on this machine.
            return web.json_response({"message": "Only the rehearsal's own page."}, status=403)
        name = request.path.removeprefix(PREFIX)
        handler = self._routes.get((request.method, name))
        if handler is None:
            return _file("index.html" if request.path == "/" else name)
        try:
            return await handler(request)
        except ApiError as error:
            return web.json_response({"message": error.message}, status=error.status)
        except ValidationError as error:
            return web.json_response({"message": str(error)}, status=400)
        except (ValueError, LookupError) as error:
            return web.json_response({"message": str(error.args[0])}, status=400)

    async def _deed(self, request: web.Request) -> web.StreamResponse:
        deed = DEEDS[request.path.removeprefix(PREFIX)].model_validate_json(await request.read())
        return web.json_response(await deed.do(self._visitor))

    async def _say(self, request: web.Request) -> web.StreamResponse:
        """A message, as a form: channel, content, reply_to and any number of files."""
        form = await request.post()
        files = {
            field.filename: field.file.read()
            for field in form.values()
            if isinstance(field, web.FileField)
        }
        message = await self._discord.say(
            str(form["channel"]),
            str(form.get("content", "")),
            files=files,
            reply_to=str(form["reply_to"]) if form.get("reply_to") else None,
        )
        return web.json_response({"message": message["id"]})

    async def _history(self, request: web.Request) -> web.StreamResponse:
        channel, before = request.query["channel"], request.query.get("before")
        return web.json_response({"messages": history(self._discord, channel, before)})

    async def _commands(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"commands": commands(self._discord)})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """The snapshot, then everything that happens, as `{"t": name, "d": payload}`."""
        socket = web.WebSocketResponse(heartbeat=20)
        await socket.prepare(request)
        queue = self._discord.subscribe()
        tasks = [
            asyncio.create_task(work)
            for work in (_until_closed(socket), self._send(socket, queue), self._watch(queue))
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._discord.unsubscribe(queue)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return socket

    async def _send(
        self, socket: web.WebSocketResponse, queue: asyncio.Queue[tuple[str, dict[str, Any]]]
    ) -> None:
        with suppress(ConnectionError):
            await socket.send_json({"t": "SNAPSHOT", "d": snapshot(self._discord)})
            while True:
                name, payload = await queue.get()
                await socket.send_json({"t": name, "d": payload})

    async def _watch(self, queue: asyncio.Queue[tuple[str, dict[str, Any]]]) -> None:
        """Whether the bot is online is a state of the gateway and no event of it."""
        seen = self._discord.connected
        while True:
            before = seen
            await self._discord.until(
                lambda before=before: self._discord.connected != before, timeout=inf
            )
            seen = self._discord.connected
            queue.put_nowait(("VISITOR_PRESENCE", {"online": seen}))


async def _until_closed(socket: web.WebSocketResponse) -> None:
    async for message in socket:
        if message.type == WSMsgType.ERROR:
            return


def _is_own_page(request: web.Request) -> bool:
    """Whether a request comes from this page, not from another site or through another name."""
    origin = request.headers.get("Origin")
    own_name = request.url.host in _OWN_NAMES
    return own_name and origin in (None, f"http://{request.host}")


def _file(name: str) -> web.StreamResponse:
    path = STATIC / name
    kind = _TYPES.get(path.suffix)
    # A flat folder: a name with a slash in it is none of ours.
    if kind is None or path.parent != STATIC or not path.is_file():
        return web.Response(status=404, text="not found", headers=_HEADERS)
    return web.Response(
        body=path.read_bytes(), content_type=kind, charset="utf-8", headers=_HEADERS
    )
