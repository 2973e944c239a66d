"""Interactions: what a person did with the application, and what it answered in time."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from bridge.rehearsal.discord import commands, drafts, mentions, modals
from bridge.rehearsal.discord.display import visible_text
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.drafts import EPHEMERAL, LOADING, Draft
from bridge.rehearsal.discord.errors import invalid, refusal
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.files import Upload
from bridge.rehearsal.discord.messages import COMMAND, Messages
from bridge.rehearsal.discord.world import World

ANSWER_SECONDS = 3.0
TOKEN_SECONDS = 15 * 60.0
ATTACHMENT_LIMIT = 10 << 20

# Interaction types.
APPLICATION_COMMAND, MESSAGE_COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT = 2, 3, 4, 5
# Callback types.
MESSAGE, DEFERRED_MESSAGE, DEFERRED_UPDATE, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9

_NEW = drafts.SUPPRESS_EMBEDS | drafts.SUPPRESS_NOTIFICATIONS | drafts.COMPONENTS_V2 | EPHEMERAL


@dataclass(frozen=True)
class Deadlines:
    """Seconds for the first answer, and for the token's life after it."""

    answer: float = ANSWER_SECONDS
    token: float = TOKEN_SECONDS


class Interaction:
    """One interaction, from the person's side of the screen."""

    def __init__(
        self,
        kind: str,
        payload: Json,
        world: World,
        events: Events,
        opener: "Interaction | None" = None,
    ) -> None:
        self.kind = kind
        self.payload = payload
        # A modal's answer belongs to the interaction that opened the modal.
        self.opener = opener
        self.acknowledged: int | None = None
        self.modal: Json | None = None
        self.choices: list[Json] | None = None
        self.error: str | None = None
        self.opened = asyncio.get_running_loop().time()
        self.response_id: str | None = None
        self.followup_ids: list[str] = []
        self._world = world
        self._events = events

    @property
    def id(self) -> str:
        return self.payload["id"]

    @property
    def token(self) -> str:
        return self.payload["token"]

    @property
    def channel_id(self) -> str:
        return self.payload["channel_id"]

    @property
    def response(self) -> Json | None:
        """The message that answers it, as it is now."""
        return self._message(self.response_id)

    @property
    def followups(self) -> list[Json]:
        found = (self._message(id) for id in self.followup_ids)
        return [message for message in found if message is not None]

    @property
    def text(self) -> str:
        """All that it shows: the answer, then the follow-ups."""
        if self.modal is not None:
            return self.modal["title"]
        if self.choices is not None:
            return "\n".join(choice["name"] for choice in self.choices)
        shown = [m for m in (self.response, *self.followups) if m is not None]
        return "\n".join(visible_text(message) for message in shown)

    async def acked(self, timeout: float = 3) -> int:  # noqa: ASYNC109
        """The callback type of the first answer."""
        await self._events.until(self._answered, timeout, f"{self} is acknowledged")
        assert self.acknowledged is not None
        return self.acknowledged

    async def done(self, timeout: float = 10) -> str:  # noqa: ASYNC109
        """The visible text, once the answer is there and no longer `thinking`."""
        await self._events.until(self._final, timeout, f"{self} is answered")
        return self.text

    def __repr__(self) -> str:
        data = self.payload["data"]
        return f"<{self.kind} {data.get('name') or data.get('custom_id')!r}>"

    def _answered(self) -> bool:
        if self.error is not None:
            raise AssertionError(f"{self} failed: {self.error}")
        return self.acknowledged is not None

    def _final(self) -> bool:
        if not self._answered():
            return False
        response = self.response
        return response is None or not response["flags"] & LOADING

    def _message(self, id: str | None) -> Json | None:
        if id is None:
            return None
        return self._world.find_message(self.channel_id, id)


