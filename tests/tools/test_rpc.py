"""The protocol of the tools, as the CLI speaks it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.tools import rpc
from bridge.tools.rpc import Call, Tool, ToolFault


async def double(call: Call) -> str:
    if call.text("word") == "no":
        raise ToolFault("Not that one.")
    return f"{call.thread} {call.id} {call.text('word') * 2}{call.optional('end')}"


TOOLS = [Tool("double", "Says it twice.", {"word": {"type": "string"}}, ("word",), double)]


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


async def call(name: str, **arguments: Any) -> dict[str, Any]:
    message = request("tools/call", name=name, arguments=arguments)
    assert rpc.at_once(message, TOOLS) is None
    return await rpc.called(message, TOOLS, 5, "id")


def test_the_server_speaks_the_version_that_it_is_asked_for() -> None:
    answer = rpc.at_once(request("initialize", protocolVersion="2030-01-01"), TOOLS)
    assert answer is not None
    assert (answer["id"], answer["result"]["protocolVersion"]) == (7, "2030-01-01")
    assert answer["result"]["capabilities"] == {"tools": {}}


def test_the_tools_are_listed_with_what_they_take() -> None:
    answer = rpc.at_once(request("tools/list"), TOOLS)
    assert answer is not None
    (tool,) = answer["result"]["tools"]
    assert tool["name"] == "double"
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
        "additionalProperties": False,
    }


async def test_a_call_is_answered_with_what_the_tool_says() -> None:
    answer = await call("double", word=" hey ", end="!")
    assert answer["result"] == {"content": [{"type": "text", "text": "5 id heyhey!"}]}


@pytest.mark.parametrize("word", [None, "", "  ", 3, ["x"]])
async def test_a_call_without_what_it_needs_is_told_so(word: Any) -> None:
    result = (await call("double", word=word))["result"]
    assert result["isError"] is True
    assert "`word`" in result["content"][0]["text"]


async def test_a_tool_that_cannot_says_why() -> None:
    result = (await call("double", word="no"))["result"]
    assert result == {"content": [{"type": "text", "text": "Not that one."}], "isError": True}


async def test_what_is_not_there_is_a_fault_of_the_protocol() -> None:
    assert (await call("triple"))["error"]["code"] == -32602
    answer = rpc.at_once(request("resources/list"), TOOLS)
    assert answer is not None
    assert answer["error"]["code"] == -32601


objects = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.sampled_from(["initialize", "ping", "tools/list", "notifications/initialized", "x", 3]),
    objects,
    objects,
)
def test_whatever_is_asked_has_an_answer(method: Any, params: Any, number: Any) -> None:
    answer = rpc.at_once({"method": method, "params": params, "id": number}, TOOLS)
    assert answer is not None
    assert ("result" in answer) != ("error" in answer)
    assert answer["id"] == number


@given(objects, objects)
async def test_whatever_is_called_has_an_answer(params: Any, arguments: Any) -> None:
    for asked in (params, {"name": "double", "arguments": arguments}):
        answer = await rpc.called({"params": asked}, TOOLS, 1, "id")
        assert ("result" in answer) != ("error" in answer)
