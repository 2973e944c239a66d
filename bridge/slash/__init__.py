"""The slash commands for sessions, settings, folders and spending."""

from bridge.slash.answer import Answer, offer_nothing
from bridge.slash.commands import commands
from bridge.slash.desk import Desk

__all__ = ["Answer", "Desk", "commands", "offer_nothing"]
