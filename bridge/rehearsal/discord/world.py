"""The guild's state: people, roles, channels, threads, messages, files, and who may see what."""

from collections.abc import Iterator, Sequence

from bridge.rehearsal.discord import payloads, permissions
from bridge.rehearsal.discord.document import Json, Snowflakes
from bridge.rehearsal.discord.errors import refusal
from bridge.rehearsal.discord.permissions import ALL, NONE, Permission

GUILD_NAME = "Rehearsal"
APPLICATION_NAME = "bridge"

MESSAGE_CONTENT_FLAG = 1 << 19
GUILD_MEMBERS_FLAG = 1 << 15
PRESENCE_FLAG = 1 << 13


class World:
    """Everything Discord remembers. Lookups raise Discord's own `Unknown ...` errors."""

    def __init__(self) -> None:
        self.snowflakes = Snowflakes()
        self.users: dict[str, Json] = {}
        self.members: dict[str, Json] = {}
        self.roles: dict[str, Json] = {}
        self.channels: dict[str, Json] = {}
        self.thread_members: dict[str, dict[str, Json]] = {}
        self.ephemeral: dict[str, Json] = {}
        self.reactions: dict[str, dict[str, list[str]]] = {}
        self.pins: dict[str, dict[str, str]] = {}
        self.files: dict[str, tuple[bytes, str]] = {}
        self._messages: dict[str, dict[str, Json]] = {}
        # The portal's switches: which privileged intents the application may ask for.
        self.application_flags = MESSAGE_CONTENT_FLAG

        self.guild_id = self.snowflakes.next()
        self.roles[self.guild_id] = payloads.role(
            self.guild_id, "@everyone", permissions.EVERYONE, 0
        )
        self.owner = self.add_user("alice")
        self.bot = self.add_user(APPLICATION_NAME, bot=True)
        self.bot_role = self.add_role(APPLICATION_NAME, permissions.INVITED_BOT, bot=self.bot["id"])
        self.give_role(self.bot["id"], self.bot_role["id"])
        self.general = self.add_channel("general")["id"]

    @property
    def application_id(self) -> str:
        return self.bot["id"]

    @property
    def application(self) -> Json:
        return payloads.application(
            self.application_id, APPLICATION_NAME, self.owner, self.bot, self.application_flags
        )

    @property
    def guild(self) -> Json:
        return payloads.guild(self.guild_id, GUILD_NAME, self.owner["id"], self.roles.values())

    # People and roles

    def add_user(self, name: str, *, bot: bool = False, roles: Sequence[str] = ()) -> Json:
        """A new person (or bot) who is a member of the guild."""
        person = payloads.user(self.snowflakes.next(), name, bot=bot)
        self.users[person["id"]] = person
        self.members[person["id"]] = payloads.member(person, roles)
        return person

    def add_role(self, name: str, granted: Permission = NONE, *, bot: str | None = None) -> Json:
        role = payloads.role(self.snowflakes.next(), name, granted, len(self.roles), bot=bot)
        self.roles[role["id"]] = role
        return role

    def give_role(self, user: str, role: str) -> Json:
        """The member's document with one role more."""
        member = self.member(user)
        held = [*member["roles"], role] if role not in member["roles"] else member["roles"]
        self.members[user] = member | {"roles": held}
        return self.members[user]

    def user(self, id: str) -> Json:
        if id not in self.users:
            raise refusal(10013)
        return self.users[id]

    def member(self, user: str) -> Json:
        if user not in self.members:
            raise refusal(10007)
        return self.members[user]

    # Channels

    def add_channel(self, name: str, kind: int = payloads.TEXT, parent: str | None = None) -> Json:
        channel = payloads.channel(
            self.snowflakes.next(), self.guild_id, name, kind, len(self.channels), parent
        )
        return self.keep_channel(channel)

    def keep_channel(self, channel: Json) -> Json:
        """Store a channel's or a thread's newest document."""
        self.channels[channel["id"]] = channel
        self._messages.setdefault(channel["id"], {})
        return channel

    def drop_channel(self, id: str) -> None:
        for message in self._messages.pop(id, {}):
            self.reactions.pop(message, None)
        self.channels.pop(id, None)
        self.thread_members.pop(id, None)
        self.pins.pop(id, None)

    def channel(self, id: str) -> Json:
        if id not in self.channels:
            raise refusal(10003)
        return self.channels[id]

    def threads(self, parent: str | None = None) -> Iterator[Json]:
        """All threads, archived ones too, oldest first."""
        for channel in self.channels.values():
            if payloads.is_thread(channel) and parent in (None, channel["parent_id"]):
                yield channel

    def guild_channels(self) -> Iterator[Json]:
        for channel in self.channels.values():
            if not payloads.is_thread(channel):
                yield channel

    # Messages

    def messages(self, channel: str) -> list[Json]:
        """The channel's messages, oldest first; ephemeral ones are not among them."""
        self.channel(channel)
        return list(self._messages[channel].values())

    def message(self, channel: str, id: str) -> Json:
        found = self._messages.get(channel, {}).get(id)
        if found is None:
            raise refusal(10008)
        return found

    def keep_message(self, message: Json) -> Json:
        """Store a message's newest document where its kind is kept."""
        if message["flags"] & 64:
            self.ephemeral[message["id"]] = message
        else:
            self._messages[message["channel_id"]][message["id"]] = message
        return message

    def drop_message(self, message: Json) -> None:
        self.ephemeral.pop(message["id"], None)
        self._messages.get(message["channel_id"], {}).pop(message["id"], None)
        self.reactions.pop(message["id"], None)
        self.pins.get(message["channel_id"], {}).pop(message["id"], None)

    def find_message(self, channel: str, id: str) -> Json | None:
        """A message as a person sees it, ephemeral ones too; None when it is gone."""
        return self.ephemeral.get(id) or self._messages.get(channel, {}).get(id)

    def shown_message(self, channel: str, id: str) -> Json:
        found = self.find_message(channel, id)
        if found is None:
            raise refusal(10008)
        return found

    # Permissions

    def permissions(self, user: str, channel: str) -> Permission:
        """What a user may do in a channel; a thread follows its parent."""
        if user == self.owner["id"]:
            return ALL
        if user not in self.members:
            return NONE
        place = self.channel(channel)
        if payloads.is_thread(place):
            place = self.channels.get(place["parent_id"], place)
        roles: list[str] = self.members[user]["roles"]
        held = [self.roles[id] for id in (self.guild_id, *roles) if id in self.roles]
        return permissions.in_channel(
            permissions.in_guild(held),
            place.get("permission_overwrites", ()),
            guild=self.guild_id,
            user=user,
            roles=roles,
        )

    def sees(self, user: str, channel: str) -> bool:
        """Whether a user sees a channel; a private thread is for its members and moderators."""
        granted = self.permissions(user, channel)
        if not granted & Permission.VIEW_CHANNEL:
            return False
        if self.channels[channel]["type"] != payloads.PRIVATE_THREAD:
            return True
        return bool(granted & Permission.MANAGE_THREADS) or user in self.thread_members.get(
            channel, {}
        )

    def require(self, user: str, channel: str, *needed: Permission) -> Permission:
        """The user's permissions in a channel, or Discord's refusal when one is missing."""
        self.channel(channel)
        if not self.sees(user, channel):
            raise refusal(50001)
        granted = self.permissions(user, channel)
        for permission in needed:
            if not granted & permission:
                raise refusal(50013)
        return granted
