"""What people do in the guild: write, react, start threads, run commands, press buttons."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridge.rehearsal.discord import commands as command_kinds
from bridge.rehearsal.discord import components, drafts, files, modals, options, payloads
from bridge.rehearsal.discord.channels import Channels
from bridge.rehearsal.discord.commands import Commands
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.drafts import Draft
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.files import Upload
from bridge.rehearsal.discord.interactions import (
    APPLICATION_COMMAND,
    AUTOCOMPLETE,
    MESSAGE_COMPONENT,
    MODAL_SUBMIT,
    Interaction,
    Interactions,
)
from bridge.rehearsal.discord.marks import Marks
from bridge.rehearsal.discord.messages import Messages
from bridge.rehearsal.discord.options import OptionError
from bridge.rehearsal.discord.permissions import Permission
from bridge.rehearsal.discord.threads import Threads
from bridge.rehearsal.discord.world import World


class People:
    """Acts for the owner unless an author is named; Discord's refusals are raised as ApiError.

    What a client would not let a person do (an unknown option, a disabled button) is a ValueError.
    """

    def __init__(
        self,
        world: World,
        events: Events,
        channels: Channels,
        messages: Messages,
        marks: Marks,
        threads: Threads,
        commands: Commands,
        interactions: Interactions,
        cdn: Callable[[], str],
    ) -> None:
        self.world = world
        self.events = events
        self.commands = commands
        self._channels = channels
        self._messages = messages
        self._marks = marks
        self._threads = threads
        self._interactions = interactions
        self._cdn = cdn

    # Writing

    async def say(
        self,
        channel_id: str,
        content: str = "",
        *,
        author: Json | None = None,
        files: Mapping[str, bytes] | None = None,
        reply_to: str | None = None,
        content_type: str | None = None,
    ) -> Json:
        """Post a message; `files` maps names to bytes, `content_type` overrides their type."""
        uploads = tuple(
            Upload(name, data, content_type=content_type) for name, data in (files or {}).items()
        )
        body: Json = {"content": content}
        if reply_to is not None:
            body["message_reference"] = {"message_id": reply_to}
        draft = _written(body)
        draft = Draft(content=draft.content, uploads=uploads, reference=draft.reference)
        return self._messages.post(author or self.world.owner, channel_id, draft)

    async def edit(self, channel_id: str, message_id: str, content: str) -> Json:
        """The author of a message changes its text."""
        author = self.world.message(channel_id, message_id)["author"]["id"]
        draft = _written({"content": content})
        return self._messages.edit(author, channel_id, message_id, draft)

    async def delete(self, channel_id: str, message_id: str) -> None:
        self._messages.delete(self.world.owner["id"], channel_id, message_id)

    async def react(
        self, channel_id: str, message_id: str, emoji: str, author: Json | None = None
    ) -> None:
        user = (author or self.world.owner)["id"]
        self._marks.react(user, channel_id, message_id, emoji)

    async def unreact(
        self, channel_id: str, message_id: str, emoji: str, author: Json | None = None
    ) -> None:
        user = (author or self.world.owner)["id"]
        self._marks.unreact(user, channel_id, message_id, emoji, user)

    async def type(self, channel_id: str, author: Json | None = None) -> None:
        self._channels.typing((author or self.world.owner)["id"], channel_id)

    # Threads

    async def create_thread(
        self,
        channel_id: str,
        name: str,
        *,
        author: Json | None = None,
        message_id: str | None = None,
        content: str = "",
    ) -> Json:
        """A public thread, from a message if one is named; in a forum `content` opens the post."""
        user = (author or self.world.owner)["id"]
        body: Json = {"name": name}
        if message_id is not None:
            return self._threads.from_message(user, channel_id, message_id, body)
        if self.world.channel(channel_id)["type"] == payloads.FORUM:
            first: Json = {"content": content or name}
            return self._threads.in_forum(
                user, channel_id, body | {"message": first}, lambda: _written(first)
            )
        body["type"] = payloads.PUBLIC_THREAD
        return self._threads.without_message(user, channel_id, body)

    async def archive(self, thread_id: str, locked: bool = False) -> Json:
        return self._channels.change(thread_id, archived=True, locked=locked)

    async def delete_channel(self, id: str) -> None:
        """Delete a channel or a thread."""
        self._channels.delete(id)

    # The application

    async def slash(
        self, channel_id: str, name: str, *, author: Json | None = None, **values: Any
    ) -> Interaction:
        """Run a registered command; a subcommand follows its parent after a space."""
        person = author or self.world.owner
        command, path = self._command(person, channel_id, name)
        data = options.command_data(
            self.world, command, path, values, attach=self._attacher(channel_id)
        )
        return self._interactions.open("slash", APPLICATION_COMMAND, channel_id, person, data)

    async def autocomplete(
        self,
        channel_id: str,
        command: str,
        option: str,
        value: Any,
        author: Json | None = None,
        **others: Any,
    ) -> Interaction:
        """Type `value` into an option that completes; `others` are already filled in."""
        person = author or self.world.owner
        found, path = self._command(person, channel_id, command)
        data = options.command_data(
            self.world,
            found,
            path,
            others | {option: value},
            attach=self._attacher(channel_id),
            focused=option,
        )
        return self._interactions.open("autocomplete", AUTOCOMPLETE, channel_id, person, data)

    async def press(
        self, channel_id: str, message_id: str, custom_id: str, author: Json | None = None
    ) -> Interaction:
        """Press a button."""
        message, button = self._component(channel_id, message_id, custom_id)
        if button["type"] != components.BUTTON:
            raise ValueError(f"{custom_id!r} is not a button")
        data: Json = {key: button[key] for key in ("custom_id", "id")}
        data["component_type"] = components.BUTTON
        return self._interactions.open(
            "button",
            MESSAGE_COMPONENT,
            channel_id,
            author or self.world.owner,
            data,
            message=message,
        )

    async def select(
        self,
        channel_id: str,
        message_id: str,
        custom_id: str,
        values: Sequence[str],
        author: Json | None = None,
    ) -> Interaction:
        """Choose from a select menu."""
        message, menu = self._component(channel_id, message_id, custom_id)
        if menu["type"] not in components.SELECTS:
            raise ValueError(f"{custom_id!r} is not a select menu")
        if not menu["min_values"] <= len(values) <= menu["max_values"]:
            raise ValueError(f"{custom_id!r} takes {menu['min_values']} to {menu['max_values']}")
        known = [option["value"] for option in menu.get("options", ())]
        if menu["type"] == components.STRING_SELECT and not set(values) <= set(known):
            raise ValueError(f"{custom_id!r} offers {known}, not {list(values)}")
        data: Json = {
            "custom_id": custom_id,
            "id": menu["id"],
            "component_type": menu["type"],
            "values": list(values),
        }
        if kind := _SELECTED.get(menu["type"]):
            resolved: Json = {}
            options.resolve(self.world, kind, values, resolved)
            data["resolved"] = resolved
        return self._interactions.open(
            "select",
            MESSAGE_COMPONENT,
            channel_id,
            author or self.world.owner,
            data,
            message=message,
        )

    async def submit(self, interaction: Interaction, values: Mapping[str, Any]) -> Interaction:
        """Fill in and send the modal that an interaction was answered with."""
        if interaction.modal is None:
            raise ValueError(f"{interaction} shows no modal")
        data: Json = {
            "custom_id": interaction.modal["custom_id"],
            "components": modals.answer(interaction.modal, values),
        }
        return self._interactions.open(
            "modal",
            MODAL_SUBMIT,
            interaction.channel_id,
            interaction.payload["member"]["user"],
            data,
            message=interaction.payload.get("message"),
            opener=interaction,
        )

    def _command(self, person: Json, channel: str, name: str) -> tuple[Json, list[str]]:
        granted = self.world.require(person["id"], channel, Permission.USE_APPLICATION_COMMANDS)
        self._channels.require_active(channel)
        first, *path = name.removeprefix("/").split()
        command = self.commands.find(first)
        needed = Permission(int(command["default_member_permissions"] or 0))
        if command["type"] != command_kinds.CHAT_INPUT or granted & needed != needed:
            raise OptionError(f"/{first} is not offered to {person['username']}")
        return command, path

    def _component(self, channel: str, message: str, custom_id: str) -> tuple[Json, Json]:
        shown = self.world.shown_message(channel, message)
        known = [c for c in components.walk(shown["components"]) if c.get("custom_id")]
        for component in known:
            if component["custom_id"] == custom_id:
                if component.get("disabled"):
                    raise ValueError(f"{custom_id!r} is disabled")
                return shown, component
        raise ValueError(f"no component {custom_id!r}; there are {[c['custom_id'] for c in known]}")

    def _attacher(self, channel: str) -> options.Attach:
        def attach(name: str, data: bytes) -> Json:
            return files.keep(self.world, self._cdn(), channel, Upload(name, data), ephemeral=True)

        return attach


def _written(body: Json) -> Draft:
    return drafts.parse(body, {}, max_content=drafts.MAX_CONTENT_OF_PEOPLE)


# Select menus of people, roles, mentionables and channels resolve like options of that kind.
_SELECTED: Mapping[int, int] = {
    5: command_kinds.USER,
    6: command_kinds.ROLE,
    7: command_kinds.MENTIONABLE,
    8: command_kinds.CHANNEL,
}
