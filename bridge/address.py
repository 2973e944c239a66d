"""Where Discord is: its own addresses, or another server's (the rehearsal's, a proxy's)."""

import httpx
import yarl


async def use(base: str, token: str) -> None:
    """Let discord.py talk to the server at `base`, for example `http://127.0.0.1:8000/api/v10`.

    The gateway follows: the server is asked for it. Raises `httpx.HTTPError` if it does not say.
    discord.py has no setting for this; these three attributes are what it reads addresses from.
    """
    import discord.gateway
    import discord.http

    base = base.rstrip("/")
    async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
        answer = await client.get(f"{base}/gateway", headers={"Authorization": f"Bot {token}"})
        answer.raise_for_status()
        gateway = yarl.URL(answer.json()["url"])
    discord.http.Route.BASE = base
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
    setattr(discord.Asset, "BASE", str(yarl.URL(base).origin() / "cdn"))  # noqa: B010 (typed Literal)
