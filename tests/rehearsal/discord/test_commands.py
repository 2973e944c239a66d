"""The rules for registering commands."""

from typing import Any

import pytest

from bridge.rehearsal.discord import ApiError
from bridge.rehearsal.discord.commands import Commands
from bridge.rehearsal.discord.world import World


def command(name: str = "new", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Starts anew", **more}


def option(name: str = "fork", kind: int = 5, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "An option", "type": kind, **more}


def choice(number: int, size: int = 1) -> dict[str, Any]:
    return {"name": str(number).rjust(size, "n"), "value": str(number).rjust(size, "v")}


@pytest.mark.parametrize(
    "bad",
    [
        command("New"),
        command("two words"),
        command(""),
        command("x" * 33),
        command(description=""),
        command(description="x" * 101),
        command(options=[option(f"o{n}") for n in range(26)]),
        command(options=[option(), option()]),
        command(options=[option("a"), option("b", required=True)]),
        command(options=[option("Upper")]),
        command(options=[option(description="")]),
        command(options=[option(kind=3, choices=[choice(n) for n in range(26)])]),
        command(options=[option(kind=3, choices=[{"name": "", "value": "x"}])]),
        command(options=[option(kind=3, autocomplete=True, choices=[{"name": "n", "value": "v"}])]),
        command(options=[option(f"o{n}", 3, choices=[choice(n, 100)] * 2) for n in range(25)]),
    ],
)
def test_bad_commands_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as error:
        Commands(World()).replace_all(None, [bad])
    assert error.value.code == 50035


def test_a_name_is_taken_once_per_kind() -> None:
    commands = Commands(World())
    with pytest.raises(ApiError):
        commands.replace_all(None, [command(), command()])
    assert len(commands.replace_all(None, [command(), {"name": "new", "type": 3}])) == 2


def test_a_hundred_commands_are_the_most() -> None:
    many = [command(f"c{n}") for n in range(101)]
    with pytest.raises(ApiError) as error:
        Commands(World()).replace_all(None, many)
    assert error.value.code == 30032
    assert len(Commands(World()).replace_all(None, many[:100])) == 100


def test_putting_a_known_name_overwrites_it() -> None:
    commands = Commands(World())
    first, new = commands.put(None, command())
    again, fresh = commands.put(None, command(description="Better"))
    assert (new, fresh) == (True, False)
    assert first["id"] == again["id"] and first["version"] != again["version"]
    assert commands.on(None) == [again]


def test_editing_and_deleting_go_by_id() -> None:
    world = World()
    commands = Commands(world)
    kept, _ = commands.put(world.guild_id, command())
    edited = commands.edit(world.guild_id, kept["id"], {"description": "Other"})
    assert edited["description"] == "Other"
    commands.delete(world.guild_id, kept["id"])
    with pytest.raises(ApiError) as error:
        commands.get(world.guild_id, kept["id"])
    assert error.value.code == 10063


def test_the_bulk_put_forgets_what_it_does_not_name() -> None:
    commands = Commands(World())
    commands.replace_all(None, [command("a"), command("b")])
    assert [c["name"] for c in commands.replace_all(None, [command("b")])] == ["b"]
    assert [c["name"] for c in commands.on(None)] == ["b"]
