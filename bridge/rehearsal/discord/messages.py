"""Messages: posting, editing, deleting, and telling everyone."""

import asyncio
from collections.abc import Callable

from bridge.rehearsal.discord import components, drafts, embeds, files, mentions, payloads
from bridge.rehearsal.discord.channels import Channels
from bridge.rehearsal.discord.document import Json, part, timestamp
from bridge.rehearsal.discord.drafts import COMPONENTS_V2, Draft
from bridge.rehearsal.discord.errors import ApiError, invalid, refusal
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.world import World

# How long Discord remembers a nonce ("the past few minutes").
NONCE_SECONDS = 300.0

DEFAULT, PINNED, THREAD_CREATED, REPLY, COMMAND, STARTER = 0, 6, 18, 19, 20, 21
_WRITTEN_BY_PEOPLE = frozenset({DEFAULT, REPLY, COMMAND, 23})


class Messages:
    """Acts on messages for a user under that user's permissions, and tells everyone."""

    def __init__(
        self, world: World, events: Events, channels: Channels, cdn: Callable[[], str]
    ) -> None:
        self._world = world
        self._events = events
        self._channels = channels
        self._cdn = cdn
        self._nonces: dict[tuple[str, str], tuple[Json, float]] = {}

    # Posting

    def post(self, author: Json, channel: str, draft: Draft) -> Json:
        """A user's own message; a nonce seen before answers with the message it made."""
        if draft.enforce_nonce and (known := self._by_nonce(author["id"], draft.nonce)):
            return known
        self._check_may_post(author["id"], channel, draft)
        extra: Json = {}
        if draft.reference is not None:
            extra = self._reply(author["id"], channel, draft.reference)
        message = self.compose(author, channel, draft, extra)
        self._channels.ready_for_post(author["id"], channel)
        if payloads.is_thread(self._world.channel(channel)):
            for person in (author, *message["mentions"]):
                self._channels.join(channel, person["id"])
        self.publish(message)
        if draft.nonce is not None:
            key = (author["id"], draft.nonce)
            self._nonces[key] = (message, asyncio.get_running_loop().time())
        return message

    def compose(self, author: Json, channel: str, draft: Draft, extra: Json) -> Json:
        """The message that a draft makes; checked as a whole, not yet stored or told."""
        world = self._world
        message = payloads.message(world.snowflakes.next(), channel, author) | extra
        message["flags"] |= draft.flags or 0
        message["tts"] = draft.tts
        if draft.nonce is not None:
            message["nonce"] = draft.nonce
        message = self._filled(message, draft)
        if not message["flags"] & drafts.LOADING:
            drafts.check_whole(message)
        return message

    def publish(self, message: Json) -> None:
        """Store a new message and send MESSAGE_CREATE; ephemeral ones reach people only."""
        world = self._world
        world.keep_message(message)
        if message["flags"] & drafts.EPHEMERAL:
            self._events.publish("MESSAGE_CREATE", self.as_event(message))
            return
        channel = world.channel(message["channel_id"]) | {"last_message_id": message["id"]}
        if payloads.is_thread(channel) and message["type"] != STARTER:
            for count in ("message_count", "total_message_sent"):
                channel[count] += 1
        world.keep_channel(channel)
        self._events.emit("MESSAGE_CREATE", self.as_event(message), channel=channel["id"])

    def post_system(self, author: Json, channel: str, kind: int, extra: Json) -> Json:
        """One of Discord's own notices, such as `started a thread`."""
        message = payloads.message(self._world.snowflakes.next(), channel, author)
        message |= {"type": kind} | extra
        self.publish(message)
        return message

    def _by_nonce(self, author: str, nonce: str | None) -> Json | None:
        if nonce is None or (author, nonce) not in self._nonces:
            return None
        message, at = self._nonces[author, nonce]
        if asyncio.get_running_loop().time() - at > NONCE_SECONDS:
            return None
        try:
            return self._world.message(message["channel_id"], message["id"])
        except ApiError:
            return None

    def _check_may_post(self, user: str, channel: str, draft: Draft) -> None:
        place = self._world.channel(channel)
        if place["type"] not in payloads.HOLDS_MESSAGES:
            raise refusal(50008)
        needed = [
            Permission.SEND_MESSAGES_IN_THREADS
            if payloads.is_thread(place)
            else Permission.SEND_MESSAGES
        ]
        if draft.uploads:
            needed.append(Permission.ATTACH_FILES)
        if draft.embeds:
            needed.append(Permission.EMBED_LINKS)
        if draft.tts:
            needed.append(Permission.SEND_TTS_MESSAGES)
        granted = self._world.require(user, channel, *needed)
        if draft.reference is not None and not granted & Permission.READ_MESSAGE_HISTORY:
            raise refusal(160002)

    def _reply(self, author: str, channel: str, reference: Json) -> Json:
        """The fields of an answer to a message in the same channel."""
        if reference.get("type"):
            raise invalid("message_reference.type", "BASE_TYPE_CHOICES", "Only replies are known.")
        target_channel = str(reference.get("channel_id") or channel)
        try:
            target = self._world.message(target_channel, str(reference["message_id"]))
        except ApiError:
            target = None
        if target is None or target_channel != channel:
            if reference.get("fail_if_not_exists", True):
                raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
            return {}
        if target["type"] not in _WRITTEN_BY_PEOPLE:
            raise invalid(
                "message_reference",
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            )
        return self.reference_to(target)

    def reference_to(self, target: Json) -> Json:
        """The fields that make a message an answer to another."""
        quoted = {key: value for key, value in target.items() if key != "referenced_message"}
        return {
            "type": REPLY,
            "message_reference": {
                "type": 0,
                "channel_id": target["channel_id"],
                "message_id": target["id"],
                "guild_id": self._world.guild_id,
            },
            "referenced_message": quoted,
        }

    # Content

    def _filled(self, message: Json, draft: Draft) -> Json:
        """The message with the draft's content, attachments and components put in."""
        channel = message["channel_id"]
        ephemeral = bool(message["flags"] & drafts.EPHEMERAL)
        attachments: list[Json] = message["attachments"]
        if draft.keep_attachments is not None:
            attachments = [a for a in attachments if a["id"] in draft.keep_attachments]
        attachments = attachments + [
            files.keep(self._world, self._cdn(), channel, upload, ephemeral=ephemeral)
            for upload in draft.uploads
        ]
        filled: Json = {**message, "attachments": attachments}
        if draft.content is not None:
            filled["content"] = draft.content
        if draft.embeds is not None:
            filled["embeds"] = embeds.with_attachments(draft.embeds, attachments)
        if draft.components is not None:
            drafts.check_components(draft.components, filled["flags"])
            filled["components"] = components.shown(
                draft.components, self._world.snowflakes, attachments
            )
        return filled | self._mentions(filled, draft)

    def _mentions(self, message: Json, draft: Draft) -> Json:
        world = self._world
        author = message["author"]["id"]
        granted = world.permissions(author, message["channel_id"])
        may = bool(granted & Permission.MENTION_EVERYONE)
        text = "\n".join([message["content"], *components.texts(message["components"])])
        found = mentions.resolve(text, draft.allowed_mentions, everyone=may)
        people = [world.users[id] for id in found.users if id in world.users]
        replied: Json | None = part(message, "referenced_message").get("author")
        if replied and draft.allowed_mentions.replied_user and replied not in people:
            people.append(replied)
        return {
            "mentions": people,
            "mention_everyone": found.everyone,
            "mention_roles": [
                id
                for id in found.roles
                if id in world.roles and (may or world.roles[id]["mentionable"])
            ],
        }

    # Later

    def edit(self, user: str, channel: str, id: str, draft: Draft) -> Json:
        """A user's edit of their own message."""
        self._world.require(user, channel)
        message = self._world.message(channel, id)
        if message["author"]["id"] != user:
            raise refusal(50005)
        if message["type"] not in _WRITTEN_BY_PEOPLE:
            raise refusal(50021)
        self._channels.require_active(channel)
        return self.change(message, draft)

    def change(self, message: Json, draft: Draft) -> Json:
        """Put a draft into a message that exists, ephemeral ones too."""
        flags = message["flags"] & ~drafts.LOADING
        if draft.flags is not None:
            flags = flags & ~drafts.SUPPRESS_EMBEDS | draft.flags | flags & COMPONENTS_V2
        changed = self._filled(message | {"flags": flags}, draft)
        changed["edited_timestamp"] = timestamp()
        drafts.check_whole(changed)
        return self.replace(changed)

    def replace(self, message: Json) -> Json:
        """Store a message's new state and send MESSAGE_UPDATE."""
        self._world.keep_message(message)
        self._tell("MESSAGE_UPDATE", message, self.as_event(message))
        return message

    def delete(self, user: str, channel: str, id: str) -> None:
        message = self._world.message(channel, id)
        own = message["author"]["id"] == user
        self._world.require(user, channel, *([] if own else [Permission.MANAGE_MESSAGES]))
        self.remove(message)

    def remove(self, message: Json) -> None:
        self._world.drop_message(message)
        payload = {
            "id": message["id"],
            "channel_id": message["channel_id"],
            "guild_id": self._world.guild_id,
        }
        self._tell("MESSAGE_DELETE", message, payload)

    def remove_many(self, user: str, channel: str, ids: list[str]) -> None:
        self._world.require(user, channel, Permission.MANAGE_MESSAGES)
        if not 2 <= len(ids) <= 100:
            raise refusal(50016)
        known = {message["id"]: message for message in self._world.messages(channel)}
        gone = [known[id] for id in ids if id in known]
        for message in gone:
            self._world.drop_message(message)
        payload = {
            "ids": [message["id"] for message in gone],
            "channel_id": channel,
            "guild_id": self._world.guild_id,
        }
        self._events.emit("MESSAGE_DELETE_BULK", payload, channel=channel)

    def _tell(self, name: str, message: Json, payload: Json) -> None:
        if message["flags"] & drafts.EPHEMERAL:
            self._events.publish(name, payload)
        else:
            self._events.emit(name, payload, channel=message["channel_id"])

    def as_event(self, message: Json) -> Json:
        """The gateway's form of a message: with the guild and the author's membership."""
        event = message | {"guild_id": self._world.guild_id}
        if member := self._world.members.get(message["author"]["id"]):
            event["member"] = {key: value for key, value in member.items() if key != "user"}
        return event