class Interactions:
    """All interactions by token, and the application's ways to answer them."""

    def __init__(
        self, world: World, events: Events, messages: Messages, deadlines: Deadlines
    ) -> None:
        self._world = world
        self._events = events
        self._messages = messages
        self._deadlines = deadlines
        self._by_token: dict[str, Interaction] = {}

    def open(
        self,
        kind: str,
        type: int,
        channel: str,
        author: Json,
        data: Json,
        *,
        message: Json | None = None,
        opener: Interaction | None = None,
    ) -> Interaction:
        """Send INTERACTION_CREATE and start the clock."""
        world = self._world
        id = world.snowflakes.next()
        granted = str(int(world.permissions(author["id"], channel)))
        payload: Json = {
            "id": id,
            "application_id": world.application_id,
            "type": type,
            "token": f"rehearsal-{world.snowflakes.next()}",
            "version": 1,
            "guild_id": world.guild_id,
            "guild": {"id": world.guild_id, "locale": "en-US", "features": []},
            "channel_id": channel,
            "channel": world.channel(channel) | {"permissions": granted},
            "member": world.member(author["id"]) | {"permissions": granted},
            "data": data,
            "locale": "en-US",
            "guild_locale": "en-US",
            "app_permissions": str(int(world.permissions(world.bot["id"], channel))),
            "entitlements": [],
            "authorizing_integration_owners": {"0": world.guild_id},
            "context": 0,
            "attachment_size_limit": ATTACHMENT_LIMIT,
        }
        if message is not None:
            payload["message"] = message
        interaction = Interaction(kind, payload, world, self._events, opener)
        self._by_token[interaction.token] = interaction
        loop = asyncio.get_running_loop()
        loop.call_later(self._deadlines.answer, self._expire, interaction)
        self._events.emit("INTERACTION_CREATE", payload)
        return interaction

    def _expire(self, interaction: Interaction) -> None:
        if interaction.acknowledged is None:
            interaction.error = "timeout"
            self._events.publish("INTERACTION_FAILURE", {"id": interaction.id})

    # The first answer

    def callback(self, id: str, token: str, body: Json, files: Mapping[str, Upload]) -> Json:
        """The application's first answer; the body for `with_response`."""
        interaction = self._by_token.get(token)
        if interaction is None or interaction.id != id or interaction.error is not None:
            raise refusal(10062)
        if interaction.acknowledged is not None:
            raise refusal(40060)
        kind = body.get("type")
        if kind not in _allowed(interaction):
            raise invalid("type", "BASE_TYPE_CHOICES", f"One of {sorted(_allowed(interaction))}.")
        resource = self._answer(interaction, kind, body.get("data") or {}, files)
        interaction.acknowledged = kind
        self._events.publish("INTERACTION_SUCCESS", {"id": interaction.id, "type": kind})
        if interaction.modal is not None:
            shown = {"id": interaction.id, "channel_id": interaction.channel_id}
            self._events.publish("INTERACTION_MODAL_CREATE", shown | {"modal": interaction.modal})
        return _callback_answer(interaction, resource)

    def _answer(
        self, interaction: Interaction, kind: int, data: Json, files: Mapping[str, Upload]
    ) -> Json | None:
        """Carry out a callback; its message, where Discord reports one."""
        if kind == MODAL:
            interaction.modal = modals.check(data)
        elif kind == CHOICES:
            choices: list[Json] = [c for c in data.get("choices") or () if c is not None]
            commands.check_choices(choices, "data.choices")
            interaction.choices = choices
        elif kind == DEFERRED_UPDATE:
            interaction.response_id = interaction.payload["message"]["id"]
        elif kind == UPDATE:
            source = interaction.payload["message"]
            message = self._world.shown_message(source["channel_id"], source["id"])
            interaction.response_id = message["id"]
            return self._messages.change(message, _draft(data, files, drafts.COMPONENTS_V2))
        elif kind == DEFERRED_MESSAGE:
            draft = Draft(flags=int(data.get("flags") or 0) & EPHEMERAL)
            message = self._respond(interaction, draft, LOADING)
            interaction.response_id = message["id"]
        else:
            message = self._respond(interaction, _draft(data, files, _NEW), 0)
            interaction.response_id = message["id"]
            return message
        return None

    def _respond(self, interaction: Interaction, draft: Draft, flags: int) -> Json:
        extra: Json = {"type": COMMAND}
        source = interaction.payload.get("message")
        if source is not None:
            extra = {"type": 0}
            if not source["flags"] & EPHEMERAL:
                extra = self._messages.reference_to(source)
        extra |= {"flags": flags, "interaction_metadata": _metadata(interaction)}
        if interaction.payload["type"] == APPLICATION_COMMAND:
            extra["interaction"] = {
                "id": interaction.id,
                "type": APPLICATION_COMMAND,
                "name": interaction.payload["data"]["name"],
                "user": interaction.payload["member"]["user"],
            }
        return self._compose(interaction, draft, extra)

    def _compose(self, interaction: Interaction, draft: Draft, extra: Json) -> Json:
        me = self._world.application_id
        extra |= {"webhook_id": me, "application_id": me}
        message = self._messages.compose(self._world.bot, interaction.channel_id, draft, extra)
        self._messages.publish(message)
        return message

    # The webhook behind the token

    def followup(self, token: str, body: Json, files: Mapping[str, Upload]) -> Json:
        """A further message; the first one after a deferral takes the deferral's place."""
        interaction = self._live(token)
        original = interaction.response
        if original is not None and original["flags"] & LOADING:
            return self._messages.change(original, _draft(body, files, _NEW & ~EPHEMERAL))
        draft = _draft(body, files, _NEW)
        extra: Json = {"flags": 0}
        if original is not None and not original["flags"] & EPHEMERAL:
            extra |= self._messages.reference_to(original)
        extra["interaction_metadata"] = _metadata(interaction)
        message = self._compose(interaction, draft, extra)
        interaction.followup_ids.append(message["id"])
        return message

    def message(self, token: str, id: str) -> Json:
        """`@original` or one of the follow-ups."""
        interaction = self._live(token)
        known = {"@original": interaction.response} | {m["id"]: m for m in interaction.followups}
        if interaction.response is not None:
            known[interaction.response["id"]] = interaction.response
        message = known.get(id)
        if message is None:
            raise refusal(10008)
        return message

    def edit(self, token: str, id: str, body: Json, files: Mapping[str, Upload]) -> Json:
        return self._messages.change(
            self.message(token, id), _draft(body, files, _NEW & ~EPHEMERAL)
        )

    def delete(self, token: str, id: str) -> None:
        self._messages.remove(self.message(token, id))

    def _live(self, token: str) -> Interaction:
        interaction = self._by_token.get(token)
        if interaction is None or interaction.acknowledged is None:
            raise refusal(10015)
        age = asyncio.get_running_loop().time() - interaction.opened
        if age > self._deadlines.token:
            raise refusal(50027)
        return interaction


