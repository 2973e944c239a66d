"""Files that come with a message, fetched from Discord."""

import aiohttp
import discord

from bridge.discord_io.retry import persist
from state import Attachment

MAX_BYTES = 50 << 20
"""What one message may bring: more would fill the bot's memory and the disk."""


class NotFetched(Exception):
    """A file could not be had; the message says why, for the person."""


class Downloads:
    """Fetches attachments by their address."""

    def __init__(self, client: discord.Client) -> None:
        """`client` does the requests."""
        self._client = client

    async def fetch(self, attachment: Attachment, room: int = MAX_BYTES) -> bytes:
        """The whole file, if it has no more than `room` bytes. Raises `NotFetched`."""
        if attachment.size > MAX_BYTES:
            raise NotFetched(f"it is larger than {MAX_BYTES >> 20} MB")
        if attachment.size > room:
            raise NotFetched(f"the message has more than {MAX_BYTES >> 20} MB of files")
        http = self._client.http
        try:
            return await persist("fetch a file", lambda: http.get_from_cdn(attachment.url))
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            raise NotFetched("Discord does not give it out (any more)") from fault
