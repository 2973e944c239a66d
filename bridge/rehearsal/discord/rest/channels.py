"""Routes under /channels that concern channels and threads themselves."""

from collections.abc import Iterable, Sequence

from bridge.rehearsal.discord import drafts, payloads
from bridge.rehearsal.discord.channels import Channels
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import refusal
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.rest.query import whole_number
from bridge.rehearsal.discord.rest.routing import Call, Reply, Route
from bridge.rehearsal.discord.threads import Threads
from bridge.rehearsal.discord.world import World

_CHANNEL = "/channels/{channel_id}"


class ChannelRoutes:
    def __init__(self, world: World, channels: Channels, threads: Threads) -> None:
        self._world = world
        self._channels = channels
        self._threads = threads
        self._me: str = world.bot["id"]

    def table(self) -> Sequence[Route]:
        members = f"{_CHANNEL}/thread-members"
        archived = f"{_CHANNEL}/threads/archived"
        return (
            Route("GET", _CHANNEL, self.get),
            Route("PATCH", _CHANNEL, self.edit),
            Route("DELETE", _CHANNEL, self.delete),
            Route("POST", f"{_CHANNEL}/typing", self.typing),
            Route("POST", f"{_CHANNEL}/threads", self.start),
            Route("POST", f"{_CHANNEL}/messages/{{message_id}}/threads", self.start_from_message),
            Route("GET", f"{archived}/public", self.archived_public),
            Route("GET", f"{archived}/private", self.archived_private),
            Route("GET", members, self.members),
            Route("PUT", f"{members}/@me", self.join),
            Route("DELETE", f"{members}/@me", self.leave),
            Route("GET", f"{members}/{{user_id}}", self.member),
            Route("PUT", f"{members}/{{user_id}}", self.add_member),
            Route("DELETE", f"{members}/{{user_id}}", self.remove_member),
        )

    def get(self, call: Call) -> Reply:
        self._world.require(self._me, call["channel_id"])
        return Reply(self._world.channel(call["channel_id"]))

    def edit(self, call: Call) -> Reply:
        return Reply(self._channels.edit(self._me, call["channel_id"], call.form))

    def delete(self, call: Call) -> Reply:
        channel = self._world.channel(call["channel_id"])
        needed = (
            Permission.MANAGE_THREADS if payloads.is_thread(channel) else Permission.MANAGE_CHANNELS
        )
        self._world.require(self._me, channel["id"], needed)
        return Reply(self._channels.delete(channel["id"]))

    def typing(self, call: Call) -> Reply:
        self._channels.typing(self._me, call["channel_id"])
        return Reply()

    def start(self, call: Call) -> Reply:
        channel = self._world.channel(call["channel_id"])
        if channel["type"] == payloads.FORUM:
            thread = self._threads.in_forum(
                self._me,
                channel["id"],
                call.form,
                lambda: drafts.parse(call.form["message"], call.files),
            )
        else:
            thread = self._threads.without_message(self._me, channel["id"], call.form)
        return Reply(thread, 201)

    def start_from_message(self, call: Call) -> Reply:
        thread = self._threads.from_message(
            self._me, call["channel_id"], call["message_id"], call.form
        )
        return Reply(thread, 201)

    def archived_public(self, call: Call) -> Reply:
        self._world.require(self._me, call["channel_id"], Permission.READ_MESSAGE_HISTORY)
        return Reply(self._archived(call, {payloads.PUBLIC_THREAD, payloads.ANNOUNCEMENT_THREAD}))

    def archived_private(self, call: Call) -> Reply:
        self._world.require(
            self._me,
            call["channel_id"],
            Permission.READ_MESSAGE_HISTORY,
            Permission.MANAGE_THREADS,
        )
        return Reply(self._archived(call, {payloads.PRIVATE_THREAD}))

    def _archived(self, call: Call, kinds: set[int]) -> Json:
        """Archived threads of some kinds, the one archived last first."""
        limit = whole_number(call, "limit", 50, 2, 100)
        before = call.query.get("before")
        found = [
            thread
            for thread in self._world.threads(call["channel_id"])
            if thread["type"] in kinds
            and thread["thread_metadata"]["archived"]
            and (before is None or thread["thread_metadata"]["archive_timestamp"] < before)
        ]
        found.sort(key=lambda thread: thread["thread_metadata"]["archive_timestamp"], reverse=True)
        return self.listing(found[:limit]) | {"has_more": len(found) > limit}

    def listing(self, threads: Iterable[Json]) -> Json:
        """Threads with the bot's own memberships, as all of Discord's thread lists have them."""
        listed = list(threads)
        return {
            "threads": listed,
            "members": [
                self._world.thread_members[thread["id"]][self._me]
                for thread in listed
                if self._me in self._world.thread_members.get(thread["id"], {})
            ],
        }

    # Members

    def _thread(self, call: Call) -> str:
        self._world.require(self._me, call["channel_id"])
        if not payloads.is_thread(self._world.channel(call["channel_id"])):
            raise refusal(50024)
        return call["channel_id"]

    def members(self, call: Call) -> Reply:
        return Reply(list(self._world.thread_members.get(self._thread(call), {}).values()))

    def member(self, call: Call) -> Reply:
        member = self._world.thread_members.get(self._thread(call), {}).get(call["user_id"])
        if member is None:
            raise refusal(10007)
        return Reply(member)

    def join(self, call: Call) -> Reply:
        thread = self._thread(call)
        self._channels.require_active(thread)
        self._channels.join(thread, self._me)
        return Reply()

    def leave(self, call: Call) -> Reply:
        thread = self._thread(call)
        self._channels.require_active(thread)
        self._channels.leave(thread, self._me)
        return Reply()

    def add_member(self, call: Call) -> Reply:
        thread = self._thread(call)
        self._channels.require_active(thread)
        self._world.require(self._me, thread, Permission.SEND_MESSAGES_IN_THREADS)
        self._channels.join(thread, self._world.user(call["user_id"])["id"])
        return Reply()

    def remove_member(self, call: Call) -> Reply:
        thread = self._thread(call)
        self._channels.require_active(thread)
        self._world.require(self._me, thread, Permission.MANAGE_THREADS)
        self._channels.leave(thread, call["user_id"])
        return Reply()
