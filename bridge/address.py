"""Where Discord is: its own addresses, or another server's (the rehearsal's, a proxy's)."""

import aiohttp
import discord
import discord.gateway
import discord.http
import yarl


async def use(base: str, token: str) -> None:
    """Let discord.py talk to the server at `base`, for example `http://127.0.0.1:8000/api/v10`.

    The gateway follows: the server is asked for it. Raises `aiohttp.ClientError` if it does not
    say. discord.py has no setting for this; these three attributes are what it goes by.
    """
    base = base.rstrip("/")
    headers = {"Authorization": f"Bot {token}"}
    limit = aiohttp.ClientTimeout(total=10)
    async with (
        aiohttp.ClientSession(headers=headers, timeout=limit, raise_for_status=True) as client,
        client.get(f"{base}/gateway") as answer,
    ):
        gateway = yarl.URL((await answer.json())["url"])
    discord.http.Route.BASE = base
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
    setattr(discord.Asset, "BASE", str(yarl.URL(base).origin() / "cdn"))  # noqa: B010 (a Literal)
