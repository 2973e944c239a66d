"""The gateway: sessions, their connections, and what each session is told."""

from bridge.rehearsal.discord.gateway.connection import Gateway

__all__ = ["Gateway"]
