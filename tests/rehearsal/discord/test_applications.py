"""Command registration and interaction answers, by plain HTTP."""

from typing import Any

from bridge.rehearsal.discord import Interaction, LoopbackDiscord
from tests.rehearsal.discord.rig import Ask
from tests.support.conform import Conformity

NEW = {"name": "new", "description": "Starts anew"}


async def test_commands_are_kept_one_by_one(loopback: LoopbackDiscord, ask: Ask) -> None:
    shelf = f"/applications/{loopback.application_id}/guilds/{loopback.guild_id}/commands"
    created, command = await ask("POST", shelf, json=NEW)
    again, _ = await ask("POST", shelf, json=NEW)
    assert (created.status, again.status) == (201, 200)
    one = f"{shelf}/{command['id']}"
    _, edited = await ask("PATCH", one, json={"description": "Better"})
    _, fetched = await ask("GET", one)
    assert edited == fetched and fetched["description"] == "Better"
    await ask("DELETE", one)
    missing, body = await ask("GET", one)
    assert (missing.status, body["code"]) == (404, 10063)


async def test_the_bulk_put_takes_a_list_only(
    loopback: LoopbackDiscord, ask: Ask, audit: Conformity
) -> None:
    path = f"/applications/{loopback.application_id}/commands"
    _, body = await ask("PUT", path, json=NEW)
    assert body["code"] == 50035
    audit.violations.clear()


async def opened(loopback: LoopbackDiscord, ask: Ask) -> Interaction:
    await ask("PUT", f"/applications/{loopback.application_id}/commands", json=[NEW])
    return await loopback.slash(loopback.general, "new")


async def call_back(ask: Ask, interaction: Interaction, body: dict[str, Any]) -> Any:
    path = f"/interactions/{interaction.id}/{interaction.token}/callback"
    return await ask("POST", f"{path}?with_response=true", json=body)


def webhook(loopback: LoopbackDiscord, interaction: Interaction) -> str:
    return f"/webhooks/{loopback.application_id}/{interaction.token}"


async def test_a_command_cannot_be_answered_as_a_component(
    loopback: LoopbackDiscord, ask: Ask
) -> None:
    interaction = await opened(loopback, ask)
    for kind in (6, 7, 8):
        data: dict[str, Any] = {"choices": []} if kind == 8 else {"content": "x"}
        _, body = await call_back(ask, interaction, {"type": kind, "data": data})
        assert body["code"] == 50035
    assert interaction.acknowledged is None


async def test_a_refused_answer_leaves_the_interaction_open(
    loopback: LoopbackDiscord, ask: Ask
) -> None:
    interaction = await opened(loopback, ask)
    _, refused = await call_back(ask, interaction, {"type": 4, "data": {"content": " "}})
    assert refused["code"] == 50006
    _, answered = await call_back(ask, interaction, {"type": 4, "data": {"content": "x"}})
    assert answered["resource"]["message"]["content"] == "x"


async def test_a_deferral_reports_a_loading_message_and_no_resource(
    loopback: LoopbackDiscord, ask: Ask
) -> None:
    interaction = await opened(loopback, ask)
    _, body = await call_back(ask, interaction, {"type": 5})
    assert body["interaction"]["response_message_loading"] is True
    assert "resource" not in body
    assert interaction.response is not None and interaction.response["flags"] == 128


async def test_the_original_answer_is_read_edited_and_deleted(
    loopback: LoopbackDiscord, ask: Ask
) -> None:
    interaction = await opened(loopback, ask)
    original = f"{webhook(loopback, interaction)}/messages/@original"
    unanswered, body = await ask("GET", original)
    assert (unanswered.status, body["code"]) == (404, 10015)
    await call_back(ask, interaction, {"type": 4, "data": {"content": "one"}})
    _, message = await ask("GET", original)
    by_id = f"{webhook(loopback, interaction)}/messages/{message['id']}"
    assert (await ask("GET", by_id))[1] == message
    await ask("PATCH", by_id, json={"content": "two"})
    assert interaction.text == "two"
    await ask("DELETE", original)
    assert interaction.response is None and interaction.text == ""
    gone, body = await ask("GET", original)
    assert (gone.status, body["code"]) == (404, 10008)


async def test_follow_ups_answer_the_original(loopback: LoopbackDiscord, ask: Ask) -> None:
    interaction = await opened(loopback, ask)
    await call_back(ask, interaction, {"type": 4, "data": {"content": "one"}})
    _, message = await ask(
        "POST", f"{webhook(loopback, interaction)}?wait=true", json={"content": "two"}
    )
    assert interaction.response is not None
    assert message["message_reference"]["message_id"] == interaction.response["id"]
    assert loopback.shown(loopback.general) == "one\ntwo"


async def test_answers_mention_people_only(loopback: LoopbackDiscord, ask: Ask) -> None:
    interaction = await opened(loopback, ask)
    content = f"<@{loopback.owner['id']}> @everyone <@&{loopback.world.bot_role['id']}>"
    _, body = await call_back(ask, interaction, {"type": 4, "data": {"content": content}})
    message = body["resource"]["message"]
    assert [user["id"] for user in message["mentions"]] == [loopback.owner["id"]]
    assert (message["mention_everyone"], message["mention_roles"]) == (False, [])
