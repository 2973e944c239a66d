"""Reactions to messages, and pinned messages."""

from bridge.rehearsal.discord import payloads
from bridge.rehearsal.discord.channels import Channels
from bridge.rehearsal.discord.document import Json, timestamp
from bridge.rehearsal.discord.errors import refusal
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.messages import PINNED, Messages
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.world import World

MAX_REACTIONS = 20
MAX_PINS = 250


class Marks:
    """What users stick on messages that exist."""

    def __init__(
        self, world: World, events: Events, channels: Channels, messages: Messages
    ) -> None:
        self._world = world
        self._events = events
        self._channels = channels
        self._messages = messages

    def react(self, user: str, channel: str, id: str, emoji: str) -> None:
        message = self._reactable(user, channel, id)
        on_message = self._world.reactions.setdefault(id, {})
        granted = self._world.require(user, channel)
        if not granted & Permission.READ_MESSAGE_HISTORY:
            raise refusal(50013)
        if emoji not in on_message:
            if not granted & Permission.ADD_REACTIONS:
                raise refusal(50013)
            if len(on_message) >= MAX_REACTIONS:
                raise refusal(30010)
        if user in on_message.setdefault(emoji, []):
            return
        on_message[emoji].append(user)
        self._reactions_changed(message)
        payload = self._reaction_event(message, emoji) | {
            "user_id": user,
            "member": self._world.members.get(user),
            "message_author_id": message["author"]["id"],
        }
        self._events.emit("MESSAGE_REACTION_ADD", payload, channel=channel)

    def unreact(self, actor: str, channel: str, id: str, emoji: str, user: str) -> None:
        message = self._reactable(actor, channel, id)
        if actor != user:
            self._world.require(actor, channel, Permission.MANAGE_MESSAGES)
        on_message = self._world.reactions.get(id, {})
        if user not in on_message.get(emoji, ()):
            return
        on_message[emoji].remove(user)
        if not on_message[emoji]:
            del on_message[emoji]
        self._reactions_changed(message)
        payload = self._reaction_event(message, emoji) | {"user_id": user}
        self._events.emit("MESSAGE_REACTION_REMOVE", payload, channel=channel)

    def clear_reactions(self, actor: str, channel: str, id: str, emoji: str | None = None) -> None:
        message = self._reactable(actor, channel, id)
        self._world.require(actor, channel, Permission.MANAGE_MESSAGES)
        on_message = self._world.reactions.get(id, {})
        if emoji is None:
            on_message.clear()
        else:
            on_message.pop(emoji, None)
        self._reactions_changed(message)
        payload = self._reaction_event(message, emoji or "")
        if emoji is None:
            del payload["emoji"], payload["type"], payload["burst"]
        name = "MESSAGE_REACTION_REMOVE_EMOJI" if emoji else "MESSAGE_REACTION_REMOVE_ALL"
        self._events.emit(name, payload, channel=channel)

    def _reactable(self, user: str, channel: str, id: str) -> Json:
        self._world.require(user, channel)
        message = self._world.message(channel, id)
        self._channels.require_active(channel)
        return message

    def _reactions_changed(self, message: Json) -> None:
        changed = {key: value for key, value in message.items() if key != "reactions"}
        on_message = self._world.reactions.get(message["id"], {})
        if on_message:
            changed["reactions"] = payloads.reactions(on_message, self._world.bot["id"])
        self._world.keep_message(changed)

    def _reaction_event(self, message: Json, emoji: str) -> Json:
        return {
            "channel_id": message["channel_id"],
            "message_id": message["id"],
            "guild_id": self._world.guild_id,
            "emoji": payloads.emoji(emoji),
            "type": 0,
            "burst": False,
        }

    def pin(self, user: str, channel: str, id: str, *, pinned: bool) -> None:
        granted = self._world.require(user, channel)
        if not granted & (Permission.PIN_MESSAGES | Permission.MANAGE_MESSAGES):
            raise refusal(50013)
        message = self._world.message(channel, id)
        self._channels.require_active(channel)
        pins = self._world.pins.setdefault(channel, {})
        if message["pinned"] == pinned:
            return
        if pinned and len(pins) >= MAX_PINS:
            raise refusal(30003)
        if pinned:
            pins[id] = timestamp()
        else:
            del pins[id]
        self._messages.replace(message | {"pinned": pinned})
        payload = {
            "guild_id": self._world.guild_id,
            "channel_id": channel,
            "last_pin_timestamp": next(reversed(pins.values()), None),
        }
        self._events.emit("CHANNEL_PINS_UPDATE", payload, channel=channel)
        if pinned:
            reference = self._messages.reference_to(message) | {"type": PINNED}
            self._messages.post_system(self._world.user(user), channel, PINNED, reference)
