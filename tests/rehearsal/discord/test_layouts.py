"""Components of the second version, and files in answers, through a real discord.py client."""

import io
from collections.abc import AsyncIterator
from typing import Any, cast

import discord
import pytest
from discord import app_commands, ui

from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Bot, running

# The kit's classes are generic over their view, which says nothing here.
kit: Any = ui


def layout() -> ui.LayoutView:
    """One of each kind, around an attachment `log.txt`."""
    view = ui.LayoutView(timeout=None)
    container = kit.Container(
        kit.TextDisplay("# Report"),
        kit.Section("details", accessory=kit.Thumbnail("attachment://log.txt")),
        kit.Section("more", accessory=kit.Button(label="More", custom_id="more")),
        kit.Separator(),
        kit.File("attachment://log.txt"),
        kit.MediaGallery(discord.MediaGalleryItem("https://example.com/a.png")),
        kit.ActionRow(kit.Button(label="Go", custom_id="go")),
        accent_colour=discord.Colour.blurple(),
    )
    view.add_item(container)
    return view


@pytest.fixture
async def bot(loopback: LoopbackDiscord) -> AsyncIterator[Bot]:
    bot = Bot()

    @app_commands.command(description="Answers with a file")
    async def report(interaction: discord.Interaction[Any]) -> None:
        file = discord.File(io.BytesIO(b"first"), "first.txt")
        await interaction.response.send_message("here", file=file)
        more = discord.File(io.BytesIO(b"second"), "second.txt")
        await interaction.edit_original_response(attachments=[more])
        await interaction.followup.send(file=discord.File(io.BytesIO(b"third"), "third.txt"))

    bot.tree.add_command(cast(Any, report))
    async with running(loopback, bot):
        yield bot


async def test_a_layout_is_shown_with_its_texts(loopback: LoopbackDiscord, bot: Bot) -> None:
    file = discord.File(io.BytesIO(b"log"), "log.txt")
    sent = await bot.text(loopback.general).send(view=layout(), file=file)
    assert loopback.shown(loopback.general) == "# Report\ndetails\nmore"
    [container] = loopback.messages(loopback.general)[0]["components"]
    numbers = [container["id"], *(part["id"] for part in container["components"])]
    assert all(isinstance(number, int) for number in numbers)
    assert len(set(numbers)) == len(numbers)
    shown_file = container["components"][4]
    assert shown_file["file"]["attachment_id"] == str(sent.attachments[0].id)
    assert (shown_file["name"], shown_file["size"]) == ("log.txt", 3)


async def test_a_layout_excludes_content(loopback: LoopbackDiscord, bot: Bot) -> None:
    file = discord.File(io.BytesIO(b"log"), "log.txt")
    sent = await bot.text(loopback.general).send(view=layout(), file=file)
    with pytest.raises(discord.HTTPException) as refused:
        await sent.edit(content="plain")
    assert refused.value.code == 50035


async def test_a_message_can_become_a_layout(loopback: LoopbackDiscord, bot: Bot) -> None:
    sent = await bot.text(loopback.general).send("plain")
    view = ui.LayoutView(timeout=None)
    view.add_item(kit.TextDisplay("laid out"))
    await sent.edit(content=None, view=view)
    assert loopback.shown(loopback.general) == "laid out"
    assert loopback.messages(loopback.general)[0]["flags"] & 1 << 15


async def test_answers_carry_files(loopback: LoopbackDiscord, bot: Bot) -> None:
    interaction = await loopback.slash(loopback.general, "report")
    await loopback.until(lambda: interaction.followups, what="the follow-up")
    assert interaction.response is not None
    shown = [interaction.response, *interaction.followups]
    assert [[a["filename"] for a in m["attachments"]] for m in shown] == [
        ["second.txt"],
        ["third.txt"],
    ]


async def test_an_embed_shows_an_attached_picture(loopback: LoopbackDiscord, bot: Bot) -> None:
    picture = await bot.text(loopback.general).guild.me.display_avatar.read()
    embed = discord.Embed(title="Plot").set_image(url="attachment://plot.png")
    sent = await bot.text(loopback.general).send(
        embed=embed, file=discord.File(io.BytesIO(picture), "plot.png")
    )
    assert sent.embeds[0].image.url == sent.attachments[0].url
    assert (sent.attachments[0].width, sent.attachments[0].height) == (64, 64)
    assert sent.attachments[0].content_type == "image/png"
