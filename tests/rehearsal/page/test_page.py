"""A visitor in a real browser, with a real discord.py bot on the other side."""

from pathlib import Path
from typing import Any, cast

import discord
from discord import app_commands

from bridge.rehearsal.discord import LoopbackDiscord
from bridge.rehearsal.discord.cdn import plain_png
from tests.rehearsal.discord.rig import Bot, running
from tests.support.browser import Browser, Page

Interaction = discord.Interaction[Any]


class Choice(discord.ui.View):
    """Controls whose answers say what arrived; `deaf` never answers."""

    @discord.ui.button(label="Allow", custom_id="allow")
    async def allow(self, interaction: Interaction, _: discord.ui.Button["Choice"]) -> None:
        await interaction.response.edit_message(content="allowed", view=None)

    @discord.ui.button(label="Deaf", custom_id="deaf")
    async def deaf(self, interaction: Interaction, _: discord.ui.Button["Choice"]) -> None:
        pass

    @discord.ui.select(
        custom_id="one", options=[discord.SelectOption(label=name) for name in ("x", "y")]
    )
    async def one(self, interaction: Interaction, menu: discord.ui.Select["Choice"]) -> None:
        await interaction.response.send_message(f"one is {menu.values}")

    @discord.ui.select(
        custom_id="many",
        max_values=2,
        options=[discord.SelectOption(label=name) for name in ("p", "q", "r")],
    )
    async def many(self, interaction: Interaction, menu: discord.ui.Select["Choice"]) -> None:
        await interaction.response.send_message(f"many are {menu.values}")


class Form(discord.ui.Modal, title="Your answer"):
    answer: discord.ui.Label["Form"] = discord.ui.Label(
        text="Answer", component=discord.ui.TextInput(custom_id="answer")
    )

    async def on_submit(self, interaction: Interaction) -> None:
        assert isinstance(self.answer.component, discord.ui.TextInput)
        await interaction.response.send_message(f"modal says {self.answer.component.value}")


def with_commands(bot: Bot) -> Bot:
    @app_commands.command(description="Start afresh")
    async def new(interaction: Interaction, fork: bool = False) -> None:
        await interaction.response.defer(thinking=True, ephemeral=True)
        await bot.wait_for("message")
        await interaction.edit_original_response(content=f"fork is {fork}")

    @app_commands.command(description="Opens a form")
    async def ask(interaction: Interaction) -> None:
        await interaction.response.send_modal(Form())

    @app_commands.command(description="Never answers")
    async def mute(interaction: Interaction) -> None:
        pass

    @app_commands.command(description="Completes")
    async def find(interaction: Interaction, what: str) -> None:
        await interaction.response.send_message(f"found {what}")

    @find.autocomplete("what")
    async def complete(_: Interaction, typed: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=f"offer {typed}", value=f"offer-{typed}")]

    assert complete
    for command in cast(list[Any], [new, ask, mute, find]):
        bot.tree.add_command(command)
    return bot


async def write(page: Page, text: str) -> None:
    await page.type(text, into="#text")
    await page.press("Enter")


async def test_a_visitor_writes_and_sees_the_bot_answer_and_edit_without_flicker(
    served: LoopbackDiscord, page: Page
) -> None:
    async with running(served, Bot()) as bot:
        await page.shows("bridge online", "#status")
        await write(page, "hello **bot**")
        await page.shows("hello bot")
        channel = bot.text(served.general)
        async with channel.typing():
            await page.shows("bridge is typing…", "#typing")
            answer = await channel.send("One ")
        await page.shows("One")
        await page.evaluate("document.querySelector('.message:last-child .md-text').kept = true")
        for text in ("One two ", "One two\n```py\nthree\n```", "One two\n```py\nthree four\n```"):
            answer = await answer.edit(content=text)
        await page.shows("three four")
        await page.shows("(edited)")
        assert await page.evaluate("document.querySelector('.message:last-child .md-text').kept")
        assert await page.text("#typing") == ""
    await page.shows("bridge offline", "#status")


