"""Discord's side: a loopback Discord with real faults, and one that answers by a list."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bridge.doctor import Finding
from bridge.doctor.application import examine_application, invitation
from bridge.doctor.permissions import RECOMMENDED, REQUIRED, Permission
from bridge.doctor.rest import Rest
from bridge.rehearsal.discord import LoopbackDiscord
from bridge.rehearsal.discord.permissions import Permission as Granted

TOKEN = "a.valid.token"


async def examine(base: str, *channels: str, token: str = TOKEN, **lists: Any) -> list[Finding]:
    async with Rest(token, base) as rest:
        return await examine_application(
            rest,
            channels=[int(channel) for channel in channels],
            users=lists.get("users", ()),
            roles=lists.get("roles", ()),
        )


async def on_loopback(
    discord: LoopbackDiscord, *channels: str, **options: Any
) -> dict[str, Finding]:
    found = await examine(f"{discord.url}/api/v10", *channels, **options)
    return {finding.name: finding for finding in found}


async def test_a_well_set_up_bot_has_no_fault(discord: LoopbackDiscord) -> None:
    found = await on_loopback(discord, discord.general)
    assert {finding.ok for finding in found.values()} == {True}
    assert f"channel {discord.general}" in found


async def test_nothing_is_changed_by_looking(discord: LoopbackDiscord) -> None:
    await on_loopback(discord, discord.general)
    assert {exchange.method for exchange in discord.exchanges} == {"GET"}


async def test_a_wrong_token_is_told_and_nothing_else_is_asked(discord: LoopbackDiscord) -> None:
    found = await on_loopback(discord, discord.general, token="not.the.token")
    assert list(found) == ["token"]
    assert found["token"].ok is False
    assert "Reset Token" in found["token"].todo[0]
    assert len(discord.exchanges) == 1


async def test_a_message_content_intent_that_is_off_is_a_fault(discord: LoopbackDiscord) -> None:
    discord.application_flags = 0
    found = await on_loopback(discord)
    assert found["message content"].ok is False
    assert f"/{discord.application_id}/bot" in found["message content"].todo[0]


@pytest.mark.parametrize("flag", [1 << 18, 1 << 19])
async def test_the_intent_counts_in_full_and_in_its_limited_form(
    discord: LoopbackDiscord, flag: int
) -> None:
    discord.application_flags = flag
    assert (await on_loopback(discord))["message content"].ok is True


@pytest.mark.parametrize("missing", [one for one in REQUIRED if one != Permission.VIEW_CHANNEL])
async def test_each_needed_permission_that_a_channel_denies_is_named(
    discord: LoopbackDiscord, missing: Permission
) -> None:
    discord.overwrite(discord.general, discord.bot["id"], deny=Granted(int(missing)))
    finding = (await on_loopback(discord, discord.general))[f"channel {discord.general}"]
    assert finding.ok is False
    assert "#general" in finding.detail
    name = str(missing.name).replace("_", " ").lower()
    assert name in finding.detail.lower()
    assert name in finding.todo[0].lower()


async def test_a_recommended_permission_that_is_missing_is_warned_of(
    discord: LoopbackDiscord,
) -> None:
    discord.overwrite(discord.general, discord.bot["id"], deny=Granted(int(RECOMMENDED)))
    assert (await on_loopback(discord, discord.general))[f"channel {discord.general}"].ok is None


async def test_a_channel_that_the_bot_cannot_see_is_a_fault(discord: LoopbackDiscord) -> None:
    hidden = discord.add_channel("hidden")["id"]
    discord.overwrite(hidden, discord.guild_id, deny=Granted.VIEW_CHANNEL)
    finding = (await on_loopback(discord, hidden))[f"channel {hidden}"]
    assert (finding.ok, finding.detail) == (False, "the bot cannot see it")


async def test_a_channel_that_does_not_exist_is_a_fault(discord: LoopbackDiscord) -> None:
    finding = (await on_loopback(discord, "404"))["channel 404"]
    assert (finding.ok, finding.detail) == (False, "there is no such channel")


async def test_a_forum_is_as_good_as_a_text_channel(discord: LoopbackDiscord) -> None:
    forum = discord.add_channel("help", kind=15)["id"]
    assert (await on_loopback(discord, forum))[f"channel {forum}"].ok is True


async def test_a_thread_in_a_channels_place_is_a_fault(discord: LoopbackDiscord) -> None:
    thread = await discord.create_thread(discord.general, "talk")
    finding = (await on_loopback(discord, thread["id"]))[f"channel {thread['id']}"]
    assert (finding.ok, finding.detail) == (False, "#talk is a thread")


async def test_without_channels_the_servers_permissions_must_do(discord: LoopbackDiscord) -> None:
    discord.set_role_permissions(discord.guild_id, Granted.VIEW_CHANNEL)
    finding = (await on_loopback(discord))["server Rehearsal"]
    assert finding.ok is False
    assert "Send Messages in Threads" in finding.detail
    assert invitation(int(discord.application_id)) in finding.todo[1]


async def test_where_channels_are_named_theirs_count_more_than_the_servers(
    discord: LoopbackDiscord,
) -> None:
    place = discord.add_channel("only here")["id"]
    discord.set_role_permissions(discord.guild_id, Granted.VIEW_CHANNEL)
    allowed = Granted(int(REQUIRED | RECOMMENDED))
    discord.overwrite(place, discord.bot["id"], allow=allowed)
    found = await on_loopback(discord, place)
    assert found[f"channel {place}"].ok is True
    assert found["server Rehearsal"].ok is None


async def test_without_lists_the_owner_alone_may_speak(discord: LoopbackDiscord) -> None:
    detail = (await on_loopback(discord))["who may speak"].detail
    assert f"{discord.owner['username']} ({discord.owner['id']})" in detail


async def test_the_lists_are_shown(discord: LoopbackDiscord) -> None:
    found = await on_loopback(discord, users=(1, 2), roles=(3,))
    assert found["who may speak"].detail == "users 1, 2; roles 3"


async def test_trouble_in_the_middle_is_told_of_that_check_only(discord: LoopbackDiscord) -> None:
    discord.faults.fail("GET", rf"/.*channels/{discord.general}", status=500)
    found = await on_loopback(discord, discord.general, "404")
    assert found[f"channel {discord.general}"].ok is None
    assert "500" in found[f"channel {discord.general}"].detail
    assert found["channel 404"].ok is False
    assert found["token"].ok is True


async def test_a_server_that_is_not_there_is_told_apart_from_a_wrong_token() -> None:
    (finding,) = await examine("http://127.0.0.1:9/api/v10")
    assert (finding.name, finding.ok) == ("discord", False)
    assert "BRIDGE_DISCORD_URL" in finding.todo[0]


# What the loopback Discord never says


@asynccontextmanager
async def listed(answers: Mapping[str, Any]) -> AsyncGenerator[str]:
    """The base of a server that answers these paths, with JSON or with a ready response."""

    async def answer(request: web.Request) -> web.Response:
        found = answers[request.path]
        return found if isinstance(found, web.Response) else web.json_response(found)

    application = web.Application()
    application.router.add_get("/{tail:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def answers(**changed: Any) -> dict[str, Any]:
    """A lone bot without a server."""
    application = {"id": "7", "name": "bot", "flags": 1 << 19, "owner": None, "team": None}
    return {
        "/users/@me": changed.get("me", {"id": "7", "username": "bot"}),
        "/oauth2/applications/@me": application | changed.get("application", {}),
        "/users/@me/guilds": changed.get("guilds", []),
    }


async def test_a_bot_without_a_server_gets_its_invitation() -> None:
    async with listed(answers()) as base:
        found = {finding.name: finding for finding in await examine(base)}
    assert found["servers"].ok is False
    assert found["servers"].todo == (f"invite it: {invitation(7)}",)
    assert found["who may speak"].ok is False


def test_the_invitation_asks_for_exactly_what_is_needed() -> None:
    assert invitation(7) == (
        "https://discord.com/oauth2/authorize?client_id=7"
        "&scope=bot+applications.commands&permissions=326417632320"
    )


async def test_all_of_a_team_may_speak() -> None:
    members = [{"user": {"id": "1", "username": "ada"}}, {"user": {"id": "2", "username": "bob"}}]
    team = {"team": {"name": "us", "members": members}}
    async with listed(answers(application=team)) as base:
        found = {finding.name: finding for finding in await examine(base)}
    assert found["who may speak"].ok is True
    assert "ada (1), bob (2)" in found["who may speak"].detail


async def test_an_administrator_is_warned_of() -> None:
    guilds = [{"id": "5", "name": "home", "permissions": str(1 << 3)}]
    async with listed(answers(guilds=guilds)) as base:
        found = {finding.name: finding for finding in await examine(base)}
    assert found["server home"].ok is None


@pytest.mark.parametrize(
    "page",
    [
        web.Response(status=502, text="<html>Bad Gateway</html>", content_type="text/html"),
        web.Response(status=429, text="{}", content_type="application/json"),
    ],
)
async def test_an_answer_that_says_nothing_of_the_token_is_no_fault_of_it(
    page: web.Response,
) -> None:
    async with listed(answers(me=page)) as base:
        (finding,) = await examine(base)
    assert (finding.name, finding.ok) == ("token", None)
    assert str(page.status) in finding.detail


async def test_a_page_that_is_not_discord_is_a_fault() -> None:
    async with listed(answers(me={"hello": "world"})) as base:
        (finding,) = await examine(base)
    assert (finding.name, finding.ok) == ("discord", False)
