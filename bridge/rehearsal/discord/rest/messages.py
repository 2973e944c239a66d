"""Routes under /channels/{id}/messages, reactions and pins."""

from collections.abc import Sequence

from bridge.rehearsal.discord import drafts
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import invalid, refusal
from bridge.rehearsal.discord.gateway import intents
from bridge.rehearsal.discord.marks import Marks
from bridge.rehearsal.discord.messages import Messages
from bridge.rehearsal.discord.payloads import HOLDS_MESSAGES
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.rest.query import snowflake, whole_number
from bridge.rehearsal.discord.rest.routing import Call, Reply, Route
from bridge.rehearsal.discord.world import MESSAGE_CONTENT_FLAG, World

_ALL = "/channels/{channel_id}/messages"
_ONE = f"{_ALL}/{{message_id}}"
_REACTIONS = f"{_ONE}/reactions"
_EMOJI = f"{_REACTIONS}/{{emoji_name}}"


class MessageRoutes:
    def __init__(self, world: World, messages: Messages, marks: Marks) -> None:
        self._world = world
        self._messages = messages
        self._marks = marks
        self._me: str = world.bot["id"]

    def table(self) -> Sequence[Route]:
        pins = ("/channels/{channel_id}/pins/{message_id}", f"{_ALL}/pins/{{message_id}}")
        return (
            Route("GET", _ALL, self.history),
            Route("POST", _ALL, self.create),
            Route("POST", f"{_ALL}/bulk-delete", self.delete_many),
            Route("GET", f"{_ALL}/pins", self.pins),
            Route("GET", "/channels/{channel_id}/pins", self.pins_plain),
            *(Route("PUT", template, self.pin) for template in pins),
            *(Route("DELETE", template, self.unpin) for template in pins),
            Route("GET", _ONE, self.get),
            Route("PATCH", _ONE, self.edit),
            Route("DELETE", _ONE, self.delete),
            Route("PUT", f"{_EMOJI}/@me", self.react),
            Route("DELETE", f"{_EMOJI}/@me", self.unreact_own),
            Route("DELETE", f"{_EMOJI}/{{user_id}}", self.unreact),
            Route("GET", _EMOJI, self.reactors),
            Route("DELETE", _EMOJI, self.clear_emoji),
            Route("DELETE", _REACTIONS, self.clear),
        )

    def _readable(self, message: Json) -> Json:
        """The message as REST shows it to an application without the content switch."""
        if self._world.application_flags & MESSAGE_CONTENT_FLAG:
            return message
        return intents.blank(message, self._me)

    def history(self, call: Call) -> Reply:
        """Up to `limit` messages, the newest first; none without READ_MESSAGE_HISTORY."""
        channel = call["channel_id"]
        granted = self._world.require(self._me, channel)
        if self._world.channel(channel)["type"] not in HOLDS_MESSAGES:
            raise refusal(50008)
        limit = whole_number(call, "limit", 50, 1, 100)
        anchors = [key for key in ("around", "before", "after") if key in call.query]
        if len(anchors) > 1:
            raise invalid(anchors[1], "MUTUALLY_EXCLUSIVE", "Only one of around, before, after.")
        if not granted & Permission.READ_MESSAGE_HISTORY:
            return Reply([])
        found = self._world.messages(channel)
        if anchors:
            found = _near(found, anchors[0], snowflake(call, anchors[0]), limit)
        return Reply([self._readable(message) for message in reversed(found[-limit:])])

    def get(self, call: Call) -> Reply:
        self._world.require(self._me, call["channel_id"], Permission.READ_MESSAGE_HISTORY)
        return Reply(self._readable(self._world.message(call["channel_id"], call["message_id"])))

    def create(self, call: Call) -> Reply:
        draft = drafts.parse(call.form, call.files)
        return Reply(self._messages.post(self._world.bot, call["channel_id"], draft))

    def edit(self, call: Call) -> Reply:
        draft = drafts.parse(call.form, call.files)
        message = self._messages.edit(self._me, call["channel_id"], call["message_id"], draft)
        return Reply(message)

    def delete(self, call: Call) -> Reply:
        self._messages.delete(self._me, call["channel_id"], call["message_id"])
        return Reply()

    def delete_many(self, call: Call) -> Reply:
        ids = [str(id) for id in call.form.get("messages") or ()]
        self._messages.remove_many(self._me, call["channel_id"], ids)
        return Reply()

    # Reactions

    def react(self, call: Call) -> Reply:
        self._marks.react(self._me, call["channel_id"], call["message_id"], _emoji(call))
        return Reply()

    def unreact_own(self, call: Call) -> Reply:
        where = call["channel_id"], call["message_id"]
        self._marks.unreact(self._me, *where, _emoji(call), self._me)
        return Reply()

    def unreact(self, call: Call) -> Reply:
        where = call["channel_id"], call["message_id"]
        self._marks.unreact(self._me, *where, _emoji(call), call["user_id"])
        return Reply()

    def clear(self, call: Call) -> Reply:
        self._marks.clear_reactions(self._me, call["channel_id"], call["message_id"])
        return Reply()

    def clear_emoji(self, call: Call) -> Reply:
        where = call["channel_id"], call["message_id"]
        self._marks.clear_reactions(self._me, *where, _emoji(call))
        return Reply()

    def reactors(self, call: Call) -> Reply:
        self._world.require(self._me, call["channel_id"], Permission.READ_MESSAGE_HISTORY)
        message = self._world.message(call["channel_id"], call["message_id"])
        ids = self._world.reactions.get(message["id"], {}).get(_emoji(call), [])
        limit = whole_number(call, "limit", 25, 1, 100)
        after = snowflake(call, "after")
        found = sorted((id for id in ids if int(id) > after), key=int)
        return Reply([self._world.user(id) for id in found[:limit]])

    # Pins

    def pin(self, call: Call) -> Reply:
        self._marks.pin(self._me, call["channel_id"], call["message_id"], pinned=True)
        return Reply()

    def unpin(self, call: Call) -> Reply:
        self._marks.pin(self._me, call["channel_id"], call["message_id"], pinned=False)
        return Reply()

    def _pinned(self, call: Call) -> list[tuple[str, Json]]:
        channel = call["channel_id"]
        self._world.require(self._me, channel, Permission.READ_MESSAGE_HISTORY)
        pins = self._world.pins.get(channel, {})
        return [
            (at, self._readable(self._world.message(channel, id)))
            for id, at in reversed(pins.items())
        ]

    def pins(self, call: Call) -> Reply:
        limit = whole_number(call, "limit", 50, 1, 50)
        before = call.query.get("before")
        found = [(at, m) for at, m in self._pinned(call) if before is None or at < before]
        items = [{"pinned_at": at, "message": message} for at, message in found[:limit]]
        return Reply({"items": items, "has_more": len(found) > limit})

    def pins_plain(self, call: Call) -> Reply:
        return Reply([message for _, message in self._pinned(call)])


def _near(messages: list[Json], how: str, anchor: int, limit: int) -> list[Json]:
    """The slice of a channel (oldest first) that `before`, `after` or `around` asks for."""
    older = [message for message in messages if int(message["id"]) < anchor]
    newer = [message for message in messages if int(message["id"]) > anchor]
    if how == "before":
        return older[-limit:]
    if how == "after":
        return newer[:limit]
    at = [message for message in messages if int(message["id"]) == anchor]
    half = limit // 2
    return (older[-half:] if half else []) + at + newer[: limit - half - len(at)]


def _emoji(call: Call) -> str:
    """The emoji of the path; plain words are no emoji, as every bot author finds out."""
    name = call["emoji_name"]
    if name.isascii() and ":" not in name:
        raise refusal(10014)
    return name
