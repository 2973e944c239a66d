"""What a visitor of the page may do: one small document for each deed, checked at the border."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from bridge.rehearsal.discord import Interaction, LoopbackDiscord

CHOICES_SECONDS = 3.5
"""A little longer than Discord itself waits for the choices of an option."""


class Visitor:
    """The person at the page; remembers the interactions that may still ask for an answer."""

    def __init__(self, discord: LoopbackDiscord) -> None:
        self.discord = discord
        self._interactions: dict[str, Interaction] = {}

    def began(self, interaction: Interaction) -> dict[str, Any]:
        self._interactions[interaction.id] = interaction
        return {"interaction": interaction.id}

    def interaction(self, id: str) -> Interaction:
        if id not in self._interactions:
            raise ValueError("This dialog is no longer open.")
        return self._interactions[id]


def _scalar(value: Any) -> Any:
    if not isinstance(value, str | bool | int | float):
        raise ValueError("an option is a text, a number or a truth value")
    return value


class Deed(BaseModel, ABC):
    """One thing that a visitor does; the answer goes back to the page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    async def do(self, visitor: Visitor) -> dict[str, Any]: ...


class OnMessage(Deed, ABC):
    channel: str
    message: str


class Edit(OnMessage):
    content: str

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        discord = visitor.discord
        shown = discord.world.message(self.channel, self.message)
        if shown["author"]["id"] != discord.owner["id"]:
            raise ValueError("Only your own messages can be edited.")
        await discord.edit(self.channel, self.message, self.content)
        return {}


class Delete(OnMessage):
    async def do(self, visitor: Visitor) -> dict[str, Any]:
        await visitor.discord.delete(self.channel, self.message)
        return {}


class React(OnMessage):
    emoji: str
    add: bool = True

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        discord = visitor.discord
        change = discord.react if self.add else discord.unreact
        await change(self.channel, self.message, self.emoji)
        return {}


class Press(OnMessage):
    custom_id: str

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        pressed = await visitor.discord.press(self.channel, self.message, self.custom_id)
        return visitor.began(pressed)


class Select(OnMessage):
    custom_id: str
    values: list[str]

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        chosen = await visitor.discord.select(
            self.channel, self.message, self.custom_id, self.values
        )
        return visitor.began(chosen)


# Any by type, a scalar by check: what an option really takes is the loopback Discord's to say.
OptionValue = Annotated[Any, AfterValidator(_scalar)]


class Slash(Deed):
    channel: str
    command: str
    options: dict[str, OptionValue] = {}

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        ran = await visitor.discord.slash(self.channel, self.command, **self.options)
        return visitor.began(ran)


class Autocomplete(Deed):
    channel: str
    command: str
    option: str
    value: str
    others: dict[str, OptionValue] = {}

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        asked = await visitor.discord.autocomplete(
            self.channel, self.command, self.option, self.value, **self.others
        )
        try:
            await asked.acked(CHOICES_SECONDS)
        except AssertionError as error:
            raise ValueError("Loading options failed.") from error
        return {"choices": asked.choices or []}


class Submit(Deed):
    interaction: str
    values: dict[str, str | list[str]]

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        opener = visitor.interaction(self.interaction)
        return visitor.began(await visitor.discord.submit(opener, self.values))


class Thread(Deed):
    channel: str
    name: str
    message: str | None = None
    content: str = ""

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        made = await visitor.discord.create_thread(
            self.channel, self.name, message_id=self.message, content=self.content
        )
        return {"channel": made["id"]}


class Typing(Deed):
    channel: str

    async def do(self, visitor: Visitor) -> dict[str, Any]:
        await visitor.discord.type(self.channel)
        return {}


DEEDS: Mapping[str, type[Deed]] = {
    "edit": Edit,
    "delete": Delete,
    "react": React,
    "press": Press,
    "select": Select,
    "slash": Slash,
    "autocomplete": Autocomplete,
    "submit": Submit,
    "thread": Thread,
    "typing": Typing,
}
