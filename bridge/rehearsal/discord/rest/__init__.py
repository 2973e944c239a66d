"""The REST API: routes, and the pipeline that every request goes through."""

from bridge.rehearsal.discord.rest.exchange import Exchange
from bridge.rehearsal.discord.rest.pipeline import Rest

__all__ = ["Exchange", "Rest"]
