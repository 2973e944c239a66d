"""A Discord of our own on 127.0.0.1, strict enough that a bot cannot tell it from the real one."""

from bridge.rehearsal.discord.errors import ApiError
from bridge.rehearsal.discord.faults import Faults
from bridge.rehearsal.discord.interactions import Deadlines, Interaction
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.rest import Exchange
from bridge.rehearsal.discord.server import LoopbackDiscord

__all__ = [
    "ApiError",
    "Deadlines",
    "Exchange",
    "Faults",
    "Interaction",
    "LoopbackDiscord",
    "Permission",
]
