"""The MCP server `discord` of all threads: takes the CLI's requests, and answers each.

A tool call is kept in the process's run folder until it is answered. A bot that goes away in the
middle of one leaves it to the next, which does it again: each tool sees to it that this is no harm.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from bridge.process import LiveProcess, ProcessGone
from bridge.protocol import ControlRequest, reply_line, unsupported_line
from bridge.tools import rpc
from bridge.tools.rpc import Json, Tool

log = logging.getLogger(__name__)

NAME = "discord"
SUBTYPE = "mcp_message"

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
Spawn = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]


class ToolServer:
    """Answers for the tools of every thread."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """The tools that it offers."""
        self._tools = tools

    def take(
        self, process: LiveProcess, request: ControlRequest, thread: int, spawn: Spawn
    ) -> None:
        """Answer a request of a process: at once, or by and by in a task of `spawn`."""
        message = request.request.get("message")
        if request.request.get("server_name") != NAME or not isinstance(message, dict):
            process.send(unsupported_line(request.request_id, request.subtype))
            return
        message = cast("Json", message)
        answer = rpc.at_once(message, self._tools)
        if answer is not None:
            _reply(process, request.request_id, answer)
        elif not _SAFE_ID.fullmatch(request.request_id):
            _reply(process, request.request_id, rpc.failed(message, "The request has no id."))
        else:
            _keep(process, request.request_id, message)
            spawn(self._call(process, request.request_id, message, thread))

    def resume(self, process: LiveProcess, thread: int, spawn: Spawn) -> None:
        """After a restart of the bot: answer the calls for which the process still waits."""
        for request_id, message, begun in _kept(process):
            spawn(self._call(process, request_id, message, thread, begun))

    async def _call(
        self,
        process: LiveProcess,
        request_id: str,
        message: Json,
        thread: int,
        begun: float | None = None,
    ) -> None:
        try:
            answer = await rpc.called(message, self._tools, thread, request_id, begun)
        except Exception as fault:
            log.exception("thread %d: a tool failed", thread)
            answer = rpc.failed(message, f"The bot itself failed: {type(fault).__name__}: {fault}")
        _reply(process, request_id, answer)
        _path(process, request_id).unlink(missing_ok=True)


def _reply(process: LiveProcess, request_id: str, answer: Json) -> None:
    try:
        process.send(reply_line(request_id, {"mcp_response": answer}))
    except ProcessGone:
        log.info("process %d was gone before its tool had an answer", process.info.pid)


def _path(process: LiveProcess, request_id: str) -> Path:
    return Path(process.info.run_dir) / f"tool-{request_id}.json"


def _keep(process: LiveProcess, request_id: str, message: Json) -> None:
    with suppress(OSError):  # a process that has ended has no folder any more
        path = _path(process, request_id)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(message))
        fresh.replace(path)


def _kept(process: LiveProcess) -> Iterator[tuple[str, Json, float]]:
    """The calls without an answer: id, message, when they were taken."""
    for path in sorted(Path(process.info.run_dir).glob("tool-*.json")):
        with suppress(OSError, ValueError):
            begun = path.stat().st_mtime
            yield path.stem.removeprefix("tool-"), json.loads(path.read_bytes()), begun
