"""The page's addresses, without a browser."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bridge.rehearsal.discord import LoopbackDiscord
from bridge.rehearsal.page import mount
from bridge.rehearsal.page.snapshot import PAGE_OF_MESSAGES


@pytest.fixture
async def loopback() -> AsyncIterator[LoopbackDiscord]:
    loopback = LoopbackDiscord()
    mount(loopback)
    await loopback.start()
    yield loopback
    await loopback.stop()


@pytest.fixture
async def http(loopback: LoopbackDiscord) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(loopback.url) as session:
        yield session


async def post(http: aiohttp.ClientSession, deed: str, **body: Any) -> tuple[int, dict[str, Any]]:
    async with http.post(f"/visitor/{deed}", json=body) as response:
        return response.status, await response.json()


async def test_the_page_and_its_files_come_with_a_strict_policy(
    http: aiohttp.ClientSession,
) -> None:
    for path, kind in [
        ("/", "text/html"),
        ("/visitor/app.js", "text/javascript"),
        ("/visitor/style.css", "text/css"),
    ]:
        async with http.get(path) as response:
            assert (response.status, response.content_type) == (200, kind)
            policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "path", ["/visitor/", "/visitor/none.js", "/visitor/../routes.py", "/visitor/%2e%2e/routes.py"]
)
async def test_nothing_but_the_pages_own_files_is_served(
    http: aiohttp.ClientSession, path: str
) -> None:
    async with http.get(path) as response:
        assert response.status == 404


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "rebound.example"}],
)
async def test_a_foreign_page_can_neither_look_nor_act(
    loopback: LoopbackDiscord, http: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    form = aiohttp.FormData({"channel": loopback.general, "content": "RUN: rm"})
    async with http.post("/visitor/say", data=form, headers=headers) as response:
        assert response.status == 403
    async with http.get("/visitor/events", headers=headers) as response:
        assert response.status == 403
    assert loopback.messages(loopback.general) == []


async def test_events_begin_with_the_whole_guild_and_go_on_with_what_happens(
    loopback: LoopbackDiscord, http: aiohttp.ClientSession
) -> None:
    said = await loopback.say(loopback.general, "before")
    await loopback.react(loopback.general, said["id"], "👍")
    origin = {"Origin": loopback.url}
    async with http.ws_connect("/visitor/events", headers=origin) as socket:
        first = await socket.receive_json()
        assert first["t"] == "SNAPSHOT"
        (message,) = first["d"]["messages"][loopback.general]
        assert message["content"] == "before"
        assert message["reactions"] == {"👍": [loopback.owner["id"]]}
        assert first["d"]["online"] is False
        await loopback.say(loopback.general, "after")
        event = await socket.receive_json()
        assert (event["t"], event["d"]["content"]) == ("MESSAGE_CREATE", "after")


async def test_earlier_messages_come_by_the_page(
    loopback: LoopbackDiscord, http: aiohttp.ClientSession
) -> None:
    ids = [
        (await loopback.say(loopback.general, str(number)))["id"]
        for number in range(PAGE_OF_MESSAGES + 5)
    ]
    query = {"channel": loopback.general, "before": ids[5]}
    async with http.get("/visitor/history", params=query) as response:
        found = (await response.json())["messages"]
    assert [message["id"] for message in found] == ids[:5]


async def test_a_message_is_said_with_its_files_and_what_it_answers(
    loopback: LoopbackDiscord, http: aiohttp.ClientSession
) -> None:
    first = await loopback.say(loopback.general, "first")
    form = aiohttp.FormData({"channel": loopback.general, "content": "hi", "reply_to": first["id"]})
    form.add_field("file0", b"data", filename="a.txt", content_type="text/plain")
    async with http.post("/visitor/say", data=form) as response:
        assert response.status == 200
    _, said = loopback.messages(loopback.general)
    assert said["author"] == loopback.owner
    assert said["attachments"][0]["filename"] == "a.txt"
    assert said["referenced_message"]["id"] == first["id"]


async def test_a_visitor_edits_and_deletes_and_reacts_as_the_owner(
    loopback: LoopbackDiscord, http: aiohttp.ClientSession
) -> None:
    channel = loopback.general
    message = (await loopback.say(channel, "one"))["id"]
    on = {"channel": channel, "message": message}
    assert (await post(http, "edit", **on, content="two"))[0] == 200
    assert (await post(http, "react", **on, emoji="👍"))[0] == 200
    (shown,) = loopback.messages(channel)
    assert (shown["content"], shown["reactions"][0]["count"]) == ("two", 1)
    assert (await post(http, "react", **on, emoji="👍", add=False))[0] == 200
    assert "reactions" not in loopback.messages(channel)[0]
    assert (await post(http, "delete", **on))[0] == 200
    assert loopback.messages(channel) == []


async def test_refusals_carry_words_for_the_visitor(
    loopback: LoopbackDiscord, http: aiohttp.ClientSession
) -> None:
    channel = loopback.general
    other = await loopback.say(channel, "mine", author=loopback.add_user("bob"))
    foreign = await post(http, "edit", channel=channel, message=other["id"], content="x")
    assert foreign == (400, {"message": "Only your own messages can be edited."})
    gone = await post(http, "delete", channel=channel, message="1")
    assert gone == (404, {"message": "Unknown Message"})
    status, body = await post(http, "slash", channel=channel, command="nope")
    assert status == 400
    assert "no command" in body["message"]
    assert (await post(http, "submit", interaction="1", values={}))[0] == 400
    assert (await post(http, "edit", channel=channel))[0] == 400
    assert (await post(http, "slash", channel=channel, command="x", options={"a": {}}))[0] == 400
    async with http.post("/visitor/say", data=aiohttp.FormData({"channel": channel})) as response:
        assert response.status == 400
        assert (await response.json())["message"] == "Cannot send an empty message"
