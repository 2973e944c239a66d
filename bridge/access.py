"""Who may use the bot: one function that every way in passes."""

from collections.abc import Collection

import discord

NOT_ALLOWED = "🚫 You are not on this bot's list of people."


class Access:
    """Deny by default: without an allow-list only the application's owners may speak."""

    def __init__(self, users: Collection[int], roles: Collection[int]) -> None:
        """Ids of the users and of the roles that are allowed."""
        self._users = frozenset(users)
        self._roles = frozenset(roles)
        self._owners: frozenset[int] = frozenset()

    def set_owners(self, owners: Collection[int]) -> None:
        """Who owns the application is known only after the login."""
        self._owners = frozenset(owners)

    def permits(self, user: discord.User | discord.Member) -> bool:
        """Whether this person, or this other bot, may use the bot.

        A role never lets a bot in: two bots that answer each other would not stop.
        """
        if user.id in self._users:
            return True
        if user.bot:
            return False
        if not self._users and not self._roles:
            return user.id in self._owners
        member_roles = user.roles if isinstance(user, discord.Member) else []
        return any(role.id in self._roles for role in member_roles)
