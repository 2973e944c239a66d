"""Reads Discord over REST, with the bot's token and nothing of discord.py.

Refused   Discord answered with an error; httpx.HTTPError tells that it did not answer
"""

import ssl
from types import TracebackType
from typing import Self, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter

from bridge.doctor.permissions import Channel, Guild, Member

__all__ = ["OFFICIAL", "Application", "MyGuild", "Refused", "Rest", "User"]

OFFICIAL = "https://discord.com/api/v10"

_AGENT = "DiscordBot (https://pypi.org/project/claude-thread-bridge, 0)"  # the form is Discord's

_T = TypeVar("_T")


class Refused(Exception):
    """Discord's answer was an error: `status` of HTTP, `code` and `message` of Discord."""

    def __init__(self, status: int, code: int, message: str) -> None:
        self.status = status
        self.code = code
        self.message = message
        super().__init__(f"{status} {message} ({code})")


class User(BaseModel):
    id: int
    username: str


class TeamMember(BaseModel):
    user: User


class Team(BaseModel):
    name: str
    members: tuple[TeamMember, ...]


class Application(BaseModel):
    id: int
    name: str
    flags: int = 0
    owner: User | None = None
    team: Team | None = None


class MyGuild(BaseModel):
    """A server that the bot has joined, and what it may do there before any overwrite."""

    id: int
    name: str
    permissions: int


class _Error(BaseModel):
    code: int = 0
    message: str = ""


class Rest:
    """The few questions that the doctor has; use as a context manager."""

    def __init__(self, token: str, base: str) -> None:
        # Proxies of the environment are left alone because discord.py does not use them either:
        # what is found out here is to hold for the bot.
        self._client = httpx.AsyncClient(
            base_url=base,
            headers={"Authorization": f"Bot {token}", "User-Agent": _AGENT},
            timeout=10,
            trust_env=False,
            verify=ssl.create_default_context(),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.aclose()

    async def me(self) -> User:
        return await self._get("/users/@me", User)

    async def application(self) -> Application:
        return await self._get("/oauth2/applications/@me", Application)

    async def guilds(self) -> tuple[MyGuild, ...]:
        return await self._get("/users/@me/guilds", tuple[MyGuild, ...])

    async def guild(self, guild: int) -> Guild:
        return await self._get(f"/guilds/{guild}", Guild)

    async def member(self, guild: int, user: int) -> Member:
        """A member by id; Discord puts the id one level down, in `user`."""
        found = await self._get(f"/guilds/{guild}/members/{user}", _Member)
        return Member(id=user, roles=found.roles)

    async def channel(self, channel: int) -> Channel:
        return await self._get(f"/channels/{channel}", Channel)

    async def _get(self, path: str, kind: type[_T]) -> _T:
        response = await self._client.get(path)
        if response.is_success:
            return TypeAdapter(kind).validate_json(response.content)
        try:
            error = _Error.model_validate_json(response.content)
        except ValueError:  # a proxy's or Cloudflare's page
            error = _Error()
        raise Refused(
            response.status_code, error.code, error.message or response.reason_phrase or "refused"
        )


class _Member(BaseModel):
    roles: frozenset[int]
