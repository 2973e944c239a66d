"""The client against a Jev on the loopback interface: requests, refusals, deadlines, the key."""

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator

import httpx
import pytest
from aiohttp import web

from compaction.jev import (
    AnswerError,
    JevClient,
    JevError,
    SetupError,
    StatusError,
    TransportError,
    build_jev_request,
    compact_messages,
    parse_jev_response,
)
from tests.compaction.jev.conftest import KEY
from tests.compaction.jev.conversations import call, result, user, work
from tests.compaction.jev.server import JevServer, broken_body, refusal

QUESTIONS = {"call_t1": {"type": "noul", "instructions": "?"}}


def test_a_request_has_exactly_model_state_and_questions() -> None:
    request = build_jev_request({"goal": "é\ud800"}, QUESTIONS, api_key=f" {KEY}\n")
    assert request.url == "https://api.typesafe.ai/v1/systemone"
    assert request.headers == {
        "authorization": f"Bearer {KEY}",
        "content-type": "application/json",
    }
    assert json.loads(request.body) == {
        "model": "jev-latest",
        "state": {"goal": "é\ud800"},
        "questions": QUESTIONS,
    }
    assert KEY not in repr(request)
    other = build_jev_request({}, {}, api_key="k", model="jev-2", base_url="http://localhost:1/x")
    assert (other.url, json.loads(other.body)["model"]) == ("http://localhost:1/x", "jev-2")


