"""The scripted model as a server: it checks each request, keeps it for tests, and answers it."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web
from pydantic import ValidationError

from bridge.rehearsal.model import rules, scripts, situation, stream
from bridge.rehearsal.model.blocks import Block, Error, Hang, Message, Thinking, Turn
from bridge.rehearsal.model.cache import PromptCache, Usage
from bridge.rehearsal.model.faults import FAULTS, Fault, fault, invalid
from bridge.rehearsal.model.situation import Situation
from bridge.rehearsal.model.wire import MessagesRequest, first_complaint

MAX_REQUEST_BYTES = 32 * 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """One request for a message, as it came."""

    at: float
    """Arrival, in seconds of `time.monotonic`."""
    prompts: list[str]
    """The person's own words, oldest first, without what the CLI adds around them."""
    after_tool: bool
    """Whether it brings tool results and no new prompt."""
    session: str | None
    """The CLI's session id."""
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]


class ScriptedModel:
    """A Messages API on 127.0.0.1; `scripts` has the language that its answers follow.

    `context_window` (tokens) makes it refuse longer prompts; by default it reads any length.
    """

    def __init__(self, *, context_window: int | None = None) -> None:
        self.requests: list[Request] = []
        self.violations: list[str] = []
        """What the real API would have refused; each such request was refused here, too."""
        self.open = 0
        """How many requests are being answered now."""
        self._context_window = context_window
        self._registered: list[tuple[re.Pattern[str], tuple[Turn, ...]]] = []
        self._failed: Counter[tuple[str | None, tuple[str, ...], int]] = Counter()
        self._cache = PromptCache()
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        app = web.Application(client_max_size=2 * MAX_REQUEST_BYTES)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count_tokens)
        app.router.add_route("*", "/{path:.*}", _not_found)
        # A hanging answer ends with its client or with the server, whichever goes first.
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        self._runner, self._port = runner, runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def script(self, match: str | re.Pattern[str], *turns: Turn) -> None:
        """Answer prompts that contain `match` with these turns; the last registered one wins."""
        pattern = re.compile(re.escape(match)) if isinstance(match, str) else match
        self._registered.insert(0, (pattern, turns))

    async def until(
        self,
        predicate: Callable[[], T],
        timeout: float = 10.0,  # noqa: ASYNC109 - the wait's own deadline, said in its message
        what: str = "the model",
    ) -> T:
        """Wait until `predicate` holds, asked at each change; an AssertionError after `timeout`."""
        try:
            async with asyncio.timeout(timeout):
                while not (value := predicate()):
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {timeout} s: {what}") from None
        return value

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        self.open += 1
        try:
            return await self._answer(request)
        finally:
            self.open -= 1
            self._note_change()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        checked = await self._admit(request)
        if isinstance(checked, Fault):
            return _refuse(checked)
        body, asked = checked
        found = self._situation(asked)
        usage = self._cache.use(body, time.monotonic())
        message = scripts.answer(self._turns(found), found)
        blocks = [b for b in message if asked.thinks or not isinstance(b, Thinking)]
        if failure := next((fault(b.kind) for b in message if isinstance(b, Error)), None):
            self._failed[_key(asked, found)] += 1
            if not failure.midstream:
                return _refuse(failure)
        if isinstance(next(iter(blocks), None), Hang):
            await asyncio.Event().wait()
        if not asked.stream:
            return _refuse(failure) if failure else _whole(asked, blocks, usage)
        return await _stream(request, asked, blocks, usage)

    async def _admit(self, request: web.Request) -> tuple[dict[str, Any], MessagesRequest] | Fault:
        """Take a request in, or say why the API would not."""
        if not (request.headers.get("x-api-key") or request.headers.get("authorization")):
            return FAULTS["401"]()
        raw = await request.read()
        if len(raw) > MAX_REQUEST_BYTES:
            self.violations.append("Request exceeds the maximum allowed number of bytes.")
            return FAULTS["413"]()
        try:
            body: dict[str, Any] = json.loads(raw)
            asked = MessagesRequest.model_validate(body)
        except ValidationError as error:
            return self._violation(first_complaint(error))
        except ValueError as error:
            return self._violation(f"The request body is not valid JSON: {error}")
        self._keep(body, asked)
        if broken := self._broken_rules(request.headers, body, asked):
            self.violations += broken
            return invalid(broken[0])
        return body, asked

    def _broken_rules(
        self, headers: Mapping[str, str], body: Mapping[str, Any], asked: MessagesRequest
    ) -> list[str]:
        broken = rules.violations(asked)
        if "anthropic-version" not in headers:
            broken.append("anthropic-version: header is required")
        if asked.max_tokens is None:
            broken.append("max_tokens: Field required")
        if self._context_window is not None:
            tokens = PromptCache().use(body, 0).total
            if tokens > self._context_window:
                broken.append(
                    f"prompt is too long: {tokens} tokens > {self._context_window} maximum"
                )
        return broken

    def _violation(self, sentence: str) -> Fault:
        self.violations.append(sentence)
        return invalid(sentence)

    def _keep(self, body: dict[str, Any], asked: MessagesRequest) -> None:
        found = situation.read(asked)
        kept = Request(time.monotonic(), list(found.prompts), found.after_tool, asked.session, body)
        self.requests.append(kept)
        self._note_change()

    def _situation(self, asked: MessagesRequest) -> Situation:
        return situation.read(asked, self._failed[_key(asked, situation.read(asked))])

    def _turns(self, found: Situation) -> Sequence[Turn]:
        for pattern, turns in self._registered:
            if pattern.search(found.prompt):
                return turns
        return scripts.turns_for(found)

    def _note_change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _count_tokens(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"input_tokens": PromptCache().use(await request.json(), 0).total})


