"""A real discord.py client in front of the loopback Discord."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import discord
import discord.gateway
import discord.http
import yarl
from discord import app_commands

from bridge.rehearsal.discord import LoopbackDiscord

# A plain HTTP request below /api/v10: method, path -> the response and its JSON.
Ask = Callable[..., Awaitable[tuple[aiohttp.ClientResponse, Any]]]

INTENTS = discord.Intents(
    guilds=True, guild_messages=True, message_content=True, guild_reactions=True
)


class Bot(discord.Client):
    """Does nothing by itself; tests add commands and listeners before `running` starts it."""

    def __init__(self, intents: discord.Intents = INTENTS, **options: Any) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.02, **options)
        self.tree: app_commands.CommandTree[Any] = app_commands.CommandTree(self)
        self.unhandled: list[BaseException] = []
        self.tree.error(self._on_command_error)

    async def setup_hook(self) -> None:
        if self.tree.get_commands():
            await self.tree.sync()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """The library waits five seconds here before a second IDENTIFY."""

    async def _on_command_error(
        self, _: discord.Interaction[Any], error: app_commands.AppCommandError
    ) -> None:
        self.unhandled.append(error)

    def text(self, id: str) -> discord.TextChannel:
        channel = self.get_channel(int(id))
        assert isinstance(channel, discord.TextChannel)
        return channel

    async def thread(self, id: str) -> discord.Thread:
        thread = await self.fetch_channel(int(id))
        assert isinstance(thread, discord.Thread)
        return thread


@contextmanager
def pointed_at(loopback: LoopbackDiscord) -> Generator[None]:
    """discord.py's three addresses, and nothing else of it."""
    route, socket, asset = discord.http.Route, discord.gateway.DiscordWebSocket, discord.Asset
    before = route.BASE, socket.DEFAULT_GATEWAY, asset.BASE
    route.BASE = f"{loopback.url}/api/v10"
    socket.DEFAULT_GATEWAY = yarl.URL(loopback.gateway_url)
    asset.BASE = loopback.cdn_url  # pyright: ignore[reportAttributeAccessIssue] - a str to us
    try:
        yield
    finally:
        route.BASE, socket.DEFAULT_GATEWAY, asset.BASE = before


@asynccontextmanager
async def running(loopback: LoopbackDiscord, bot: Bot) -> AsyncGenerator[Bot]:
    """The bot, logged in and ready; a crash of its connection fails the test."""
    with pointed_at(loopback):
        async with bot:
            await bot.login(loopback.token)
            connection = asyncio.create_task(bot.connect())
            ready = asyncio.create_task(bot.wait_until_ready())
            await asyncio.wait({connection, ready}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if connection.done():
                await connection
            yield bot
        await connection
    assert not bot.unhandled
