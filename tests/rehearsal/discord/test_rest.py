"""The REST pipeline, by plain HTTP."""

import aiohttp
import pytest
from aiohttp import web

from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Ask, Bot
from tests.support.conform import Conformity


async def test_json_is_typed_exactly_as_discord_types_it(ask: Ask) -> None:
    answer, me = await ask("GET", "/users/@me")
    assert answer.headers["Content-Type"] == "application/json"
    assert me["username"] == "bridge"
    assert answer.headers["Via"]


async def test_requests_without_the_token_are_unauthorized(ask: Ask) -> None:
    answer, body = await ask("GET", "/users/@me", headers={"Authorization": "Bot wrong"})
    assert (answer.status, body["code"]) == (401, 0)


async def test_interaction_answers_need_no_token_but_a_known_one(ask: Ask) -> None:
    none = {"Authorization": ""}
    answer, body = await ask(
        "POST", "/interactions/1/unknown/callback", json={"type": 5}, headers=none
    )
    assert (answer.status, body["code"]) == (404, 10062)


async def test_unknown_routes_are_not_found(ask: Ask, audit: Conformity) -> None:
    answer, body = await ask("GET", "/nowhere")
    assert (answer.status, body) == (404, {"message": "404: Not Found", "code": 0})
    audit.violations.clear()


async def test_broken_json_is_named(loopback: LoopbackDiscord, ask: Ask) -> None:
    path = f"/channels/{loopback.general}/messages"
    answer, body = await ask("POST", path, data=b"{")
    assert (answer.status, body["code"]) == (400, 50109)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/channels/1", 10003),
        ("/channels/{general}/messages/1", 10008),
        ("/channels/{general}/messages?limit=101", 50035),
        ("/channels/{general}/messages?limit=x", 50035),
        ("/channels/{general}/messages?before=1&after=2", 50035),
        ("/channels/{general}/messages?after=x", 50035),
        ("/guilds/1", 10004),
        ("/users/1", 10013),
        ("/guilds/{guild}/members/1", 10007),
        ("/guilds/{guild}/members", 50001),
        ("/applications/1/commands", 10002),
    ],
)
async def test_what_does_not_exist_has_discords_code(
    loopback: LoopbackDiscord, ask: Ask, path: str, code: int
) -> None:
    filled = path.format(general=loopback.general, guild=loopback.guild_id)
    _, body = await ask("GET", filled)
    assert body["code"] == code


@pytest.mark.parametrize(
    "path",
    [
        "/users/@me",
        "/users/@me/guilds",
        "/users/{bot}",
        "/gateway",
        "/gateway/bot",
        "/applications/@me",
        "/oauth2/applications/@me",
        "/guilds/{guild}",
        "/guilds/{guild}?with_counts=true",
        "/guilds/{guild}/channels",
        "/guilds/{guild}/roles",
        "/guilds/{guild}/threads/active",
        "/guilds/{guild}/members/{bot}",
        "/guilds/{guild}/members/search?query=al",
        "/channels/{general}",
        "/channels/{general}/messages",
        "/channels/{general}/pins",
        "/channels/{general}/messages/pins",
        "/channels/{general}/threads/archived/public",
        "/channels/{general}/threads/archived/private",
        "/applications/{bot}/commands",
        "/applications/{bot}/guilds/{guild}/commands",
    ],
)
async def test_every_read_answers_as_described(
    loopback: LoopbackDiscord, ask: Ask, path: str
) -> None:
    """The description itself is checked by the fixture's audit."""
    loopback.add_channel("ideas", kind=15)
    await loopback.create_thread(loopback.general, "work")
    filled = path.format(general=loopback.general, guild=loopback.guild_id, bot=loopback.bot["id"])
    answer, _ = await ask("GET", filled)
    assert answer.status == 200


async def test_the_page_shares_the_address(loopback: LoopbackDiscord) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text=request.path)

    with_page = LoopbackDiscord()
    with_page.mount("/", page)
    with_page.mount("/visitor/", page)
    await with_page.start()
    async with aiohttp.ClientSession() as session:
        for path in ("/", "/visitor/a/b"):
            async with session.get(with_page.url + path) as answer:
                assert await answer.text() == path
        async with session.get(with_page.url + "/elsewhere") as answer:
            assert answer.status == 404
        async with session.ws_connect(with_page.gateway_url) as ws:
            assert (await ws.receive_json())["op"] == 10
    await with_page.stop()


async def test_exchanges_tell_what_was_asked_and_answered(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    await bot.text(loopback.general).send("observed")
    [exchange] = [e for e in loopback.exchanges if e.method == "POST"]
    assert exchange.template == "/channels/{channel_id}/messages"
    assert exchange.path == f"/channels/{loopback.general}/messages"
    assert exchange.request["content"] == exchange.response["content"] == "observed"
    assert (exchange.status, exchange.fault) == (200, None)
