"""Who may speak to the bot, and that all others cost nothing."""

from typing import Any

import pytest

from tests.e2e.rig import Message, Rig

pytestmark = pytest.mark.e2e

COMMANDS = ("new", "stop", "status", "cleanup", "help")
REFUSED = "not on this bot's list"


async def try_everything(rig: Rig, person: dict[str, Any], thread: str, side: str) -> None:
    """Speak to the bot in every way; returns once the bot has seen all of it."""
    d, me = rig.discord, f"<@{rig.discord.bot['id']}>"
    await d.say(d.general, "let me in", author=person)
    said = await d.say(thread, "let me in", author=person)
    await d.edit(thread, said["id"], f"{me} let me in now")
    await d.say(thread, f"{me} let me in", author=person)
    await d.say(side, f"{me} let me in", author=person)
    own = await d.create_thread(side, "a thread of theirs", author=person)
    await d.say(own["id"], f"{me} let me in", author=person)
    for name in COMMANDS:
        interaction = await d.slash(thread, name, author=person)
        assert REFUSED in await interaction.done()


async def test_a_stranger_disturbs_neither_the_turn_nor_the_queue(rig: Rig) -> None:
    side = rig.discord.add_channel("side")["id"]
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await rig.say(thread, "SLOW 2 beta")
    await rig.answer(thread, "working")
    queued = await rig.say(thread, "gamma")
    stranger = rig.discord.add_user("stranger")
    # As of one who may speak no more since the message was written.
    changed = {**queued, "guild_id": rig.discord.guild_id, "author": stranger}
    rig.discord.events.emit("MESSAGE_UPDATE", changed | {"content": "let me in"}, channel=thread)
    await try_everything(rig, stranger, thread, side)
    await rig.answer(thread, "Echo #3: gamma | saw: alpha / SLOW 2 beta")
    shown = await rig.settled(thread, 3)
    assert "END-OF-SLOW SLOW 2 beta" in shown
    assert rig.prompts() == ["alpha", "SLOW 2 beta", "gamma"]


async def test_a_strangers_words_change_nothing_on_the_disk(rig: Rig) -> None:
    side = rig.discord.add_channel("side")["id"]
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    under_way = ("turn", "queue", "unsent")
    await rig.eventually(lambda: not any(rig.record(thread).get(key) for key in under_way))
    await rig.command(thread, "status")
    before = rig.state_file.read_bytes()
    requests = len(rig.discord.exchanges)
    await try_everything(rig, rig.discord.add_user("stranger"), thread, side)
    assert rig.state_file.read_bytes() == before
    assert len(rig.model.requests) == 1
    # A refusal for each command, and not one request more.
    assert len(rig.discord.exchanges) - requests == len(COMMANDS)


@pytest.mark.settings("stopped", BRIDGE_ALLOWED_USERS="")
async def test_members_of_an_allowed_role_may_speak_also_in_what_is_read_back(rig: Rig) -> None:
    d = rig.discord
    crew = d.add_role("crew")["id"]
    member, other = d.add_user("member", roles=[crew]), d.add_user("other")
    rig.settings["BRIDGE_ALLOWED_ROLES"] = crew
    await rig.start()
    side = d.add_channel("side")["id"]
    thread = await rig.open("alpha", author=member)
    await rig.answer(thread, "Echo #1: alpha")
    for person in (other, d.owner):  # with a list, the owner is a person like others
        await try_everything(rig, person, thread, side)
    interaction = await d.slash(thread, "status", author=member)
    assert "**Session**" in await interaction.done()
    await rig.stop()
    await d.say(thread, "not mine", author=other)
    await d.say(thread, "beta", author=member)
    await rig.start()
    await rig.answer(thread, "Echo #2: beta | saw: alpha")
    assert rig.prompts() == ["alpha", "beta"]


@pytest.mark.settings(BRIDGE_ALLOWED_USERS="")
async def test_without_any_list_only_the_applications_owner_may_speak(rig: Rig) -> None:
    side = rig.discord.add_channel("side")["id"]
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    await try_everything(rig, rig.discord.add_user("stranger"), thread, side)
    await rig.say(thread, "beta")
    await rig.answer(thread, "Echo #2: beta")
    assert rig.prompts() == ["alpha", "beta"]


@pytest.mark.settings("stopped")
async def test_another_bot_is_heard_only_if_it_is_listed_by_its_id(rig: Rig) -> None:
    d = rig.discord
    crew = d.add_role("crew")["id"]
    unlisted = d.add_user("unlisted-bot", bot=True, roles=[crew])
    listed = d.add_user("listed-bot", bot=True)
    rig.settings["BRIDGE_ALLOWED_ROLES"] = crew
    rig.settings["BRIDGE_ALLOWED_USERS"] = f"{d.owner['id']},{listed['id']},{d.bot['id']}"
    await rig.start()
    thread = await rig.open("alpha", author=listed)
    await rig.say(thread, "not mine", author=unlisted)
    await d.say(d.general, "not mine", author=unlisted)
    await d.say(thread, "said by the bot itself", author=d.bot)
    await d.say(d.general, "said by the bot itself", author=d.bot)
    await rig.say(thread, "beta")
    await rig.answer(thread, "Echo #2: beta")
    assert rig.prompts() == ["alpha", "beta"]


def _fake(rig: Rig, like: Message, **changes: Any) -> None:
    """Send the bot an event that a person's client cannot cause here."""
    event = {**like, **changes, "id": rig.discord.world.snowflakes.next()}
    rig.discord.events.emit("MESSAGE_CREATE", event, channel=event["channel_id"])


async def test_only_words_of_people_start_something(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    threads = len(d.threads())
    for place in (thread, d.general):
        said = await d.say(place, "SAY: a real one") if place == thread else None
        like = said or next(m for m in d.messages(d.general) if m["content"] == "alpha")
        event = {**like, "guild_id": d.guild_id, "channel_id": place}
        ordinary = (0, 19)
        for kind in [kind for kind in range(60) if kind not in ordinary]:
            _fake(rig, event, type=kind, content=f"system {kind}")
        hook = {**d.owner, "bot": True, "id": d.world.snowflakes.next()}
        _fake(rig, event, webhook_id=hook["id"], author=hook, content="a webhook's")
        _fake(rig, event, content="")
        _fake(rig, event, content="   \n")
    await d.create_thread(d.general, "a person's thread")
    last = await rig.open("the last")
    await rig.settled(last, 1)
    assert rig.prompts() == ["alpha", "SAY: a real one", "the last"]
    assert len(d.threads()) == threads + 2


async def test_what_is_no_message_to_the_bot_starts_nothing(rig: Rig) -> None:
    d = rig.discord
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    said = d.messages(thread)[-1]
    await d.react(thread, said["id"], "👍")
    await d.edit(d.general, thread, "alpha, edited")
    await d.type(thread)
    side = d.add_channel("side")["id"]
    await d.say(side, "no mention here")
    await d.say(side, f"<@{d.owner['id']}> not this bot's")
    last = await rig.open("the last")
    await rig.settled(last, 1)
    assert rig.prompts() == ["alpha", "the last"]
