"""Who may use the bot: nobody but those who are named, and without names its owners."""

import asyncio
from collections.abc import Collection
from typing import Any

import discord
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from bridge.access import Access
from bridge.rehearsal.discord import LoopbackDiscord
from tests.rehearsal.discord.rig import Bot, running

OWNER, FRIEND, STRANGER, ROBOT = "owner", "friend", "stranger", "robot"
PEOPLE = (OWNER, FRIEND, STRANGER, ROBOT)


class People:
    """Real users and members, as discord.py makes them of what Discord says."""

    def __init__(self, members: dict[str, discord.Member | discord.User], role: int) -> None:
        self.members = members
        self.role = role
        self.ids = {name: member.id for name, member in members.items()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def people() -> People:
    server = LoopbackDiscord(rate_limits="off")
    await server.start()
    role = server.add_role("friends")
    users: dict[str, Any] = {
        OWNER: server.owner,
        FRIEND: server.add_user("friend", roles=[role["id"]]),
        STRANGER: server.add_user("stranger"),
        ROBOT: server.add_user("robot", bot=True, roles=[role["id"]]),
    }
    heard: asyncio.Queue[discord.Member | discord.User] = asyncio.Queue()
    seen: dict[str, discord.Member | discord.User] = {}
    bot = Bot()

    async def on_message(message: discord.Message) -> None:
        heard.put_nowait(message.author)

    bot.event(on_message)
    async with running(server, bot):
        for name, user in users.items():
            await server.say(server.general, "hello", author=user)
            seen[name] = await asyncio.wait_for(heard.get(), 20)
    await server.stop()
    return People(seen, int(role["id"]))


def permitted(access: Access, people: People) -> set[str]:
    return {name for name, member in people.members.items() if access.permits(member)}


ROLE = -1
"""Stands for the id of the role that the friend and the robot have."""


@pytest.mark.parametrize(
    ("users", "roles", "owners", "may"),
    [
        ([], [], [], set[str]()),
        ([], [], [OWNER], {OWNER}),
        ([], [], [OWNER, STRANGER], {OWNER, STRANGER}),
        ([], [], [ROBOT], set[str]()),
        ([FRIEND], [], [OWNER], {FRIEND}),
        ([FRIEND, OWNER], [], [OWNER], {FRIEND, OWNER}),
        ([], [ROLE], [OWNER], {FRIEND}),
        ([STRANGER], [ROLE], [OWNER], {STRANGER, FRIEND}),
        ([ROBOT], [], [OWNER], {ROBOT}),
        ([], [12345], [OWNER], set[str]()),
    ],
)
def test_only_those_who_are_named_may_speak(
    people: People,
    users: Collection[str],
    roles: Collection[int],
    owners: Collection[str],
    may: set[str],
) -> None:
    access = Access(
        [people.ids[name] for name in users],
        [people.role if role == ROLE else role for role in roles],
    )
    assert permitted(access, people) == (may if users or roles else set())
    access.set_owners([people.ids[name] for name in owners])
    assert permitted(access, people) == may


@given(st.sets(st.sampled_from(PEOPLE)), st.sets(st.sampled_from(PEOPLE)), st.booleans())
def test_owners_count_only_where_nobody_is_named(
    people: People, users: set[str], owners: set[str], role: bool
) -> None:
    access = Access([people.ids[u] for u in users], [people.role] if role else [])
    access.set_owners([people.ids[o] for o in owners])
    named = {*users, FRIEND} if role else users
    alone = owners - {ROBOT}
    assert permitted(access, people) == (named if users or role else alone)
