"""All commands of this package."""

from bridge.slash import choosing, folders, sessions, spending
from bridge.slash.desk import Command, Desk


def commands(desk: Desk) -> tuple[Command, ...]:
    """Made for one bot; the tree that they are added to checks who may give them."""
    return (
        *sessions.commands(desk),
        *choosing.commands(desk),
        *folders.commands(desk),
        *spending.commands(desk),
    )
