"""Starting threads: from a message, on their own, and as posts of a forum."""

from collections.abc import Callable

from bridge.rehearsal.discord import payloads
from bridge.rehearsal.discord.channels import Channels, checked_archive_minutes, checked_name
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.drafts import HAS_THREAD, Draft
from bridge.rehearsal.discord.errors import invalid, refusal, required
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.messages import STARTER, THREAD_CREATED, Messages
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.world import World

MAX_ACTIVE = 1000
DEFAULT_ARCHIVE_MINUTES = 4320


class Threads:
    def __init__(
        self, world: World, events: Events, channels: Channels, messages: Messages
    ) -> None:
        self._world = world
        self._events = events
        self._channels = channels
        self._messages = messages

    def from_message(self, user: str, channel: str, message_id: str, body: Json) -> Json:
        """A public thread that bears its message's id."""
        self._world.require(
            user, channel, Permission.CREATE_PUBLIC_THREADS, Permission.READ_MESSAGE_HISTORY
        )
        parent = self._parent(channel, payloads.TEXT, payloads.ANNOUNCEMENT)
        message = self._world.message(channel, message_id)
        if message_id in self._world.channels:
            raise refusal(160004)
        kind = (
            payloads.PUBLIC_THREAD
            if parent["type"] == payloads.TEXT
            else payloads.ANNOUNCEMENT_THREAD
        )
        thread = self._start(user, message_id, parent, kind, body)
        self._messages.replace(message | {"flags": message["flags"] | HAS_THREAD, "thread": thread})
        reference = self._messages.reference_to(message) | {"type": STARTER}
        self._messages.post_system(message["author"], thread["id"], STARTER, reference)
        return self._world.channel(thread["id"])

    def without_message(self, user: str, channel: str, body: Json) -> Json:
        """A thread of a text channel; private where the request names no type, as on Discord."""
        parent = self._parent(channel, payloads.TEXT, payloads.ANNOUNCEMENT)
        kind = body.get("type") or payloads.PRIVATE_THREAD
        if kind not in payloads.THREADS:
            raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of {10, 11, 12}.")
        self._world.require(
            user,
            channel,
            Permission.CREATE_PRIVATE_THREADS
            if kind == payloads.PRIVATE_THREAD
            else Permission.CREATE_PUBLIC_THREADS,
        )
        thread = self._start(user, self._world.snowflakes.next(), parent, kind, body)
        if kind != payloads.PRIVATE_THREAD:
            notice: Json = {
                "content": thread["name"],
                "message_reference": {
                    "type": 0,
                    "channel_id": thread["id"],
                    "guild_id": thread["guild_id"],
                },
            }
            self._messages.post_system(self._world.user(user), channel, THREAD_CREATED, notice)
        return self._world.channel(thread["id"])

    def in_forum(self, user: str, channel: str, body: Json, first: Callable[[], Draft]) -> Json:
        """A forum post: the thread and its first message, which bears the thread's id."""
        parent = self._parent(channel, payloads.FORUM)
        if not body.get("message"):
            raise required("message")
        self._world.require(user, channel, Permission.SEND_MESSAGES)
        id = self._world.snowflakes.next()
        # Composed in the forum: no thread may exist if its message is refused.
        message = self._messages.compose(self._world.user(user), channel, first(), {"id": id})
        message["channel_id"] = id
        thread = self._start(user, id, parent, payloads.PUBLIC_THREAD, body)
        self._messages.publish(message)
        self._channels.join(thread["id"], user)
        return self._world.channel(id) | {"message": message}

    def _parent(self, channel: str, *kinds: int) -> Json:
        parent = self._world.channel(channel)
        if parent["type"] not in kinds:
            raise refusal(50024)
        return parent

    def _start(self, user: str, id: str, parent: Json, kind: int, body: Json) -> Json:
        world = self._world
        active = sum(not t["thread_metadata"]["archived"] for t in world.threads())
        if active >= MAX_ACTIVE:
            raise refusal(160006)
        minutes = body.get("auto_archive_duration")
        thread = payloads.thread(
            id,
            parent,
            checked_name(body.get("name")),
            kind,
            user,
            auto_archive=DEFAULT_ARCHIVE_MINUTES
            if minutes is None
            else checked_archive_minutes(minutes),
            slowmode=body.get("rate_limit_per_user") or 0,
        )
        if parent["type"] == payloads.FORUM:
            thread["applied_tags"] = [str(tag) for tag in body.get("applied_tags") or ()]
            world.keep_channel(parent | {"last_message_id": id})
        member = payloads.thread_member(id, user)
        thread["member_count"] = 1
        if user == world.bot["id"]:
            thread["member"] = member
        world.thread_members[id] = {user: member}
        world.keep_channel(thread)
        self._events.emit("THREAD_CREATE", thread | {"newly_created": True}, channel=id)
        return thread
