"""The buttons, menus and forms below a request; found again by their ids after a restart."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import discord

from bridge.interact import verdict
from bridge.interact.acknowledge import whisper
from bridge.interact.forms import EXPIRED, WordsForm, may, opens_form, show, told
from bridge.interact.grant import grant_of
from bridge.protocol import PermissionRequest
from bridge.protocol.questions import PLAN, Asked, Choice, questions_of
from bridge.render.inline import one_line
from bridge.render.measure import clip
from bridge.render.reply import clean

if TYPE_CHECKING:
    from bridge.interact.approvals import Approvals

OTHER = "other"
MOST_QUESTIONS = 4
"""Menus that a message holds beside the row of buttons."""
MOST_CHOICES = 12
_BUTTONS_IN_A_ROW = 5


def controls(
    request_id: str, request: PermissionRequest, answers: Mapping[int, str]
) -> discord.ui.View:
    """What a person can do about a request; `answers` has what was said so far to which question.

    Its items work by their ids alone, so that the view itself is not kept.
    """
    view = discord.ui.View(timeout=None)
    for item in _items(request_id, request, answers):
        view.add_item(item)
    return view


def can_be_chosen(questions: tuple[Asked, ...]) -> bool:
    """Whether the questions fit below a message."""
    return 1 <= len(questions) <= MOST_QUESTIONS and all(
        len(asked.options) <= MOST_CHOICES for asked in questions
    )


def _items(
    request_id: str, request: PermissionRequest, answers: Mapping[int, str]
) -> list[discord.ui.Item[Any]]:
    def button(word: str, label: str, style: discord.ButtonStyle, row: int) -> "AnswerButton":
        return AnswerButton(request_id, word, label, style, row)

    green, grey, red = (
        discord.ButtonStyle.success,
        discord.ButtonStyle.secondary,
        discord.ButtonStyle.danger,
    )
    if request.tool_name == PLAN:
        return [
            button("approve", "Approve", green, 0),
            button("edits", "Approve and auto-accept edits", green, 0),
            button("keep", "Keep planning", grey, 0),
        ]
    questions = questions_of(request)
    if not questions:
        session = [button("session", "Allow for this session", green, 0)]
        return [
            button("allow", "Allow", green, 0),
            *(session if grant_of(request) else []),
            button("deny", "Deny", red, 0),
            button("why", "Deny with a reason", red, 0),
        ]
    items: list[discord.ui.Item[Any]] = []
    first, skip_row = questions[0], len(questions)
    if len(questions) == 1 and not first.several and len(first.options) < _BUTTONS_IN_A_ROW:
        blue = discord.ButtonStyle.primary
        for number, option in enumerate(first.options):
            items.append(button(f"pick0.{number}", _label(option, 80), blue, 0))
        items.append(button("other0", "Other …", grey, 0))
    else:
        for index, asked in enumerate(questions):
            items.append(ChoiceMenu(request_id, index, asked, answers.get(index)))
    return [*items, button("skip", "Do not answer", red, skip_row)]


def _label(option: Choice, limit: int) -> str:
    return clip(clean(one_line(option.label)), limit) or "…"


class AnswerButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"ask:(?P<request>[A-Za-z0-9_-]{1,64}):(?P<word>[a-z]+[0-9.]*)",
):
    """One answer to a request, or the way to the form for one."""

    def __init__(
        self,
        request_id: str,
        word: str,
        label: str = "…",
        style: discord.ButtonStyle = discord.ButtonStyle.secondary,
        row: int | None = None,
        approvals: "Approvals | None" = None,
    ) -> None:
        """`word` says which answer; `approvals` take it."""
        self._approvals = approvals
        self._request_id = request_id
        self._word = word
        super().__init__(
            discord.ui.Button(
                label=label, style=style, custom_id=f"ask:{request_id}:{word}", row=row
            )
        )

    @classmethod
    async def from_custom_id(
        cls,
        interaction: discord.Interaction[Any],
        item: discord.ui.Item[Any],
        match: re.Match[str],
        /,
    ) -> "AnswerButton":
        """Make the button of a pressed id."""
        return cls(match["request"], match["word"], approvals=interaction.client.approvals)

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        """Pass the word on, and acknowledge: neither waits for the other."""
        approvals = self._approvals or interaction.client.approvals
        if not await may(approvals, interaction):
            return
        request = approvals.request(self._request_id)
        if request is None:
            await whisper(interaction, EXPIRED)
        elif opens_form(self._word):
            await show(interaction, WordsForm(self._request_id, self._word))
        else:
            by = interaction.user.display_name
            await told(interaction, self._press(approvals, request, by))

    def _press(self, approvals: "Approvals", request: PermissionRequest, by: str) -> bool:
        match self._word:
            case "allow":
                said = verdict.allowed(request, by)
            case "session":
                said = verdict.allowed_for_session(request, by)
            case "deny":
                said = verdict.denied(by)
            case "approve":
                said = verdict.approved(request, by)
            case "edits":
                said = verdict.approved(request, by, edits=True)
            case "skip":
                said = verdict.unanswered(by)
            case word:
                return _pick(approvals, self._request_id, request, word, by)
        return approvals.answer(self._request_id, said)


def _pick(
    approvals: "Approvals", request_id: str, request: PermissionRequest, word: str, by: str
) -> bool:
    """The button of one choice was pressed."""
    found = re.fullmatch(r"pick(\d+)\.(\d+)", word)
    questions = questions_of(request)
    if found is None or int(found[1]) >= len(questions):
        return False
    options = questions[int(found[1])].options
    if int(found[2]) >= len(options):
        return False
    return approvals.choose(request_id, int(found[1]), options[int(found[2])].label, by)


class ChoiceMenu(
    discord.ui.DynamicItem[discord.ui.Select[discord.ui.View]],
    template=r"pick:(?P<request>[A-Za-z0-9_-]{1,64}):(?P<index>\d{1,2})",
):
    """The menu of one question."""

    def __init__(
        self, request_id: str, index: int, asked: Asked | None = None, said: str | None = None
    ) -> None:
        """`said` is the answer so far."""
        self._request_id = request_id
        self._index = index
        options = _options(asked, said) if asked else [discord.SelectOption(label="…")]
        about = (asked.header or asked.question) if asked else "…"
        super().__init__(
            discord.ui.Select(
                custom_id=f"pick:{request_id}:{index}",
                placeholder=clip(clean(one_line(said or about)), 150) or "…",
                options=options,
                max_values=len(options) if asked and asked.several else 1,
                row=index,
            )
        )

    @classmethod
    async def from_custom_id(
        cls,
        interaction: discord.Interaction[Any],
        item: discord.ui.Item[Any],
        match: re.Match[str],
        /,
    ) -> "ChoiceMenu":
        """Make the menu of a used id."""
        return cls(match["request"], int(match["index"]))

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        """Take what was chosen; *Other* asks for it in a form."""
        approvals: Approvals = interaction.client.approvals
        if not await may(approvals, interaction):
            return
        request = approvals.request(self._request_id)
        questions = questions_of(request) if request else ()
        if self._index >= len(questions):
            await whisper(interaction, EXPIRED)
            return
        data = cast("dict[str, Any]", interaction.data or {})
        chosen = [str(value) for value in data.get("values", ())]
        options = questions[self._index].options
        numbers = [int(value) for value in chosen if value.isdecimal()]
        labels = [options[number].label for number in numbers if number < len(options)]
        if OTHER in chosen:
            word = ".".join([f"other{self._index}", *map(str, numbers)])
            await show(interaction, WordsForm(self._request_id, word))
        elif labels:
            by = interaction.user.display_name
            words = ", ".join(labels)
            await told(interaction, approvals.choose(self._request_id, self._index, words, by))


def _options(asked: Asked, said: str | None) -> list[discord.SelectOption]:
    parts = said.split(", ") if said and asked.several else []
    chosen = {said, *parts}
    options = [
        discord.SelectOption(
            label=_label(option, 100),
            value=str(number),
            description=clip(clean(one_line(option.description)), 100) or None,
            default=option.label in chosen,
        )
        for number, option in enumerate(asked.options)
    ]
    if not asked.several:  # one at most, also where two choices have the same words
        first = next((option for option in options if option.default), None)
        for option in options:
            option.default = option is first
    return [*options, discord.SelectOption(label="Other …", value=OTHER)]
