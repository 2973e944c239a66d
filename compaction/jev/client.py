"""Jev over HTTP; the only module of this package that speaks to the network."""

import asyncio
import logging
import os
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from compaction.jev.errors import SetupError, StatusError, TransportError
from compaction.jev.options import LONGEST_TIMEOUT_MS
from compaction.jev.wire import (
    BASE_URL,
    KEY_VARIABLE,
    MODEL,
    Answers,
    JevRequest,
    Questions,
    State,
    build_jev_request,
    parse_jev_response,
)

logger = logging.getLogger(__name__)

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class JevClient:
    """An asker that posts to Jev's System One interface, one request for each `ask`.

    The key comes from the argument or the environment and appears in no message, log or
    representation. `timeout_ms` covers a request from its start to the last byte of its answer.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        model: str = MODEL,
        base_url: str = BASE_URL,
        timeout_ms: int = 15_000,
        key_variable: str = KEY_VARIABLE,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """Opens nothing; raises `ValueError` for a deadline that cannot be kept."""
        if not 1 <= timeout_ms <= LONGEST_TIMEOUT_MS:
            raise ValueError(f"timeout_ms must be within 1..{LONGEST_TIMEOUT_MS}")
        self._key = (os.environ.get(key_variable, "") if api_key is None else api_key).strip()
        self._key_variable = key_variable
        self._model = model
        self._base_url = base_url
        self._timeout = timeout_ms / 1000
        self._http = http
        self._owned: httpx.AsyncClient | None = None
        if _is_open(base_url):
            logger.warning("Jev will be asked over plain http: others can read what is sent")

    def __repr__(self) -> str:
        return f"JevClient(model={self._model!r}, key={'set' if self._key else 'missing'})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, unless they are those of a client that was handed in."""
        owned, self._owned = self._owned, None
        if owned is not None:
            await owned.aclose()

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        """The answers; raises `SetupError`, `StatusError`, `TransportError` or `AnswerError`."""
        request = build_jev_request(
            state,
            questions,
            api_key=self._key,
            model=self._model,
            base_url=self._base_url,
            key_variable=self._key_variable,
        )
        try:
            async with asyncio.timeout(self._timeout):
                status, body = await self._post(request)
        except TimeoutError as error:
            raise TransportError(f"no answer within {self._timeout:g} s") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise SetupError("the base URL is no http(s) address") from error
        except httpx.RequestError as error:
            raise TransportError(f"no answer: {type(error).__name__}") from error
        # Services quote the credentials that they refuse.
        return parse_jev_response(status, body.replace(self._key, "[key]"))

    async def _post(self, request: JevRequest) -> tuple[int, str]:
        """Status and body; a refusal whose body is lost is still that refusal."""
        async with self._connections().stream(
            "POST", request.url, headers=dict(request.headers), content=request.body
        ) as response:
            try:
                await response.aread()
            except httpx.RequestError:
                if response.is_success:
                    raise
                raise StatusError(response.status_code) from None
            return response.status_code, response.text

    def _connections(self) -> httpx.AsyncClient:
        if self._http is not None:
            return self._http
        if self._owned is None:
            # The deadline of a whole request is ours; a second one inside it would only confuse.
            self._owned = httpx.AsyncClient(timeout=None)
        return self._owned


def _is_open(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname not in _LOOPBACK
