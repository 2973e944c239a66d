"""/model, /effort, /verbosity, /queue-mode: what a thread, or a channel's new threads, choose.

In a thread a choice counts at once, in the process that lives, too; in a channel it is what new
threads begin with.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import discord
from discord import app_commands

from bridge import tuning
from bridge.conversation import Conversation
from bridge.process import LiveProcess
from bridge.render.inline import code
from bridge.slash.desk import NOT_A_SESSION, Command, Complete, Desk, Interaction, command
from bridge.tuning import DEFAULT, Applied
from state import Channel, Record, Settings

Tell = Callable[[LiveProcess | None, str | None], Awaitable[Applied]]


def commands(desk: Desk) -> tuple[Command, ...]:
    """The four commands."""
    config = desk.services.config

    @app_commands.describe(model="A name such as opus, or a model's full name; default goes back")
    async def model(interaction: Interaction, model: str) -> None:
        answer = await desk.begin(interaction, private=False)
        name = model.strip()
        if not tuning.possible_model(name):
            await answer.say("That is no model's name. Choose one of the list, or a full name.")
            return
        told = await _choose(
            desk,
            interaction,
            "model",
            name,
            lambda process, value: tuning.set_model(process, value, config),
        )
        if not tuning.known_model(name, config):
            told += "\nThe CLI does not list this name; `/model default` goes back."
        await answer.say(told)

    @app_commands.describe(effort="How much Claude thinks; default goes back")
    async def effort(interaction: Interaction, effort: str) -> None:
        await one_of(
            interaction,
            "effort",
            effort,
            tuning.EFFORTS,
            lambda process, value: tuning.set_effort(process, value, config),
        )

    @app_commands.describe(verbosity="How much of Claude's work is shown; default goes back")
    async def verbosity(interaction: Interaction, verbosity: str) -> None:
        await one_of(interaction, "verbosity", verbosity, tuning.VERBOSITIES)

    @app_commands.describe(mode="What a message does while Claude works; default goes back")
    async def queue_mode(interaction: Interaction, mode: str) -> None:
        await one_of(interaction, "queue_mode", mode, tuning.QUEUE_MODES)

    async def one_of(
        interaction: Interaction,
        field: str,
        value: str,
        possible: tuple[str, ...],
        tell: Tell | None = None,
    ) -> None:
        answer = await desk.begin(interaction, private=False)
        name = value.strip().lower()
        if name in possible:
            await answer.say(await _choose(desk, interaction, field, name, tell))
        else:
            await answer.say(f"There is no {code(value)}. Choose one of {', '.join(possible)}.")

    async def models(interaction: Interaction, typed: str) -> Iterable[tuple[str, str]]:
        used = [record.usage.model for record in _here(desk, interaction)]
        names = dict.fromkeys((*tuning.MODELS, config.model, *used))
        return _offered(filter(None, names), typed)

    return (
        command("model", "By which model Claude answers", model, model=models),
        command("effort", "How much Claude thinks", effort, effort=_among(tuning.EFFORTS)),
        command(
            "verbosity",
            "How much of Claude's work is shown",
            verbosity,
            verbosity=_among(tuning.VERBOSITIES),
        ),
        command(
            "queue-mode",
            "What a message does while Claude works",
            queue_mode,
            mode=_among(tuning.QUEUE_MODES),
        ),
    )


def _here(desk: Desk, interaction: Interaction) -> list[Record]:
    conversation = desk.here(interaction)
    return [conversation.record] if conversation else []


def _among(values: tuple[str, ...]) -> Complete:
    async def offer(_: Interaction, typed: str) -> Iterable[tuple[str, str]]:
        return _offered(values, typed)

    return offer


def _offered(values: Iterable[str], typed: str) -> list[tuple[str, str]]:
    """Those that have what was typed in them."""
    return [(value, value) for value in values if typed.strip().lower() in value.lower()]


async def _choose(
    desk: Desk, interaction: Interaction, field: str, name: str, tell: Tell | None
) -> str:
    """Keep a choice, tell the process that lives, and say what holds now."""
    value = None if name == DEFAULT else name
    label = field.replace("_", " ").capitalize()
    conversation = desk.here(interaction)
    store = desk.services.store
    if conversation is None:
        channel = interaction.channel_id
        if channel is None or isinstance(interaction.channel, discord.Thread):
            return NOT_A_SESSION
        store.update_channel(
            channel, lambda c: Channel.model_copy(c, update={"settings": _set(c, field, value)})
        )
        await store.durable()
        return f"⚙️ **{label}** of new threads in this channel: {code(name)}."
    store.update(
        conversation.thread, lambda r: r.model_copy(update={"settings": _set(r, field, value)})
    )
    await store.durable()
    applied = await tell(conversation.session.process, value) if tell else Applied()
    return f"⚙️ **{label}** of this thread: {code(name)}{_when(conversation, tell, applied)}"


def _set(of: Record | Channel, field: str, value: str | None) -> Settings:
    changes: dict[str, Any] = {field: value}
    return of.settings.model_copy(update=changes)


def _when(conversation: Conversation, tell: Tell | None, applied: Applied) -> str:
    if applied.refused:
        return f", from its next process on: the one that runs refuses ({code(applied.refused)})."
    exact = f" ({code(applied.resolved)})" if applied.resolved else ""
    if tell is None:
        return "."
    if applied.live and conversation.active is not None:
        return f"{exact}, from the next request of the turn that runs on."
    return f"{exact}, from the next message on."