async def test_a_thread_shows_below_its_message_and_in_the_list_until_it_is_read(
    served: LoopbackDiscord, page: Page
) -> None:
    async with running(served, Bot()) as bot:
        await write(page, "open one")
        await served.until(lambda: served.messages(served.general), what="the message")
        message = await bot.text(served.general).fetch_message(
            int(served.messages(served.general)[0]["id"])
        )
        thread = await message.create_thread(name="Open one")
        await thread.send("inside")
        await page.shows("bridge: inside", ".thread-chip")
        await page.shows("1", ".entry.unread .badge")
        await page.click(".thread-chip")
        await page.shows("inside")
        await page.shows("Open one", "#title")
        assert not await page.evaluate("document.querySelector('.unread')")
        await thread.edit(name="Renamed", archived=True)
        await page.shows("Renamed", ".entry.archived")
        await page.shows("Renamed", "#title")
        await thread.delete()
        await page.shows("# general", "#title")


async def test_slash_commands_are_offered_filled_in_and_answered(
    served: LoopbackDiscord, page: Page
) -> None:
    async with running(served, with_commands(Bot())):
        await page.type("/n", into="#text")
        await page.shows("Start afresh", "#popup")
        await page.press("Tab")
        await page.until("document.querySelector('#command select')")
        await page.evaluate("document.querySelector('#command select').value = 'True'")
        await page.press("Enter")
        await page.shows("bridge is thinking…", ".ephemeral")
        await served.say(served.general, "go on")
        await page.shows("fork is True", ".ephemeral")
        assert await page.evaluate("document.querySelectorAll('.ephemeral').length") == 1
        await page.shows("Only you can see this", ".ephemeral")
        await page.shows("alice used /new", ".reference")
        await page.click("[data-act=dismiss]")
        await page.until("!document.querySelector('.ephemeral')")
        await write(page, "/new fork:false")
        await page.shows("bridge is thinking…")
        await served.say(served.general, "go on")
        await page.shows("fork is False")


async def test_an_option_completes_while_it_is_typed(served: LoopbackDiscord, page: Page) -> None:
    async with running(served, with_commands(Bot())):
        await write(page, "/find")
        await page.until("document.querySelector('#command input')")
        await page.type("ab", into="#command input")
        await page.until("document.querySelector('datalist option[value=offer-ab]')")
        await page.press("Enter")
        await page.shows("found ab")


async def test_what_is_not_answered_in_time_is_said_to_have_failed(
    served: LoopbackDiscord, page: Page
) -> None:
    async with running(served, with_commands(Bot())) as bot:
        await write(page, "/mute")
        await page.shows("Sending command…", ".pending")
        await page.shows("The application did not respond.", ".failed")
        await page.click("[data-act=dismiss-interaction]")
        await page.until("!document.querySelector('.pending')")
        await bot.text(served.general).send("choose", view=Choice())
        await page.click("[data-custom-id=deaf]")
        await page.shows("This interaction failed", ".failed")


async def test_buttons_and_menus_reach_the_bot(served: LoopbackDiscord, page: Page) -> None:
    async with running(served, Bot()) as bot:
        await bot.text(served.general).send("choose", view=Choice())
        await page.until("document.querySelector('select')")
        await page.evaluate(
            "(menu => { menu.value = 'y'; menu.dispatchEvent(new Event('change',"
            " {bubbles: true})); })(document.querySelector('[data-custom-id=one]'))"
        )
        await page.shows("one is ['y']")
        await page.click(".many summary")
        await page.click(".many input[value=p]")
        await page.click(".many input[value=r]")
        await page.click("[data-custom-id=many]")
        await page.shows("many are ['p', 'r']")
        await page.click("[data-custom-id=allow]")
        await page.shows("allowed")
        assert not await page.evaluate("document.querySelector('[data-custom-id]')")


async def test_a_modal_is_filled_in_and_submitted(served: LoopbackDiscord, page: Page) -> None:
    async with running(served, with_commands(Bot())):
        await write(page, "/ask")
        await page.shows("Your answer", "dialog")
        await page.type("fine", into="dialog [name=answer]")
        await page.click("dialog [type=submit]")
        await page.shows("modal says fine")
        await page.until("!document.querySelector('dialog').open")