def _draft(body: Json, files: Mapping[str, Upload], settable: int) -> Draft:
    return drafts.parse(body, files, default_mentions=mentions.USERS_ONLY, settable=settable)


def _allowed(interaction: Interaction) -> frozenset[int]:
    """Which callbacks may answer an interaction of this type."""
    type = interaction.payload["type"]
    if type == AUTOCOMPLETE:
        return frozenset({CHOICES})
    allowed = {MESSAGE, DEFERRED_MESSAGE}
    if type != MODAL_SUBMIT:
        allowed.add(MODAL)
    if "message" in interaction.payload:
        allowed |= {DEFERRED_UPDATE, UPDATE}
    return frozenset(allowed)


def _metadata(interaction: Interaction) -> Json:
    payload = interaction.payload
    metadata: Json = {
        "id": payload["id"],
        "type": payload["type"],
        "user": payload["member"]["user"],
        "authorizing_integration_owners": payload["authorizing_integration_owners"],
    }
    if payload["type"] == MESSAGE_COMPONENT:
        metadata["interacted_message_id"] = payload["message"]["id"]
    elif interaction.opener is not None:
        metadata["triggering_interaction_metadata"] = _metadata(interaction.opener)
    return metadata


def _callback_answer(interaction: Interaction, resource: Json | None) -> Json:
    about: Json = {"id": interaction.id, "type": interaction.payload["type"]}
    if (shown := interaction.response) is not None:
        about |= {
            "response_message_id": shown["id"],
            "response_message_loading": bool(shown["flags"] & LOADING),
            "response_message_ephemeral": bool(shown["flags"] & EPHEMERAL),
        }
    answer: Json = {"interaction": about}
    if resource is not None:
        answer["resource"] = {"type": interaction.acknowledged, "message": resource}
    return answer
