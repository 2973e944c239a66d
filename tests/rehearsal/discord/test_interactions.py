"""Slash commands, components and modals through a real discord.py client."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import discord
import pytest
from discord import app_commands

from bridge.rehearsal.discord import Deadlines, LoopbackDiscord
from bridge.rehearsal.discord.options import OptionError
from tests.rehearsal.discord.rig import Bot, running
from tests.support.conform import Conformity

Interaction = discord.Interaction[Any]


class Choice(discord.ui.View):
    """A button and a select menu whose answers say what arrived."""

    @discord.ui.button(label="Go", custom_id="go")
    async def go(self, interaction: Interaction, _: discord.ui.Button["Choice"]) -> None:
        await interaction.response.edit_message(content="pressed", view=None)

    @discord.ui.button(label="Later", custom_id="later")
    async def later(self, interaction: Interaction, _: discord.ui.Button["Choice"]) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(content="edited later")

    @discord.ui.button(label="Off", custom_id="off", disabled=True)
    async def off(self, interaction: Interaction, _: discord.ui.Button["Choice"]) -> None:
        raise AssertionError("a disabled button was pressed")

    @discord.ui.select(
        custom_id="pick", options=[discord.SelectOption(label=c) for c in "abc"], max_values=2
    )
    async def pick(self, interaction: Interaction, menu: discord.ui.Select["Choice"]) -> None:
        await interaction.response.send_message(f"picked {menu.values}", ephemeral=True)

    @discord.ui.select(cls=discord.ui.UserSelect, custom_id="who")
    async def who(self, interaction: Interaction, menu: discord.ui.UserSelect["Choice"]) -> None:
        await interaction.response.send_message(f"picked {menu.values[0].name}")


class Form(discord.ui.Modal, title="Your answer"):
    answer: discord.ui.Label["Form"] = discord.ui.Label(
        text="Answer", component=discord.ui.TextInput(custom_id="answer", min_length=2)
    )
    kind: discord.ui.Label["Form"] = discord.ui.Label(
        text="Kind",
        component=discord.ui.Select(custom_id="kind", options=[discord.SelectOption(label="x")]),
    )

    async def on_submit(self, interaction: Interaction) -> None:
        text, menu = self.answer.component, self.kind.component
        assert isinstance(text, discord.ui.TextInput)
        assert isinstance(menu, discord.ui.Select)
        await interaction.response.send_message(f"{text.value} {menu.values}")


def with_commands(bot: Bot) -> Bot:
    @app_commands.command(description="Answers after a deferral")
    async def slow(interaction: Interaction, fork: bool = False, times: int = 1) -> None:
        await interaction.response.defer(thinking=True)
        await interaction.edit_original_response(content=f"{fork} {times}")
        await interaction.followup.send("and more")

    @app_commands.command(description="Answers for one pair of eyes")
    async def secret(interaction: Interaction) -> None:
        await interaction.response.defer(ephemeral=True)
        await interaction.followup.send("psst")

    @app_commands.command(description="Shows components")
    async def choose(interaction: Interaction) -> None:
        await interaction.response.send_message("choose", view=Choice(timeout=None))

    @app_commands.command(description="Shows a form")
    async def ask(interaction: Interaction) -> None:
        await interaction.response.send_modal(Form())

    @app_commands.command(description="Completes")
    async def find(interaction: Interaction, what: str, who: discord.User | None = None) -> None:
        await interaction.response.send_message(f"found {what} for {who}")

    @find.autocomplete("what")
    async def complete(_: Interaction, typed: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=typed * n, value=typed * n) for n in (1, 2)]

    assert complete

    @app_commands.command(description="Never answers")
    async def mute(interaction: Interaction) -> None:
        pass

    @app_commands.command(description="Answers twice")
    async def twice(interaction: Interaction) -> None:
        await interaction.response.send_message("first")
        again = discord.InteractionResponse[Any](interaction)
        with pytest.raises(discord.HTTPException) as refused:
            await again.send_message("second")
        await interaction.followup.send(str(refused.value.code))

    group = app_commands.Group(name="session", description="Sessions")

    @group.command(name="list", description="Lists")
    async def list_(interaction: Interaction, limit: app_commands.Range[int, 1, 10]) -> None:
        await interaction.response.send_message(f"{limit} sessions")

    assert list_
    for command in cast(list[Any], [slow, secret, choose, ask, find, mute, twice, group]):
        bot.tree.add_command(command)
    return bot


@pytest.fixture
async def bot(loopback: LoopbackDiscord) -> AsyncIterator[Bot]:
    async with running(loopback, with_commands(Bot())) as bot:
        yield bot


@pytest.fixture(autouse=True)
def connected(bot: Bot) -> Bot:
    return bot


async def test_a_deferred_command_shows_its_answer_when_done(loopback: LoopbackDiscord) -> None:
    interaction = await loopback.slash(loopback.general, "slow", fork=True, times=3)
    assert await interaction.acked() == 5
    assert await interaction.done() == "True 3"
    await loopback.until(lambda: interaction.followups, what="the follow-up")
    assert interaction.text == "True 3\nand more"
    assert loopback.shown(loopback.general) == "True 3\nand more"
    assert interaction.response is not None and interaction.response["type"] == 20


async def test_a_follow_up_takes_the_place_of_an_ephemeral_deferral(
    loopback: LoopbackDiscord,
) -> None:
    interaction = await loopback.slash(loopback.general, "secret")
    assert await interaction.done() == "psst"
    assert interaction.response is not None and interaction.response["flags"] == 64
    assert loopback.messages(loopback.general) == []


async def test_options_are_checked_as_a_client_would(loopback: LoopbackDiscord) -> None:
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("slow", {"fork": "yes"}),
        ("slow", {"times": True}),
        ("slow", {"nothing": 1}),
        ("find", {}),
        ("session", {}),
        ("session list", {"limit": 11}),
        ("session drop", {}),
    ]
    for name, values in attempts:
        with pytest.raises(OptionError):
            await loopback.slash(loopback.general, name, **values)
    with pytest.raises(LookupError):
        await loopback.slash(loopback.general, "unknown")


async def test_subcommands_are_named_after_a_space(loopback: LoopbackDiscord) -> None:
    interaction = await loopback.slash(loopback.general, "session list", limit=3)
    assert await interaction.done() == "3 sessions"


async def test_user_options_arrive_resolved(loopback: LoopbackDiscord) -> None:
    bob = loopback.add_user("bob")
    interaction = await loopback.slash(loopback.general, "find", what="it", who=bob["id"])
    assert await interaction.done() == "found it for bob"


async def test_autocomplete_offers_choices(loopback: LoopbackDiscord) -> None:
    interaction = await loopback.autocomplete(loopback.general, "find", "what", "ab")
    assert await interaction.done() == "ab\nabab"
    assert interaction.choices == [{"name": n, "value": n} for n in ("ab", "abab")]


async def shown_choice(loopback: LoopbackDiscord) -> str:
    interaction = await loopback.slash(loopback.general, "choose")
    await interaction.done()
    assert interaction.response is not None
    return interaction.response["id"]


async def test_a_button_may_edit_its_message(loopback: LoopbackDiscord) -> None:
    message = await shown_choice(loopback)
    pressed = await loopback.press(loopback.general, message, "go")
    assert await pressed.done() == "pressed"
    assert await pressed.acked() == 7
    shown = loopback.messages(loopback.general)[-1]
    assert (shown["id"], shown["components"]) == (message, [])
    with pytest.raises(ValueError, match="no component"):
        await loopback.press(loopback.general, message, "go")


async def test_a_button_may_defer_and_edit_later(loopback: LoopbackDiscord) -> None:
    message = await shown_choice(loopback)
    pressed = await loopback.press(loopback.general, message, "later")
    assert await pressed.acked() == 6
    await loopback.until(lambda: loopback.shown(loopback.general) == "edited later")


async def test_a_disabled_button_cannot_be_pressed(loopback: LoopbackDiscord) -> None:
    message = await shown_choice(loopback)
    with pytest.raises(ValueError, match="disabled"):
        await loopback.press(loopback.general, message, "off")


async def test_a_select_sends_its_values(loopback: LoopbackDiscord) -> None:
    message = await shown_choice(loopback)
    chosen = await loopback.select(loopback.general, message, "pick", ["a", "c"])
    assert await chosen.done() == "picked ['a', 'c']"
    for values in ([], ["a", "b", "c"], ["z"]):
        with pytest.raises(ValueError, match="pick"):
            await loopback.select(loopback.general, message, "pick", values)


async def test_a_user_select_arrives_resolved(loopback: LoopbackDiscord) -> None:
    message = await shown_choice(loopback)
    chosen = await loopback.select(loopback.general, message, "who", [loopback.owner["id"]])
    assert await chosen.done() == "picked alice"


async def test_a_modal_is_shown_and_submitted(loopback: LoopbackDiscord) -> None:
    interaction = await loopback.slash(loopback.general, "ask")
    assert await interaction.done() == "Your answer"
    submitted = await loopback.submit(interaction, {"answer": "fine", "kind": ["x"]})
    assert await submitted.done() == "fine ['x']"
    for values in ({"answer": "f", "kind": ["x"]}, {"kind": ["x"]}, {"other": "y"}):
        with pytest.raises(OptionError):
            await loopback.submit(interaction, values)


async def test_a_second_answer_is_refused(loopback: LoopbackDiscord) -> None:
    interaction = await loopback.slash(loopback.general, "twice")
    await interaction.done()
    await loopback.until(lambda: interaction.followups, what="the code of the refusal")
    assert interaction.text == "first\n40060"


async def test_commands_keep_their_ids_over_a_sync(loopback: LoopbackDiscord, bot: Bot) -> None:
    before = {command["name"]: command["id"] for command in loopback.commands.on(None)}
    await bot.tree.sync()
    after = {command["name"]: command["id"] for command in loopback.commands.on(None)}
    assert before == after
    assert {command.name for command in await bot.tree.fetch_commands()} == set(before)


async def test_the_guilds_commands_come_before_the_global_ones(
    loopback: LoopbackDiscord, bot: Bot
) -> None:
    guild = discord.Object(int(loopback.guild_id))
    bot.tree.copy_global_to(guild=guild)
    await bot.tree.sync(guild=guild)
    assert loopback.commands.find("session")["guild_id"] == loopback.guild_id
    interaction = await loopback.slash(loopback.general, "session list", limit=1)
    assert await interaction.done() == "1 sessions"


async def test_no_answer_in_time_fails_the_interaction() -> None:
    audit = Conformity()
    loopback = LoopbackDiscord(audit=audit, rate_limits="off", deadlines=Deadlines(answer=0.05))
    await loopback.start()
    late = asyncio.Event()
    codes: asyncio.Queue[int] = asyncio.Queue()
    bot = Bot()

    @app_commands.command(description="Answers too late")
    async def tardy(interaction: Interaction) -> None:
        await late.wait()
        with pytest.raises(discord.NotFound) as refused:
            await interaction.response.send_message("sorry")
        codes.put_nowait(refused.value.code)

    bot.tree.add_command(cast(Any, tardy))
    async with running(loopback, bot):
        interaction = await loopback.slash(loopback.general, "tardy")
        await loopback.until(lambda: interaction.error == "timeout", what="the time-out")
        late.set()
        assert await codes.get() == 10062
        with pytest.raises(AssertionError, match="timeout"):
            await interaction.done()
    await loopback.stop()
    assert audit.violations == []


async def test_a_token_dies_after_its_life() -> None:
    loopback = LoopbackDiscord(rate_limits="off", deadlines=Deadlines(token=0))
    await loopback.start()
    codes: asyncio.Queue[int] = asyncio.Queue()
    bot = Bot()

    @app_commands.command(description="Says more when the token is dead")
    async def more(interaction: Interaction) -> None:
        await interaction.response.send_message("now")
        with pytest.raises(discord.HTTPException) as refused:
            await interaction.followup.send("much later")
        codes.put_nowait(refused.value.code)

    bot.tree.add_command(cast(Any, more))
    async with running(loopback, bot):
        await loopback.slash(loopback.general, "more")
        assert await codes.get() == 50027
    await loopback.stop()


async def test_people_see_ephemeral_answers_and_modals(loopback: LoopbackDiscord) -> None:
    seen = loopback.subscribe()
    secret = await loopback.slash(loopback.general, "secret")
    await secret.done()
    ask = await loopback.slash(loopback.general, "ask")
    await ask.done()
    names = [seen.get_nowait()[0] for _ in range(seen.qsize())]
    assert names.count("INTERACTION_CREATE") == 2
    for name in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_MODAL_CREATE"):
        assert name in names
