"""/usage: what was spent, by thread and by day."""

import time

from bridge.slash.desk import Command, Desk, Interaction, command
from bridge.usage import usage_text


def commands(desk: Desk) -> tuple[Command, ...]:
    """The one command."""

    async def usage(interaction: Interaction) -> None:
        answer = await desk.begin(interaction, private=True)
        store, here = desk.services.store, desk.here(interaction)
        await answer.say(
            usage_text(
                here.record if here else None,
                store.threads(),
                store.channels().values(),
                limit=desk.services.config.daily_budget,
                now=time.time(),
            )
        )

    return (command("usage", "Cost and tokens by thread and day, and the budget", usage),)
