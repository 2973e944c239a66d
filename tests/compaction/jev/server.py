"""A Jev on the loopback interface: it answers as scripted and keeps what it was sent."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class JevServer:
    """Answers every question with `score`, unless `handlers` holds what comes first."""

    url: str = ""
    score: float = 0.0
    handlers: list[Handler] = field(default_factory=list[Handler])
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def respond(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.bodies.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if self.handlers:
            return await self.handlers.pop(0)(request)
        answers = {key: {"type": "noul", "noul": self.score} for key in body["questions"]}
        usage = {"input_tokens": 100, "output_tokens": 1}
        return web.json_response({"model": "jev-1.13.0", "answers": answers, "usage": usage})


def refusal(status: int, text: str = "") -> Handler:
    """A handler that answers with a status and a text."""

    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text)

    return handle


def broken_body(status: int) -> Handler:
    """A handler whose connection breaks in the middle of the body."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"content-length": "1000"})
        await response.prepare(request)
        await response.write(b'{"answers"')
        assert request.transport is not None
        request.transport.close()
        return response

    return handle


@asynccontextmanager
async def running() -> AsyncGenerator[JevServer]:
    """A server on a free port, until the block is left."""
    jev = JevServer()
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/systemone", jev.respond)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        jev.url = f"http://{host}:{port}/v1/systemone"
        yield jev
    finally:
        await runner.cleanup()
