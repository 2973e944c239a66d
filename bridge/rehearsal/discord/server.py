"""The loopback Discord: everything put together behind one address on 127.0.0.1."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from aiohttp import web

from bridge.rehearsal.discord import cdn, payloads
from bridge.rehearsal.discord.channels import Channels
from bridge.rehearsal.discord.commands import Commands
from bridge.rehearsal.discord.display import visible_text
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.faults import Faults
from bridge.rehearsal.discord.gateway import Gateway
from bridge.rehearsal.discord.gateway.connection import HEARTBEAT_SECONDS
from bridge.rehearsal.discord.interactions import Deadlines, Interactions
from bridge.rehearsal.discord.marks import Marks
from bridge.rehearsal.discord.messages import Messages
from bridge.rehearsal.discord.people import People
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.ratelimits import Mode, RateLimits
from bridge.rehearsal.discord.rest import Exchange, Rest
from bridge.rehearsal.discord.rest.applications import ApplicationRoutes
from bridge.rehearsal.discord.rest.channels import ChannelRoutes
from bridge.rehearsal.discord.rest.guilds import GuildRoutes
from bridge.rehearsal.discord.rest.messages import MessageRoutes
from bridge.rehearsal.discord.rest.pipeline import BASE
from bridge.rehearsal.discord.rest.routing import Router
from bridge.rehearsal.discord.threads import Threads
from bridge.rehearsal.discord.world import World

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
T = TypeVar("T")

# What one request may carry; above it the answer is 40005.
MAX_REQUEST = 25 << 20


class LoopbackDiscord(People):
    """A guild with one bot: REST v10, gateway v10 and CDN on one port of 127.0.0.1.

    Documents are plain dicts in Discord's shapes and never change in place: ask again for the
    newest. `audit` is called with every REST exchange. `rate_limits="off"` never refuses.
    """

    def __init__(
        self,
        token: str = "rehearsal-token",
        audit: Callable[[Exchange], None] | None = None,
        *,
        rate_limits: Mode = "real",
        deadlines: Deadlines | None = None,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        world, events = World(), Events()
        channels = Channels(world, events)
        messages = Messages(world, events, channels, lambda: self.cdn_url)
        commands = Commands(world)
        super().__init__(
            world,
            events,
            channels,
            messages,
            Marks(world, events, channels, messages),
            Threads(world, events, channels, messages),
            commands,
            Interactions(world, events, messages, deadlines or Deadlines()),
            lambda: self.cdn_url,
        )
        self.token = token
        self.faults = Faults()
        self.url = ""
        self._gateway = Gateway(world, events, self.faults, token, heartbeat)
        self._files = cdn.Cdn(world, self.faults)
        self._mounted: dict[str, Handler] = {}
        self._runner: web.AppRunner | None = None
        self._rest = Rest(
            self._router(), RateLimits(rate_limits), self.faults, events, token, audit
        )

    def _router(self) -> Router:
        channels = ChannelRoutes(self.world, self._channels, self._threads)
        return Router(
            [
                *channels.table(),
                *MessageRoutes(self.world, self._messages, self._marks).table(),
                *GuildRoutes(self.world, channels, lambda: self.gateway_url).table(),
                *ApplicationRoutes(self.world, self.commands, self._interactions).table(),
            ]
        )

    # Life

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; all state survives a `stop` and another `start`."""
        application = web.Application(client_max_size=MAX_REQUEST)
        application.router.add_get("/", self._root)
        application.router.add_route("*", BASE + "/{tail:.*}", self._rest.handle)
        application.router.add_get(cdn.BASE + "/{tail:.*}", self._files.handle)
        for prefix, handler in self._mounted.items():
            if prefix != "/":
                tail = "{tail:.*}" if prefix.endswith("/") else ""
                application.router.add_route("*", prefix + tail, handler)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._gateway.url = self.gateway_url

    async def stop(self) -> None:
        if self._runner is not None:
            await self._gateway.cut()
            await self._runner.cleanup()
            self._runner = None

    def mount(self, prefix: str, handler: Handler) -> None:
        """Serve a path, or with a slash at its end all below it; to be called before `start`."""
        self._mounted[prefix] = handler

    async def _root(self, request: web.Request) -> web.StreamResponse:
        """The gateway's address is the bare host, so a browser's page shares it."""
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._gateway.handle(request)
        handler = self._mounted.get("/")
        return await handler(request) if handler else web.Response(status=404, text="not found")

    @property
    def gateway_url(self) -> str:
        return self.url.replace("http", "ws", 1) + "/"

    @property
    def cdn_url(self) -> str:
        return self.url + cdn.BASE

    # The guild

    @property
    def application_id(self) -> str:
        return self.world.application_id

    @property
    def guild_id(self) -> str:
        return self.world.guild_id

    @property
    def general(self) -> str:
        """The first text channel's id."""
        return self.world.general

    @property
    def bot(self) -> Json:
        return self.world.bot

    @property
    def owner(self) -> Json:
        """The person who owns both the guild and the application."""
        return self.world.owner

    @property
    def application_flags(self) -> int:
        """The portal's switches; without `1 << 19` the message-content intent is refused."""
        return self.world.application_flags

    @application_flags.setter
    def application_flags(self, flags: int) -> None:
        self.world.application_flags = flags

    def add_user(self, name: str, *, bot: bool = False, roles: Sequence[str] = ()) -> Json:
        user = self.world.add_user(name, bot=bot, roles=roles)
        payload = self.world.member(user["id"]) | {"guild_id": self.guild_id}
        self.events.emit("GUILD_MEMBER_ADD", payload)
        return user

    def add_role(self, name: str, permissions: int = 0) -> Json:
        role = self.world.add_role(name, Permission(permissions))
        self.events.emit("GUILD_ROLE_CREATE", {"guild_id": self.guild_id, "role": role})
        return role

    def give_role(self, user_id: str, role_id: str) -> None:
        member = self.world.give_role(user_id, role_id)
        self.events.emit("GUILD_MEMBER_UPDATE", member | {"guild_id": self.guild_id})

    def set_role_permissions(self, role_id: str, permissions: int) -> None:
        """Replace what a role grants; the id of @everyone is the guild's."""
        role = self.world.roles[role_id] | {"permissions": str(int(permissions))}
        self.world.roles[role_id] = role
        self.events.emit("GUILD_ROLE_UPDATE", {"guild_id": self.guild_id, "role": role})

    def overwrite(self, channel_id: str, target: str, *, allow: int = 0, deny: int = 0) -> None:
        """Set a channel's overwrite for a role or a user."""
        kind = 0 if target in self.world.roles else 1
        mine = {"id": target, "type": kind, "allow": str(int(allow)), "deny": str(int(deny))}
        before = self.world.channel(channel_id)["permission_overwrites"]
        others = [overwrite for overwrite in before if overwrite["id"] != target]
        self._channels.change(channel_id, permission_overwrites=[*others, mine])

    def add_channel(self, name: str, kind: int = payloads.TEXT, parent: str | None = None) -> Json:
        return self._channels.announce_new(self.world.add_channel(name, kind, parent))

    def channel(self, id: str) -> Json:
        return self.world.channel(id)

    def channels(self) -> list[Json]:
        return list(self.world.guild_channels())

    def threads(self, parent: str | None = None) -> list[Json]:
        return list(self.world.threads(parent))

    def messages(self, channel_id: str) -> list[Json]:
        """Oldest first; ephemeral answers are found on their Interaction only."""
        return self.world.messages(channel_id)

    # Observation

    @property
    def exchanges(self) -> list[Exchange]:
        return self._rest.exchanges

    @property
    def connected(self) -> bool:
        return self._gateway.connected

    @property
    def identifies(self) -> int:
        return self._gateway.identifies

    @property
    def resumes(self) -> int:
        return self._gateway.resumes

    def shown(self, channel_id: str, author_id: str | None = None) -> str:
        """All that the bot (or another author) shows now, oldest first."""
        author = author_id or self.bot["id"]
        mine = [m for m in self.messages(channel_id) if m["author"]["id"] == author]
        return "\n".join(filter(None, map(visible_text, mine)))

    async def until(
        self,
        predicate: Callable[[], T],
        timeout: float = 10,  # noqa: ASYNC109
        what: str | Callable[[], str] = "",
    ) -> T:
        """The first truthy value of the predicate, which is asked again at every change."""
        return await self.events.until(predicate, timeout, what)

    def subscribe(self) -> asyncio.Queue[tuple[str, Json]]:
        """Every event from now on, those for people only among them."""
        return self.events.subscribe()

    def unsubscribe(self, queue: asyncio.Queue[tuple[str, Json]]) -> None:
        self.events.unsubscribe(queue)

    # The gateway's troubles

    async def cut_gateway(self) -> None:
        """Abort every gateway connection, as a cut cable does; sessions can be resumed."""
        await self._gateway.cut()

    async def invalidate_session(self) -> None:
        await self._gateway.invalidate()

    async def ask_reconnect(self) -> None:
        await self._gateway.ask_reconnect()

    async def close_gateway(self, code: int, reason: str = "") -> None:
        await self._gateway.close(code, reason)
