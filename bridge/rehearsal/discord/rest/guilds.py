"""Routes about the guild, its people, and the gateway's address."""

from collections.abc import Callable, Sequence

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import refusal
from bridge.rehearsal.discord.rest.channels import ChannelRoutes
from bridge.rehearsal.discord.rest.query import snowflake, whole_number
from bridge.rehearsal.discord.rest.routing import Call, Reply, Route
from bridge.rehearsal.discord.world import GUILD_MEMBERS_FLAG, World

_GUILD = "/guilds/{guild_id}"


class GuildRoutes:
    def __init__(self, world: World, channels: ChannelRoutes, gateway: Callable[[], str]) -> None:
        self._world = world
        self._channels = channels
        self._gateway = gateway
        self._me: str = world.bot["id"]

    def table(self) -> Sequence[Route]:
        return (
            Route("GET", "/gateway", self.gateway),
            Route("GET", "/gateway/bot", self.gateway_for_bots),
            Route("GET", "/users/@me", self.me),
            Route("GET", "/users/@me/guilds", self.my_guilds),
            Route("POST", "/users/@me/channels", self.open_dm),
            Route("GET", "/users/{user_id}", self.user),
            Route("GET", _GUILD, self.guild),
            Route("GET", f"{_GUILD}/channels", self.channels),
            Route("GET", f"{_GUILD}/roles", self.roles),
            Route("GET", f"{_GUILD}/threads/active", self.active_threads),
            Route("GET", f"{_GUILD}/members", self.members),
            Route("GET", f"{_GUILD}/members/search", self.search_members),
            Route("GET", f"{_GUILD}/members/{{user_id}}", self.member),
        )

    def gateway(self, call: Call) -> Reply:
        return Reply({"url": self._gateway()})

    def gateway_for_bots(self, call: Call) -> Reply:
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return Reply({"url": self._gateway(), "shards": 1, "session_start_limit": limit})

    def me(self, call: Call) -> Reply:
        private: Json = {"mfa_enabled": False, "locale": "en-US", "verified": True, "email": None}
        return Reply(self._world.bot | private)

    def my_guilds(self, call: Call) -> Reply:
        world = self._world
        about = {key: world.guild[key] for key in ("id", "name", "icon", "banner", "features")}
        granted = world.permissions(self._me, world.general)
        return Reply([about | {"owner": False, "permissions": str(int(granted))}])

    def open_dm(self, call: Call) -> Reply:
        """Nobody here takes private messages."""
        raise refusal(50007)

    def user(self, call: Call) -> Reply:
        return Reply(self._world.user(call["user_id"]))

    def _check_guild(self, call: Call) -> None:
        if call["guild_id"] != self._world.guild_id:
            raise refusal(10004)

    def guild(self, call: Call) -> Reply:
        self._check_guild(call)
        counts: Json = {}
        if call.query.get("with_counts", "").lower() in ("1", "true"):
            people = len(self._world.members)
            counts = {"approximate_member_count": people, "approximate_presence_count": people}
        return Reply(self._world.guild | counts)

    def channels(self, call: Call) -> Reply:
        self._check_guild(call)
        return Reply(list(self._world.guild_channels()))

    def roles(self, call: Call) -> Reply:
        self._check_guild(call)
        return Reply(list(self._world.roles.values()))

    def active_threads(self, call: Call) -> Reply:
        self._check_guild(call)
        active = [
            thread
            for thread in self._world.threads()
            if not thread["thread_metadata"]["archived"]
            and self._world.sees(self._me, thread["id"])
        ]
        newest_first = sorted(active, key=lambda thread: int(thread["id"]), reverse=True)
        return Reply(self._channels.listing(newest_first) | {"has_more": False})

    def member(self, call: Call) -> Reply:
        self._check_guild(call)
        return Reply(self._world.member(call["user_id"]))

    def members(self, call: Call) -> Reply:
        """All members, for an application with the members intent."""
        self._check_guild(call)
        if not self._world.application_flags & GUILD_MEMBERS_FLAG:
            raise refusal(50001)
        limit = whole_number(call, "limit", 1, 1, 1000)
        after = snowflake(call, "after")
        found = sorted((id for id in self._world.members if int(id) > after), key=int)
        return Reply([self._world.members[id] for id in found[:limit]])

    def search_members(self, call: Call) -> Reply:
        self._check_guild(call)
        limit = whole_number(call, "limit", 1, 1, 1000)
        start = call.query.get("query", "").lower()
        found = [
            member
            for member in self._world.members.values()
            if member["user"]["username"].lower().startswith(start)
        ]
        return Reply(found[:limit])
