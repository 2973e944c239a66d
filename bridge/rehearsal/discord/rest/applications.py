"""Routes of the application: itself, its commands, and its answers to interactions."""

from collections.abc import Sequence

from bridge.rehearsal.discord.commands import Commands
from bridge.rehearsal.discord.errors import invalid, refusal
from bridge.rehearsal.discord.interactions import Interactions
from bridge.rehearsal.discord.rest.routing import Call, Reply, Route
from bridge.rehearsal.discord.world import World

_APPLICATION = "/applications/{application_id}"
_SHELVES = (f"{_APPLICATION}/commands", f"{_APPLICATION}/guilds/{{guild_id}}/commands")
_WEBHOOK = "/webhooks/{webhook_id}/{webhook_token}"
_ANSWERS = (f"{_WEBHOOK}/messages/@original", f"{_WEBHOOK}/messages/{{message_id}}")


class ApplicationRoutes:
    def __init__(self, world: World, commands: Commands, interactions: Interactions) -> None:
        self._world = world
        self._commands = commands
        self._interactions = interactions

    def table(self) -> Sequence[Route]:
        callback = "/interactions/{interaction_id}/{interaction_token}/callback"
        routes = [
            Route("GET", "/applications/@me", self.application),
            Route("GET", "/oauth2/applications/@me", self.application),
            Route("POST", callback, self.callback, public=True),
            Route("POST", _WEBHOOK, self.follow_up, public=True),
        ]
        for shelf in _SHELVES:
            one = f"{shelf}/{{command_id}}"
            routes += [
                Route("GET", shelf, self.commands),
                Route("PUT", shelf, self.replace_commands),
                Route("POST", shelf, self.create_command),
                Route("GET", one, self.command),
                Route("PATCH", one, self.edit_command),
                Route("DELETE", one, self.delete_command),
            ]
        for answer in _ANSWERS:
            routes += [
                Route("GET", answer, self.answer, public=True),
                Route("PATCH", answer, self.edit_answer, public=True),
                Route("DELETE", answer, self.delete_answer, public=True),
            ]
        return routes

    def application(self, call: Call) -> Reply:
        return Reply(self._world.application)

    # Commands

    def _shelf(self, call: Call) -> str | None:
        if call["application_id"] != self._world.application_id:
            raise refusal(10002)
        guild = call.params.get("guild_id")
        if guild not in (None, self._world.guild_id):
            raise refusal(50001)
        return guild

    def commands(self, call: Call) -> Reply:
        return Reply(self._commands.on(self._shelf(call)))

    def replace_commands(self, call: Call) -> Reply:
        if not isinstance(call.body, list):
            raise invalid("", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
        return Reply(self._commands.replace_all(self._shelf(call), call.body))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]

    def create_command(self, call: Call) -> Reply:
        command, new = self._commands.put(self._shelf(call), call.form)
        return Reply(command, 201 if new else 200)

    def command(self, call: Call) -> Reply:
        return Reply(self._commands.get(self._shelf(call), call["command_id"]))

    def edit_command(self, call: Call) -> Reply:
        return Reply(self._commands.edit(self._shelf(call), call["command_id"], call.form))

    def delete_command(self, call: Call) -> Reply:
        self._commands.delete(self._shelf(call), call["command_id"])
        return Reply()

    # Interactions

    def callback(self, call: Call) -> Reply:
        answer = self._interactions.callback(
            call["interaction_id"], call["interaction_token"], call.form, call.files
        )
        wants_body = call.query.get("with_response", "").lower() in ("1", "true")
        return Reply(answer if wants_body else None)

    def _webhook(self, call: Call) -> str:
        if call["webhook_id"] != self._world.application_id:
            raise refusal(10015)
        return call["webhook_token"]

    def _answer_id(self, call: Call) -> str:
        return call.params.get("message_id", "@original")

    def follow_up(self, call: Call) -> Reply:
        return Reply(self._interactions.followup(self._webhook(call), call.form, call.files))

    def answer(self, call: Call) -> Reply:
        return Reply(self._interactions.message(self._webhook(call), self._answer_id(call)))

    def edit_answer(self, call: Call) -> Reply:
        message = self._interactions.edit(
            self._webhook(call), self._answer_id(call), call.form, call.files
        )
        return Reply(message)

    def delete_answer(self, call: Call) -> Reply:
        self._interactions.delete(self._webhook(call), self._answer_id(call))
        return Reply()
