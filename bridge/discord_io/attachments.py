"""Files that come with a message, fetched from Discord."""

import aiohttp
import discord

from bridge.discord_io.retry import persist
from state import Attachment

MAX_BYTES = 50 << 20
"""Larger files are not fetched: they would fill the bot's memory and the disk."""


class NotFetched(Exception):
    """A file could not be had; the message says why, for the person."""


class Downloads:
    """Fetches attachments by their address."""

    def __init__(self, client: discord.Client) -> None:
        """`client` does the requests."""
        self._client = client

    async def fetch(self, attachment: Attachment) -> bytes:
        """The whole file. Raises `NotFetched`."""
        if attachment.size > MAX_BYTES:
            raise NotFetched(f"it is larger than {MAX_BYTES >> 20} MB")
        http = self._client.http
        try:
            return await persist("fetch a file", lambda: http.get_from_cdn(attachment.url))
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            raise NotFetched("Discord does not give it out (any more)") from fault
