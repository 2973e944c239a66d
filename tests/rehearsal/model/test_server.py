"""The scripted model over HTTP, as any client of the Messages API sees it."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bridge.rehearsal.model import Error, Hang, ScriptedModel, Text, Thinking, Tool
from bridge.rehearsal.model.server import MAX_REQUEST_BYTES
from bridge.rehearsal.model.signing import is_signed

HEADERS = {"x-api-key": "sk-ant-x", "anthropic-version": "2023-06-01"}
Event = dict[str, Any]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    model = ScriptedModel()
    await model.start()
    yield model
    await model.stop()


@pytest.fixture
async def http(model: ScriptedModel) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(model.url, headers=HEADERS) as session:
        yield session


def body(*said: str, **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
    return {"model": "claude-x", "max_tokens": 1000, "messages": messages, **fields}


async def events(response: aiohttp.ClientResponse) -> list[Event]:
    raw = (await response.read()).decode()
    return [json.loads(part.partition("data: ")[2]) for part in raw.split("\n\n") if part]


async def test_a_streamed_message_has_the_events_of_the_api_in_their_order(
    http: aiohttp.ClientSession,
) -> None:
    async with http.post("/v1/messages", json=body("hello", stream=True)) as response:
        assert response.content_type == "text/event-stream"
        assert response.headers["request-id"]
        got = await events(response)
    assert [event["type"] for event in got] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert got[0]["message"]["usage"]["input_tokens"] > 0
    assert got[3]["delta"] == {"type": "text_delta", "text": "Echo #1: hello | saw: "}
    assert got[-2]["delta"]["stop_reason"] == "end_turn"


async def test_a_message_without_streaming_is_one_object(http: aiohttp.ClientSession) -> None:
    async with http.post("/v1/messages", json=body("RUN: ls")) as response:
        message = await response.json()
    assert message["stop_reason"] == "tool_use"
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
    assert message["content"][1]["input"]["command"] == "ls"


async def test_a_thought_is_signed_and_comes_only_where_it_was_asked_for(
    http: aiohttp.ClientSession,
) -> None:
    thinking = {"thinking": {"type": "adaptive"}}
    async with http.post("/v1/messages", json=body("THINK", stream=True, **thinking)) as response:
        deltas = [event["delta"] for event in await events(response) if "delta" in event]
    thought = "".join(delta.get("thinking", "") for delta in deltas)
    signature = next(delta["signature"] for delta in deltas if "signature" in delta)
    assert is_signed(thought, signature)
    async with http.post("/v1/messages", json=body("THINK")) as response:
        assert [block["type"] for block in (await response.json())["content"]] == ["text"]


async def test_a_broken_rule_is_refused_and_kept(
    model: ScriptedModel, http: aiohttp.ClientSession
) -> None:
    async with http.post("/v1/messages", json=body("hi", "ho")) as response:
        assert response.status == 400
        error = (await response.json())["error"]
    assert error["type"] == "invalid_request_error"
    assert model.violations == [error["message"]]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "valid dictionary"),
        (b'{"model": "m", "max_tokens": 1, "messages": [{"role": "x"}]}', "messages.0.role"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}', "max_tokens"),
    ],
)
async def test_a_malformed_body_is_refused(
    model: ScriptedModel, http: aiohttp.ClientSession, data: bytes, said: str
) -> None:
    async with http.post("/v1/messages", data=data) as response:
        assert response.status == 400
        assert said in (await response.json())["error"]["message"]
    assert said in model.violations[0]


async def test_a_request_without_a_key_is_not_authenticated(model: ScriptedModel) -> None:
    async with (
        aiohttp.ClientSession(model.url) as nobody,
        nobody.post("/v1/messages", json=body("hi")) as response,
    ):
        assert response.status == 401


async def test_a_request_over_32_mb_is_too_large(
    model: ScriptedModel, http: aiohttp.ClientSession
) -> None:
    async with http.post(
        "/v1/messages", data=io.BytesIO(b" " * (MAX_REQUEST_BYTES + 1))
    ) as response:
        assert response.status == 413
    assert len(model.violations) == 1


async def test_a_prompt_longer_than_the_window_is_refused() -> None:
    model = ScriptedModel(context_window=100)
    await model.start()
    async with (
        aiohttp.ClientSession(model.url, headers=HEADERS) as http,
        http.post("/v1/messages", json=body("x" * 1000)) as response,
    ):
        assert "prompt is too long" in (await response.json())["error"]["message"]
    await model.stop()


async def test_tokens_are_counted(http: aiohttp.ClientSession) -> None:
    async with http.post("/v1/messages/count_tokens", json=body("x" * 400)) as response:
        assert (await response.json())["input_tokens"] >= 100


async def test_everything_else_is_not_found(http: aiohttp.ClientSession) -> None:
    async with http.get("/v1/models") as response:
        assert response.status == 404
        assert (await response.json())["type"] == "error"


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("401", 401, "authentication_error"),
        ("429", 429, "rate_limit_error"),
        ("500", 500, "api_error"),
        ("529", 529, "overloaded_error"),
        ("prompt-too-long", 400, "invalid_request_error"),
        ("usage-limit", 429, "rate_limit_error"),
        ("overloaded-midstream", 529, "overloaded_error"),
    ],
)
async def test_a_scripted_error_has_the_shape_of_the_api(
    model: ScriptedModel, http: aiohttp.ClientSession, kind: str, status: int, error: str
) -> None:
    async with http.post("/v1/messages", json=body(f"ERROR {kind}")) as response:
        assert response.status == status
        assert (await response.json())["error"]["type"] == error
    assert model.violations == []


async def test_overloaded_in_midstream_ends_a_stream_that_has_begun(
    model: ScriptedModel, http: aiohttp.ClientSession
) -> None:
    model.script("go", Text("so far"), Error("overloaded-midstream"), Text("never"))
    async with http.post("/v1/messages", json=body("go", stream=True)) as response:
        assert response.status == 200
        got = await events(response)
    assert got[3]["delta"]["text"] == "so far"
    assert got[-1]["error"]["type"] == "overloaded_error"


async def test_an_error_with_a_count_ends_for_this_request_only(
    http: aiohttp.ClientSession,
) -> None:
    async def status(*said: str) -> int:
        async with http.post("/v1/messages", json=body(*said)) as response:
            return response.status

    prompt = "ERROR 529 times=2"
    assert [await status(prompt) for _ in range(3)] == [529, 529, 200]
    assert await status("hi", "ho", prompt) == 529


async def test_a_registered_script_wins_and_goes_on_after_its_tools(
    model: ScriptedModel, http: aiohttp.ClientSession
) -> None:
    model.script("build", Text("first"))
    model.script("build", Thinking("hm"), (Tool("A"), Tool("B")), Text("built"))
    async with http.post("/v1/messages", json=body("RUN: build")) as response:
        content = (await response.json())["content"]
    assert [block["name"] for block in content] == ["A", "B"]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"} for block in content
    ]
    asked = body("RUN: build")
    asked["messages"] += [
        {"role": "assistant", "content": content},
        {"role": "user", "content": results},
    ]
    async with http.post("/v1/messages", json=asked) as response:
        assert (await response.json())["content"] == [{"type": "text", "text": "built"}]
    assert [request.after_tool for request in model.requests] == [False, True]


async def test_a_hanging_request_is_kept_and_ends_with_its_client(
    model: ScriptedModel, http: aiohttp.ClientSession
) -> None:
    asked = asyncio.ensure_future(http.post("/v1/messages", json=body("HANG")))
    await model.until(lambda: model.requests and model.open == 1, what="the request hangs")
    asked.cancel()
    await model.until(lambda: model.open == 0, what="the request ends")


async def test_the_server_stops_while_a_request_hangs() -> None:
    model = ScriptedModel()
    model.script("go", Text("so far"), Hang())
    await model.start()
    async with aiohttp.ClientSession(model.url, headers=HEADERS) as http:
        response = await http.post("/v1/messages", json=body("go", stream=True))
        await model.stop()
        with pytest.raises(aiohttp.ClientError):
            await response.read()


async def test_waiting_in_vain_says_for_what(model: ScriptedModel) -> None:
    with pytest.raises(AssertionError, match="a request comes"):
        await model.until(lambda: model.requests, timeout=0.01, what="a request comes")
