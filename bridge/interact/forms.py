"""Forms for a person's own words: a reason, a comment, another answer."""

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import discord

from bridge.access import NOT_ALLOWED
from bridge.interact import verdict
from bridge.interact.acknowledge import acknowledge, whisper
from bridge.protocol import PermissionRequest
from bridge.protocol.questions import questions_of

if TYPE_CHECKING:
    from bridge.interact.approvals import Approvals

log = logging.getLogger(__name__)

EXPIRED = "⌛ This question has expired: it was answered, or its turn is over."
_FORM = re.compile(
    r"form:(?P<request>[A-Za-z0-9_-]{1,64}):(?P<word>why|keep|other\d{1,2}(?:\.\d{1,2})*)"
)
_FORM_TIMEOUT = 900.0
"""Seconds for which discord.py remembers a form; what is sent later counts just as well."""
_LONGEST_WORDS = 4000


class WordsForm(discord.ui.Modal):
    """A form with one field for a person's own words; `submitted` takes them."""

    def __init__(self, request_id: str, word: str) -> None:
        """`word` is that of the button, or of the menu with what else was chosen there."""
        title, label, required = _asked_for(word)
        super().__init__(title=title, custom_id=f"form:{request_id}:{word}", timeout=_FORM_TIMEOUT)
        field: discord.ui.TextInput[WordsForm] = discord.ui.TextInput(
            style=discord.TextStyle.paragraph,
            custom_id="words",
            required=required,
            max_length=_LONGEST_WORDS,
        )
        self.add_item(discord.ui.Label(text=label, component=field))


def opens_form(word: str) -> bool:
    """Whether the button with this word asks for words before it counts."""
    return word in ("why", "keep") or word.startswith("other")


def _asked_for(word: str) -> tuple[str, str, bool]:
    """Title and label of a form, and whether its field must be filled."""
    match word:
        case "why":
            return "Deny with a reason", "What should Claude know?", True
        case "keep":
            return "Keep planning", "What is to be different?", False
        case _:
            return "Another answer", "Your answer", True


async def submitted(approvals: "Approvals", interaction: discord.Interaction[Any]) -> None:
    """Take the words of a form, also of one that was opened before a restart of the bot.

    Interactions of other kinds are none of this.
    """
    data = cast("dict[str, Any]", interaction.data or {})
    found = _FORM.fullmatch(str(data.get("custom_id", "")))
    if interaction.type is not discord.InteractionType.modal_submit or found is None:
        return
    if not await may(approvals, interaction):
        return
    request = approvals.request(found["request"])
    if request is None:
        await whisper(interaction, EXPIRED)
        return
    words, word, by = _field(data), found["word"], interaction.user.display_name
    if not words and _asked_for(word)[2]:
        await whisper(interaction, "That was empty: nothing is answered yet.")
        return
    await told(interaction, _filled(approvals, found["request"], request, word, words, by))


def _filled(
    approvals: "Approvals",
    request_id: str,
    request: PermissionRequest,
    word: str,
    words: str,
    by: str,
) -> bool:
    match word:
        case "why":
            return approvals.answer(request_id, verdict.denied(by, words))
        case "keep":
            return approvals.answer(request_id, verdict.kept_planning(by, words))
        case _:
            index, *chosen = [int(number) for number in word.removeprefix("other").split(".")]
            questions = questions_of(request)
            options = questions[index].options if index < len(questions) else ()
            labels = [options[number].label for number in chosen if number < len(options)]
            return approvals.choose(request_id, index, ", ".join([*labels, words]), by)


def _field(data: Mapping[str, Any]) -> str:
    """What stands in the one field of a form."""
    for part in cast("list[dict[str, Any]]", data.get("components") or []):
        field = cast("dict[str, Any]", part.get("component") or {})
        if field.get("custom_id") == "words":
            return str(field.get("value", "")).strip()
    return ""


async def may(approvals: "Approvals", interaction: discord.Interaction[Any]) -> bool:
    """Let each interaction of a permitted person through once."""
    if not approvals.deliveries.first(interaction):
        return False
    if not approvals.permits(interaction.user):
        await whisper(interaction, NOT_ALLOWED)
        return False
    return True


async def told(interaction: discord.Interaction[Any], counts: bool) -> None:
    """Say that an answer was taken, or came too late."""
    if counts:
        await acknowledge(interaction)
    else:
        await whisper(interaction, EXPIRED)


async def show(interaction: discord.Interaction[Any], form: WordsForm) -> None:
    """Open a form; if Discord does not take it, the person presses again."""
    try:
        await interaction.response.send_modal(form)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
        log.info("a form was not shown: %s", fault)
