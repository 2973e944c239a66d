"""The application's registered commands, global and of the guild."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from bridge.rehearsal.discord.document import Json, without_nulls
from bridge.rehearsal.discord.errors import bad_length, invalid, refusal, too_long
from bridge.rehearsal.discord.world import World

CHAT_INPUT = 1
SUB_COMMAND, SUB_COMMAND_GROUP, STRING, INTEGER, BOOLEAN = 1, 2, 3, 4, 5
USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = 6, 7, 8, 9, 10, 11
NESTING = frozenset({SUB_COMMAND, SUB_COMMAND_GROUP})

MAX_CHAT_INPUT = 100
MAX_OPTIONS = 25
MAX_TOTAL = 8000
_NAME = re.compile(r"[-_'\w]{1,32}")
_DEFAULTS: Mapping[str, Any] = MappingProxyType({"type": CHAT_INPUT, "nsfw": False})


class Commands:
    """Two shelves: the key None holds the global commands, a guild id that guild's."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._shelves: dict[str | None, dict[str, Json]] = {}

    def on(self, guild: str | None) -> list[Json]:
        return list(self._shelves.get(guild, {}).values())

    def get(self, guild: str | None, id: str) -> Json:
        command = self._shelves.get(guild, {}).get(id)
        if command is None:
            raise refusal(10063)
        return command

    def find(self, name: str) -> Json:
        """A command as a person picks it from the list; the guild's own comes first."""
        for guild in (self._world.guild_id, None):
            for command in self.on(guild):
                if command["name"] == name:
                    return command
        known = sorted({c["name"] for g in (self._world.guild_id, None) for c in self.on(g)})
        raise LookupError(f"no command {name!r} is registered; there are {known}")

    def replace_all(self, guild: str | None, wanted: list[Json]) -> list[Json]:
        """The bulk PUT: what is not named goes, what keeps its name keeps its id."""
        for index, command in enumerate(wanted):
            check(command, f"{index}.")
        keys = [_key(command) for command in wanted]
        if len(set(keys)) < len(keys):
            raise invalid(
                "",
                "APPLICATION_COMMANDS_DUPLICATE_NAME",
                "Application command names must be unique",
            )
        if sum(kind == CHAT_INPUT for kind, _ in keys) > MAX_CHAT_INPUT:
            raise refusal(30032)
        before = {_key(command): command["id"] for command in self.on(guild)}
        kept = [self._registered(guild, command, before.get(_key(command))) for command in wanted]
        self._shelves[guild] = {command["id"]: command for command in kept}
        return kept

    def put(self, guild: str | None, command: Json) -> tuple[Json, bool]:
        """Create a command, or overwrite the one of that name; whether it is new."""
        check(command)
        known = {_key(old): old["id"] for old in self.on(guild)}
        id = known.get(_key(command))
        kept = self._registered(guild, command, id)
        self._shelves.setdefault(guild, {})[kept["id"]] = kept
        return kept, id is None

    def edit(self, guild: str | None, id: str, changes: Json) -> Json:
        changed = self.get(guild, id) | changes
        check(changed)
        self._shelves[guild][id] = kept = self._registered(guild, changed, id)
        return kept

    def delete(self, guild: str | None, id: str) -> None:
        self.get(guild, id)
        del self._shelves[guild][id]

    def _registered(self, guild: str | None, command: Json, id: str | None) -> Json:
        wanted = without_nulls(command)
        permissions = wanted.get("default_member_permissions")
        result: Json = (
            dict(_DEFAULTS)
            | wanted
            | {
                "id": id or self._world.snowflakes.next(),
                "application_id": self._world.application_id,
                "version": self._world.snowflakes.next(),
                "default_member_permissions": None if permissions is None else str(permissions),
                "description": wanted.get("description", ""),
            }
        )
        if "options" in wanted:
            result["options"] = [_option(option) for option in wanted["options"]]
        if guild is None:
            result = {"dm_permission": True, "contexts": None, "integration_types": [0]} | result
        else:
            result["guild_id"] = guild
        return result


def _key(command: Json) -> tuple[int, str]:
    return command.get("type") or CHAT_INPUT, command.get("name") or ""


def _option(option: Json) -> Json:
    shown = without_nulls(option)
    if "options" in shown:
        shown["options"] = [_option(inner) for inner in shown["options"]]
    if "choices" in shown:
        shown["choices"] = [without_nulls(choice) for choice in shown["choices"]]
    return shown


def check(command: Json, prefix: str = "") -> None:
    """Refuse a command that breaks Discord's rules on names, texts, options and choices."""
    kind, name = _key(command)
    if kind == CHAT_INPUT:
        _check_name(name, f"{prefix}name")
        if not 1 <= len(command.get("description") or "") <= 100:
            raise bad_length(f"{prefix}description", 1, 100)
    elif not 1 <= len(name) <= 32:
        raise bad_length(f"{prefix}name", 1, 32)
    _check_options(command.get("options") or [], f"{prefix}options")
    if sum(map(len, _texts(command))) > MAX_TOTAL:
        raise invalid(
            prefix.rstrip("."), "APPLICATION_COMMAND_TOO_LARGE",
            f"Command exceeds maximum size ({MAX_TOTAL})",
        )  # fmt: skip


def _check_name(name: str, path: str) -> None:
    if not _NAME.fullmatch(name) or name != name.lower():
        raise invalid(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _check_options(options: list[Json], path: str) -> None:
    if len(options) > MAX_OPTIONS:
        raise too_long(path, MAX_OPTIONS)
    if len({option.get("name") for option in options}) < len(options):
        raise invalid(
            path, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists"
        )
    optional_seen = False
    for index, option in enumerate(options):
        here = f"{path}.{index}"
        _check_name(option.get("name") or "", f"{here}.name")
        if not 1 <= len(option.get("description") or "") <= 100:
            raise bad_length(f"{here}.description", 1, 100)
        if option.get("type") in NESTING:
            _check_options(option.get("options") or [], f"{here}.options")
            continue
        if option.get("required") and optional_seen:
            raise invalid(
                here, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                "Required options must be placed before non-required options",
            )  # fmt: skip
        optional_seen = optional_seen or not option.get("required")
        _check_choices(option, here)


def _check_choices(option: Json, path: str) -> None:
    choices: list[Json] = option.get("choices") or []
    if choices and option.get("autocomplete"):
        raise invalid(
            path, "APPLICATION_COMMAND_OPTIONS_CHOICES_AUTOCOMPLETE",
            "Choices and autocomplete exclude each other",
        )  # fmt: skip
    check_choices(choices, f"{path}.choices")


def check_choices(choices: list[Json], path: str) -> None:
    """The rules for an option's choices, and for autocomplete's."""
    if len(choices) > 25:
        raise too_long(path, 25)
    for index, choice in enumerate(choices):
        if not 1 <= len(choice.get("name") or "") <= 100:
            raise bad_length(f"{path}.{index}.name", 1, 100)
        if isinstance(choice.get("value"), str) and not 1 <= len(choice["value"]) <= 100:
            raise bad_length(f"{path}.{index}.value", 1, 100)


def _texts(part: Json) -> Iterator[str]:
    """The texts that count into a command's size."""
    yield part.get("name") or ""
    yield part.get("description") or ""
    for choice in part.get("choices") or ():
        yield choice["name"]
        yield str(choice["value"])
    for option in part.get("options") or ():
        yield from _texts(option)
