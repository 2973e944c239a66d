"""What a REST request goes through: faults, authorization, rate limits, handler, record."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import ApiError, not_found, refusal, unauthorized
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.faults import Delay, Drop, Failure, Faults
from bridge.rehearsal.discord.files import Upload
from bridge.rehearsal.discord.gateway.session import encode
from bridge.rehearsal.discord.ratelimits import RateLimits
from bridge.rehearsal.discord.rest.exchange import Exchange
from bridge.rehearsal.discord.rest.routing import Call, Route, Router

BASE = "/api/v10"
# discord.py takes a 429 without this header for a ban.
_VIA = "1.1 rehearsal"
# A rehearsal may run for days.
_KEPT = 50_000

_log = logging.getLogger(__name__)


class Rest:
    def __init__(
        self,
        router: Router,
        limits: RateLimits,
        faults: Faults,
        events: Events,
        token: str,
        audit: Callable[[Exchange], None] | None,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self._router = router
        self._limits = limits
        self._faults = faults
        self._events = events
        self._authorization = f"Bot {token}"
        self._audit = audit

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path.removeprefix(BASE)
        found = self._router.find(request.method, path)
        orders = {type(order): order for order in self._faults.take(request.method, path)}
        if isinstance(delay := orders.get(Delay), Delay):
            await asyncio.sleep(delay.seconds)
        exchange = Exchange(
            method=request.method,
            path=path,
            template=found[0].template if found else None,
            request=None,
            status=0,
            response=None,
            at=asyncio.get_running_loop().time(),
            query=dict(request.query),
        )
        drop = orders.get(Drop)
        if isinstance(drop, Drop) and drop.when == "before":
            self._record(replace(exchange, fault="drop before"))
            return _abort(request)
        if isinstance(failure := orders.get(Failure), Failure):
            await request.read()
            self._record(
                replace(exchange, status=failure.status, response=failure.body, fault="fail")
            )
            return _response(failure.status, failure.body, failure.headers)
        try:
            body, files = await _parsed(request)
        except ApiError as error:
            return self._finish(exchange, error.status, error.body, {})
        exchange = replace(
            exchange, request=body, files={key: upload.name for key, upload in files.items()}
        )
        status, answer, headers = self._answer(request, found, body, files)
        if isinstance(drop, Drop):
            self._record(replace(exchange, status=status, response=answer, fault="drop after"))
            return _abort(request)
        return self._finish(exchange, status, answer, headers)

    def _answer(
        self,
        request: web.Request,
        found: tuple[Route, dict[str, str]] | None,
        body: Any,
        files: Mapping[str, Upload],
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Status, body and headers; the world changes in here and nowhere else, in one step."""
        headers: Mapping[str, str] = {}
        try:
            if found is None:
                raise not_found()
            route, params = found
            if not route.public and request.headers.get("Authorization") != self._authorization:
                raise unauthorized()
            verdict = self._limits.check(route.name, params, counts_globally=not route.public)
            if verdict.refusal is None and _renames(route, body):
                verdict = self._limits.check_rename(params["channel_id"], verdict.headers)
            headers = verdict.headers
            if verdict.refusal is not None:
                return 429, verdict.refusal, headers
            reply = route.handler(Call(params, request.query, body, files))
        except ApiError as error:
            return error.status, error.body, headers
        except Exception:
            _log.exception("%s %s", request.method, request.path)
            return 500, {"message": "500: Internal Server Error", "code": 0}, headers
        return (204 if reply.body is None else reply.status), reply.body, headers

    def _finish(
        self, exchange: Exchange, status: int, body: Any, headers: Mapping[str, str]
    ) -> web.Response:
        self._record(replace(exchange, status=status, response=body))
        return _response(status, body, headers)

    def _record(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        if len(self.exchanges) > _KEPT:
            del self.exchanges[: _KEPT // 2]
        if self._audit is not None:
            self._audit(exchange)
        self._events.touch()


def _renames(route: Route, body: Any) -> bool:
    return route.name == "PATCH /channels/{channel_id}" and bool(
        {"name", "topic"} & set(body or ())
    )


def _abort(request: web.Request) -> web.Response:
    """End the TCP connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def _response(status: int, body: Any, headers: Mapping[str, str]) -> web.Response:
    sent = {"Via": _VIA, **headers}
    if status == 429 and "Retry-After" not in sent:
        sent["Retry-After"] = str(int(body["retry_after"]) + 1)
    if body is None:
        return web.Response(status=status, headers=sent)
    # Exactly this type: discord.py does not parse JSON whose type carries a charset.
    sent["Content-Type"] = "application/json"
    return web.Response(status=status, body=encode(body).encode(), headers=sent)


async def _parsed(request: web.Request) -> tuple[Any, dict[str, Upload]]:
    """The JSON body, or that of `payload_json` with the `files[n]` beside it."""
    try:
        if request.content_type == "multipart/form-data":
            return await _multipart(request)
        raw = await request.read()
        return (json.loads(raw) if raw else None), {}
    except web.HTTPRequestEntityTooLarge:
        raise refusal(40005) from None
    except ValueError:
        raise refusal(50109) from None


async def _multipart(request: web.Request) -> tuple[Json, dict[str, Upload]]:
    form = await request.post()
    body: Json = {}
    files: dict[str, Upload] = {}
    for name, value in form.items():
        if isinstance(value, web.FileField):
            key = name.removeprefix("files[").removesuffix("]")
            files[key] = Upload(value.filename, value.file.read())
            value.file.close()
        elif name == "payload_json":
            body = json.loads(str(value))
        else:
            body[name] = value
    return body, files