async def test_reactions_are_shown_added_and_taken_back(
    served: LoopbackDiscord, page: Page
) -> None:
    message = await served.say(served.general, "react to me", author=served.add_user("bob"))
    await served.react(served.general, message["id"], "👀", author=served.bot)
    await page.shows("👀 1", ".reaction")
    await page.click(".reaction")
    await page.shows("👀 2", ".reaction.mine")
    await page.click(".reaction")
    await page.shows("👀 1", ".reaction:not(.mine)")
    await page.click("[data-act=react]")
    await page.click(".emojis button")
    await page.shows("👍 1", ".reaction.mine")


async def test_own_messages_are_edited_deleted_and_answered(
    served: LoopbackDiscord, page: Page
) -> None:
    await write(page, "first")
    await page.shows("first")
    await page.evaluate("document.querySelector('#text').focus()")
    await page.press("ArrowUp")
    await page.until("document.querySelector('.editing textarea')")
    await page.type(" changed")
    await page.press("Enter")
    await page.shows("first changed")
    await page.shows("(edited)")
    await page.click("[data-act=reply]")
    await page.shows("Replying to alice", "#replying")
    await write(page, "an answer")
    await page.shows("alice first changed", ".reference")
    await page.click("[data-act=delete]")
    await served.until(lambda: len(served.messages(served.general)) == 1, what="the deletion")
    await page.until("!document.querySelector('#messages').innerText.includes('changed (edited)')")


async def test_files_are_attached_and_images_shown(
    served: LoopbackDiscord, page: Page, tmp_path: Path
) -> None:
    picture, notes = tmp_path / "pic.png", tmp_path / "notes.txt"
    picture.write_bytes(plain_png("3ba55c"))
    notes.write_text("notes")
    await page.attach("#files", [picture, notes])
    await page.shows("notes.txt", "#uploads")
    await page.evaluate(
        "(() => { const t = new DataTransfer(); t.items.add(new File(['x'], 'pasted.txt'));"
        " document.querySelector('#text').dispatchEvent(new ClipboardEvent('paste',"
        " {clipboardData: t, bubbles: true, cancelable: true})); })()"
    )
    await page.shows("pasted.txt", "#uploads")
    await write(page, "with files")
    await page.shows("notes.txt", ".file")
    await page.shows("pasted.txt", ".file")
    await page.evaluate("document.querySelector('.attachments img').decode()")
    names = [a["filename"] for a in served.messages(served.general)[0]["attachments"]]
    assert names == ["pic.png", "notes.txt", "pasted.txt"]


async def test_a_refused_message_stays_in_the_line_and_says_why(
    served: LoopbackDiscord, page: Page
) -> None:
    await write(page, "x" * 4001)
    await page.until("document.querySelector('.toast')")
    assert await page.evaluate("document.querySelector('#text').value.length") == 4001
    # The browser itself logs the refused request.
    assert [error for error in page.errors if "400" not in error] == []
    page.errors.clear()


async def test_a_narrow_page_fits_and_keeps_its_channels_in_a_drawer(
    served: LoopbackDiscord, browser: Browser
) -> None:
    await served.say(served.general, f"```\n{'wide ' * 80}\n```\n{'w' * 300}")
    served.add_channel("second")
    page = await browser.open(f"{served.url}/", width=360, height=640)
    await page.shows("wide")
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    assert await page.evaluate("document.querySelector('#messages').scrollWidth") <= 360
    await page.click("#menu")
    await page.until("document.body.classList.contains('menu-open')")
    await page.evaluate("[...document.querySelectorAll('.entry')].at(-1).click()")
    await page.shows("# second", "#title")
    assert not await page.evaluate("document.body.classList.contains('menu-open')")
    assert page.errors == []


async def test_a_page_that_lost_its_server_finds_it_again(
    served: LoopbackDiscord, browser: Browser
) -> None:
    page = await browser.open(f"{served.url}/")
    await page.shows("This is the beginning")
    port = int(served.url.rpartition(":")[2])
    await served.stop()
    await page.until("document.body.classList.contains('disconnected')")
    await served.say(served.general, "meanwhile")
    await served.start(port)
    await page.shows("meanwhile")
    assert not await page.evaluate("document.body.classList.contains('disconnected')")