@pytest.mark.parametrize("key", ["", "  ", "two words", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(SetupError, match="TYPESAFE_API_KEY") as caught:
        build_jev_request({}, {}, api_key=key)
    assert not key.strip() or key not in str(caught.value)


@pytest.mark.parametrize("url", ["", "x", "ftp://a/b", "https://", "http://a:port/", "http://[/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SetupError):
        build_jev_request({}, {}, api_key="k", base_url=url)


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"answers": []}', '"x"', "null"])
def test_a_body_without_answers_is_malformed(body: str) -> None:
    with pytest.raises(AnswerError, match="malformed"):
        parse_jev_response(200, body)


def test_an_answer_without_questions_is_one() -> None:
    assert parse_jev_response(200, '{"answers":{}}') == {}


def test_a_refusal_is_told_with_its_status_and_the_start_of_its_body() -> None:
    with pytest.raises(StatusError, match=r"500: y{200}$"):
        parse_jev_response(500, "y" * 300)
    with pytest.raises(StatusError, match=r"status 401$"):
        parse_jev_response(401, "")


async def test_a_conversation_is_compacted_over_http(jev: JevServer, client: JevClient) -> None:
    done = await compact_messages(work(20), client=client, keep_threshold=0.2)
    assert done.stats.calls_dropped == 17
    (body,) = jev.bodies
    assert list(body) == ["model", "state", "questions"]
    assert body["model"] == "jev-latest"
    assert len(body["questions"]) == 34
    assert jev.headers[0]["authorization"] == f"Bearer {KEY}"
    assert jev.headers[0]["content-type"] == "application/json"


async def test_the_key_comes_from_the_environment(
    jev: JevServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", "from-env")
    monkeypatch.setenv("OTHER_KEY", "other-env")
    async with JevClient(base_url=jev.url) as client:
        await client.ask({}, {})
    async with JevClient(base_url=jev.url, key_variable="OTHER_KEY") as client:
        await client.ask({}, {})
    assert [h["authorization"] for h in jev.headers] == ["Bearer from-env", "Bearer other-env"]


async def test_without_a_key_nothing_is_sent_and_its_variable_is_named(jev: JevServer) -> None:
    async with JevClient(base_url=jev.url) as client:
        with pytest.raises(SetupError, match="TYPESAFE_API_KEY"):
            await compact_messages(work(8), client=client)
    async with JevClient(base_url=jev.url, key_variable="OTHER_KEY") as client:
        with pytest.raises(SetupError, match="OTHER_KEY"):
            await client.ask({}, {})
    assert jev.bodies == []


async def test_without_a_candidate_no_key_is_needed() -> None:
    assert (await compact_messages(work(2))).stats.requests == 0


async def test_a_passing_refusal_is_tried_again(jev: JevServer, client: JevClient) -> None:
    jev.handlers += [refusal(503, "busy"), refusal(429)]
    done = await compact_messages(work(8), client=client, retry_delay_ms=1)
    assert (done.stats.retries, len(jev.bodies)) == (2, 3)
    assert jev.bodies[0] == jev.bodies[2]


async def test_a_refusal_whose_body_is_lost_is_still_that_refusal(
    jev: JevServer, client: JevClient
) -> None:
    jev.handlers.append(broken_body(401))
    with pytest.raises(StatusError, match="status 401") as caught:
        await client.ask({}, QUESTIONS)
    assert caught.value.transient is False


async def test_an_answer_that_is_lost_on_the_way_is_a_passing_failure(
    jev: JevServer, client: JevClient
) -> None:
    jev.handlers.append(broken_body(200))
    with pytest.raises(TransportError) as caught:
        await client.ask({}, QUESTIONS)
    assert caught.value.transient is True


async def test_nobody_at_the_address_is_a_passing_failure(jev: JevServer) -> None:
    gone = web.AppRunner(web.Application())
    await gone.setup()
    site = web.TCPSite(gone, "127.0.0.1", 0)
    await site.start()
    port = gone.addresses[0][1]
    await gone.cleanup()
    async with JevClient(api_key=KEY, base_url=f"http://127.0.0.1:{port}/") as client:
        with pytest.raises(TransportError):
            await client.ask({}, QUESTIONS)


@pytest.mark.parametrize("begin", [False, True], ids=["before the head", "within the body"])
async def test_the_deadline_covers_the_head_and_the_body(jev: JevServer, begin: bool) -> None:
    released = asyncio.Event()

    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if begin:
            await response.prepare(request)
            await response.write(b'{"ans')
        await released.wait()
        return response

    jev.handlers.append(stall)
    async with JevClient(api_key=KEY, base_url=jev.url, timeout_ms=100) as client:
        with pytest.raises(TransportError, match=r"no answer within 0\.1 s"):
            await client.ask({}, QUESTIONS)
    released.set()


@pytest.mark.parametrize("ms", [0, -1, 2**31])
def test_a_deadline_that_cannot_be_kept_is_refused(ms: int) -> None:
    with pytest.raises(ValueError, match="timeout_ms"):
        JevClient(timeout_ms=ms)


async def test_a_client_handed_in_is_used_and_stays_open(jev: JevServer) -> None:
    async with httpx.AsyncClient(headers={"x-own": "1"}) as http:
        async with JevClient(api_key=KEY, base_url=jev.url, http=http) as client:
            await client.ask({}, {})
        assert not http.is_closed
    assert jev.headers[0]["x-own"] == "1"


def chain(error: BaseException | None) -> Iterator[str]:
    """All that a log would show of an error and of what led to it."""
    while error is not None:
        yield str(error)
        yield repr(error)
        yield "".join(traceback.format_exception(error))
        error = error.__cause__ or error.__context__


async def test_the_key_is_in_no_representation_error_or_log(
    jev: JevServer, client: JevClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = [repr(client), str(client)]
    jev.handlers += [refusal(401, f"bad key {KEY}"), broken_body(200), refusal(200, KEY)]
    for _ in range(3):
        with pytest.raises(JevError) as caught:
            await client.ask({}, QUESTIONS)
        shown += chain(caught.value)
    await client.ask({}, QUESTIONS)
    assert len(jev.bodies) == 4
    assert not [text for text in [*shown, caplog.text] if KEY in text]


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://jev.example/v1", True),
        ("https://jev.example/v1", False),
        ("http://127.0.0.1:9/v1", False),
        ("http://[", False),
    ],
)
def test_plain_http_is_warned_of_unless_it_stays_on_the_machine(
    url: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    JevClient(api_key=KEY, base_url=url)
    assert ("plain http" in caplog.text) is warned


async def test_what_is_sent_holds_no_credentials_of_inputs(
    jev: JevServer, client: JevClient
) -> None:
    messages = [
        user("Deploy it with ghp_abcdefghijklmnopqrstuvwx0123456789."),
        call("a", "Bash", command="curl -H 'Authorization: Bearer abcdef0123456789'", timeout=5),
        result("a", "RESULT BODY " * 50),
        call("b", "Login", user="me", password="hunter2", api_key="k-123", max_tokens=7),
        result("b", "ok"),
        *work(8)[1:],
    ]
    done = await compact_messages(messages, client=client)
    sent = json.dumps(jev.bodies)
    for secret in ("ghp_abc", "abcdef0123456789", "hunter2", "k-123", "RESULT BODY"):
        assert secret not in sent
    assert "max_tokens" in sent
    assert "curl -H" in sent
    assert done.messages[0] is messages[0]
