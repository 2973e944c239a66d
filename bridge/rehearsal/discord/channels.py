"""Changes of a channel's or thread's own document: name, topic, archive state, members."""

import time

from bridge.rehearsal.discord import payloads
from bridge.rehearsal.discord.document import Json, timestamp
from bridge.rehearsal.discord.errors import bad_length, invalid, refusal
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.world import World

ARCHIVE_MINUTES = (60, 1440, 4320, 10080)
_METADATA = ("archived", "locked", "auto_archive_duration", "invitable")


class Channels:
    def __init__(self, world: World, events: Events) -> None:
        self._world = world
        self._events = events

    def announce_new(self, channel: Json) -> Json:
        self._events.emit("CHANNEL_CREATE", channel, channel=channel["id"])
        return channel

    def change(self, id: str, **fields: object) -> Json:
        """Set fields of a channel, or of a thread and its metadata, and tell everyone."""
        channel = self._world.channel(id)
        if payloads.is_thread(channel):
            metadata = {key: fields.pop(key) for key in _METADATA if key in fields}
            if (
                metadata.get("archived", channel["thread_metadata"]["archived"])
                != (channel["thread_metadata"]["archived"])
            ):
                metadata["archive_timestamp"] = timestamp()
            fields["thread_metadata"] = channel["thread_metadata"] | metadata
        changed = self._world.keep_channel(channel | fields)
        name = "THREAD_UPDATE" if payloads.is_thread(changed) else "CHANNEL_UPDATE"
        self._events.emit(name, changed, channel=id)
        return changed

    def edit(self, actor: str, id: str, body: Json) -> Json:
        """`PATCH /channels/{id}`: the request's fields under the actor's permissions."""
        channel = self._world.channel(id)
        fields = {key: value for key, value in body.items() if value is not None}
        if "name" in fields:
            fields["name"] = checked_name(fields["name"])
        if payloads.is_thread(channel):
            self._check_thread_edit(actor, channel, fields)
        else:
            self._world.require(actor, id, Permission.MANAGE_CHANNELS)
            fields = {key: body[key] for key in ("topic",) if key in body} | fields
        return self.change(id, **{key: fields[key] for key in fields if key in _EDITABLE})

    def _check_thread_edit(self, actor: str, thread: Json, fields: Json) -> None:
        granted = self._world.require(actor, thread["id"])
        moderator = bool(granted & Permission.MANAGE_THREADS)
        metadata = thread["thread_metadata"]
        if "auto_archive_duration" in fields:
            checked_archive_minutes(fields["auto_archive_duration"])
        stays_archived = metadata["archived"] and fields.get("archived") is not False
        if stays_archived and set(fields) - {"archived", "locked"}:
            raise refusal(50083)
        if metadata["locked"] and not moderator:
            raise refusal(160005)
        owner = thread["owner_id"] == actor
        only_reopens = set(fields) == {"archived"} and not fields["archived"]
        if only_reopens:
            if not granted & Permission.SEND_MESSAGES_IN_THREADS:
                raise refusal(50013)
        elif not moderator and (not owner or "locked" in fields):
            raise refusal(50013)

    def ready_for_post(self, actor: str, id: str) -> None:
        """Wake an archived thread, as sending does; a locked one only for its moderators."""
        channel = self._world.channel(id)
        if not payloads.is_thread(channel):
            return
        metadata = channel["thread_metadata"]
        if metadata["locked"]:
            granted = self._world.permissions(actor, id)
            if not granted & Permission.MANAGE_THREADS:
                raise refusal(160005)
        if metadata["archived"]:
            self.change(id, archived=False)

    def require_active(self, id: str) -> None:
        """Refuse what an archived thread does not allow: edits, reactions, commands."""
        channel = self._world.channel(id)
        if payloads.is_thread(channel) and channel["thread_metadata"]["archived"]:
            raise refusal(50083)

    def typing(self, user: str, id: str) -> None:
        """Say for ten seconds that a user is writing."""
        channel = self._world.channel(id)
        if channel["type"] not in payloads.HOLDS_MESSAGES:
            raise refusal(50008)
        needed = (
            Permission.SEND_MESSAGES_IN_THREADS
            if payloads.is_thread(channel)
            else Permission.SEND_MESSAGES
        )
        self._world.require(user, id, needed)
        payload: Json = {
            "channel_id": id,
            "guild_id": self._world.guild_id,
            "user_id": user,
            "timestamp": int(time.time()),
            "member": self._world.member(user),
        }
        self._events.emit("TYPING_START", payload, channel=id)

    def delete(self, id: str) -> Json:
        """Remove a channel with its threads, or a thread."""
        channel = self._world.channel(id)
        for thread in list(self._world.threads(id)):
            self.delete(thread["id"])
        if payloads.is_thread(channel):
            keys = ("id", "guild_id", "parent_id", "type")
            self._events.emit("THREAD_DELETE", {key: channel[key] for key in keys}, channel=id)
        else:
            self._events.emit("CHANNEL_DELETE", channel, channel=id)
        self._world.drop_channel(id)
        return channel

    def join(self, thread: str, user: str) -> None:
        """Make a user a member of a thread; nothing happens when they already are."""
        members = self._world.thread_members.setdefault(thread, {})
        if user in members:
            return
        members[user] = payloads.thread_member(thread, user)
        self._members_changed(thread, added=[user])
        if user == self._world.bot["id"]:
            # Discord announces a thread to whoever is added to it, new or not.
            self._events.emit("THREAD_CREATE", self._world.channel(thread), channel=thread)

    def leave(self, thread: str, user: str) -> None:
        if self._world.thread_members.get(thread, {}).pop(user, None):
            self._members_changed(thread, removed=[user])

    def _members_changed(
        self, thread: str, added: list[str] | None = None, removed: list[str] | None = None
    ) -> None:
        world = self._world
        members = world.thread_members[thread]
        shown = world.channel(thread) | {"member_count": min(len(members), 50)}
        shown.pop("member", None)
        if me := members.get(world.bot["id"]):
            shown["member"] = me
        world.keep_channel(shown)
        payload: Json = {
            "id": thread,
            "guild_id": world.guild_id,
            "member_count": len(members),
            "added_members": [
                members[user] | {"member": world.members.get(user), "presence": None}
                for user in added or ()
            ],
            "removed_member_ids": removed or [],
        }
        self._events.emit("THREAD_MEMBERS_UPDATE", payload, channel=thread)


_EDITABLE = frozenset(
    {"name", "topic", "nsfw", "rate_limit_per_user", "position", "parent_id", "applied_tags"}
    | {"permission_overwrites", "flags", "available_tags", *_METADATA}
)


def checked_name(name: object) -> str:
    text = str(name or "").strip()
    if not 1 <= len(text) <= 100:
        raise bad_length("name", 1, 100)
    return text


def checked_archive_minutes(minutes: object) -> int:
    if minutes not in ARCHIVE_MINUTES:
        raise invalid(
            "auto_archive_duration",
            "BASE_TYPE_CHOICES",
            f"Value must be one of {set(ARCHIVE_MINUTES)}.",
        )
    return int(str(minutes))
