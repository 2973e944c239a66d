"""What a person typed behind a slash command, in the shape of an interaction's data."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bridge.rehearsal.discord import commands
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.world import World

Attach = Callable[[str, bytes], Json]

_PYTHON: Mapping[int, tuple[type, ...]] = {
    commands.STRING: (str,),
    commands.INTEGER: (int,),
    commands.BOOLEAN: (bool,),
    commands.NUMBER: (int, float),
    commands.USER: (str,),
    commands.CHANNEL: (str,),
    commands.ROLE: (str,),
    commands.MENTIONABLE: (str,),
    commands.ATTACHMENT: (tuple,),
}


class OptionError(ValueError):
    """The client would not let a person send this."""


def command_data(
    world: World,
    command: Json,
    path: list[str],
    values: Mapping[str, Any],
    *,
    attach: Attach,
    focused: str | None = None,
) -> Json:
    """The `data` of a slash command or, with `focused`, of its autocompletion.

    `path` names the subcommand, outermost first; an attachment's value is `(name, bytes)`.
    """
    leaf = command
    nesting: list[Json] = []
    for name in path:
        leaf = _inner(leaf, name)
        nesting.append({"name": name, "type": leaf["type"]})
    if any(option["type"] in commands.NESTING for option in leaf.get("options", ())):
        raise OptionError(f"/{command['name']} needs one of its subcommands")
    resolved: Json = {}
    options = _filled(world, leaf, values, focused, resolved, attach)
    for level in reversed(nesting):
        options = [level | {"options": options}]
    data: Json = {key: command[key] for key in ("id", "name", "type")}
    data["options"] = options
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    return data | ({"resolved": resolved} if resolved else {})


def _inner(parent: Json, name: str) -> Json:
    for option in parent.get("options", ()):
        if option["name"] == name and option["type"] in commands.NESTING:
            return option
    raise OptionError(f"{parent['name']!r} has no subcommand {name!r}")


def _filled(
    world: World,
    leaf: Json,
    values: Mapping[str, Any],
    focused: str | None,
    resolved: Json,
    attach: Attach,
) -> list[Json]:
    known: dict[str, Json] = {option["name"]: option for option in leaf.get("options", ())}
    if unknown := set(values) - set(known):
        raise OptionError(f"{leaf['name']!r} has no option {sorted(unknown)}")
    if focused is not None and not known[focused].get("autocomplete"):
        raise OptionError(f"option {focused!r} of {leaf['name']!r} does not complete")
    missing = [n for n, o in known.items() if o.get("required") and n not in values]
    if missing and focused is None:
        raise OptionError(f"{leaf['name']!r} needs {missing}")
    filled: list[Json] = []
    for name, option in known.items():
        if name not in values:
            continue
        value = values[name]
        if name == focused:
            # While it is being typed, the value of any option is text.
            typed = str(value) if option["type"] == commands.STRING else value
            filled.append({"name": name, "type": option["type"], "value": typed, "focused": True})
            continue
        _check_value(option, value)
        if option["type"] == commands.ATTACHMENT:
            attachment = attach(*value)
            resolved.setdefault("attachments", {})[attachment["id"]] = attachment
            value = attachment["id"]
        else:
            resolve(world, option["type"], [value], resolved)
        filled.append({"name": name, "type": option["type"], "value": value})
    return filled


def _check_value(option: Json, value: Any) -> None:
    name, kind = option["name"], option["type"]
    if not isinstance(value, _PYTHON[kind]) or (
        isinstance(value, bool) and kind != commands.BOOLEAN
    ):
        raise OptionError(f"option {name!r} is of type {kind}, not {type(value).__name__}")
    choices = [choice["value"] for choice in option.get("choices", ())]
    if choices and value not in choices:
        raise OptionError(f"option {name!r} is one of {choices}, not {value!r}")
    size: Any = len(value) if isinstance(value, str) else value
    for low, high in (("min_value", "max_value"), ("min_length", "max_length")):
        if low in option and size < option[low]:
            raise OptionError(f"option {name!r} is below {option[low]}")
        if high in option and size > option[high]:
            raise OptionError(f"option {name!r} is above {option[high]}")


def resolve(world: World, kind: int, ids: Iterable[str], into: Json) -> None:
    """Add the documents behind picked users, roles and channels to an interaction's `resolved`."""
    for id in ids:
        if kind in (commands.USER, commands.MENTIONABLE) and id in world.users:
            into.setdefault("users", {})[id] = world.users[id]
            if id in world.members:
                member = {k: v for k, v in world.members[id].items() if k not in _NOT_PARTIAL}
                into.setdefault("members", {})[id] = member | {"permissions": "0"}
        elif kind in (commands.ROLE, commands.MENTIONABLE) and id in world.roles:
            into.setdefault("roles", {})[id] = world.roles[id]
        elif kind == commands.CHANNEL:
            into.setdefault("channels", {})[id] = world.channel(id) | {"permissions": "0"}


_NOT_PARTIAL = frozenset({"user", "deaf", "mute"})