def _key(asked: MessagesRequest, found: Situation) -> tuple[str | None, tuple[str, ...], int]:
    """What stays the same when a request is tried again."""
    return asked.session, found.prompts, found.step


async def _not_found(_: web.Request) -> web.StreamResponse:
    return _refuse(Fault(404, "not_found_error", "Not found"))


def _refuse(failure: Fault) -> web.Response:
    request_id = stream.fresh_id("req")
    return web.json_response(
        failure.body(request_id),
        status=failure.status,
        headers={**failure.headers, "request-id": request_id},
    )


def _whole(asked: MessagesRequest, blocks: Message | list[Block], usage: Usage) -> web.Response:
    answer = stream.whole(asked.model, blocks, usage)
    return web.json_response(answer, headers={"request-id": stream.fresh_id("req")})


async def _stream(
    request: web.Request, asked: MessagesRequest, blocks: Sequence[Block], usage: Usage
) -> web.StreamResponse:
    headers = {"content-type": "text/event-stream", "request-id": stream.fresh_id("req")}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    # A client that went away is no fault of the model's.
    with suppress(ConnectionError):
        await response.write(stream.begin(asked.model, usage).data)
        for index, block in enumerate(blocks):
            if isinstance(block, Hang):
                await asyncio.Event().wait()
            if isinstance(block, Error):
                error = fault(block.kind).body(stream.fresh_id("req"))
                await response.write(stream.event("error", error=error["error"]))
                return response
            await _write(response, stream.block_events(index, block))
        await response.write(stream.end(blocks).data)
        await response.write_eof()
    return response


async def _write(response: web.StreamResponse, chunks: Iterable[stream.Chunk]) -> None:
    """Send chunks, those without a pause between them in one piece."""
    ready = b""
    for chunk in chunks:
        if chunk.pause:
            if ready:
                await response.write(ready)
            await asyncio.sleep(chunk.pause)
            ready = b""
        ready += chunk.data
    if ready:
        await response.write(ready)
