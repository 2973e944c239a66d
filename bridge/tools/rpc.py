"""The Model Context Protocol, as far as a server that only has tools needs it. No I/O, no state.

A server that keeps nothing can be answered for by any bot: one that starts while a process runs
goes on where the last one was.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

Json = dict[str, Any]

_VERSION = "2025-06-18"
_NO_METHOD, _BAD_PARAMETERS = -32601, -32602


class ToolFault(Exception):
    """A tool cannot do what it was asked to; the message says why, for Claude."""


@dataclass(frozen=True)
class Call:
    """A tool call: in which thread, under which id (the same if it is repeated), with what.

    `begun` is when an earlier bot began the same call (seconds since the epoch), if one did.
    """

    thread: int
    id: str
    arguments: Json
    begun: float | None = None

    def text(self, name: str) -> str:
        """An argument that is a text and is not empty; raises `ToolFault`."""
        value = self.arguments.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ToolFault(f"`{name}` must be a text that is not empty.")
        return value.strip()

    def optional(self, name: str) -> str:
        """An argument that may be left out; "" then."""
        value = self.arguments.get(name)
        return value.strip() if isinstance(value, str) else ""


@dataclass(frozen=True)
class Tool:
    """What Claude is told of a tool, and what it does; `properties` are of a JSON schema."""

    name: str
    description: str
    properties: Mapping[str, Json]
    required: Sequence[str]
    run: Callable[[Call], Awaitable[str]]

    @property
    def shown(self) -> Json:
        """The tool as it stands in the list."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
            # There are few and they are short: no search has to come before their use.
            "_meta": {"anthropic/alwaysLoad": True},
        }


def at_once(message: Json, tools: Sequence[Tool]) -> Json | None:
    """The answer to all but a tool call; None for a call, which takes its time: see `called`."""
    method = message.get("method")
    if method == "tools/call":
        return None
    match method:
        case "initialize":
            wanted = _object(message.get("params")).get("protocolVersion")
            body: Json = {
                "protocolVersion": wanted if isinstance(wanted, str) else _VERSION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "discord", "version": "1"},
            }
        case "tools/list":
            body = {"tools": [tool.shown for tool in tools]}
        case "ping":
            body = {}
        case str() if method.startswith("notifications/"):
            body = {}
        case _:
            return _fault(message, _NO_METHOD, f"There is no method {method!r}.")
    return _result(message, body)


async def called(
    message: Json, tools: Sequence[Tool], thread: int, call_id: str, begun: float | None = None
) -> Json:
    """The answer to a tool call; for the other arguments see `Call`."""
    parameters = _object(message.get("params"))
    name = parameters.get("name")
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return _fault(message, _BAD_PARAMETERS, f"There is no tool {name!r}.")
    try:
        text = await tool.run(Call(thread, call_id, _object(parameters.get("arguments")), begun))
        return _result(message, _told(text))
    except ToolFault as fault:
        return _result(message, {**_told(str(fault)), "isError": True})


def failed(message: Json, words: str) -> Json:
    """The answer to a call in which something went wrong that no tool has foreseen."""
    return _result(message, {**_told(words), "isError": True})


def _told(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def _result(message: Json, body: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": body}


def _fault(message: Json, code: int, words: str) -> Json:
    fault = {"code": code, "message": words}
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "error": fault}


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}
