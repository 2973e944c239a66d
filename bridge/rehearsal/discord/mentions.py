"""Which people and roles a message really notifies, after `allowed_mentions`."""

import re
from dataclasses import dataclass

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import invalid

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True)
class AllowedMentions:
    """The sender's wish: None for users or roles means every one that the text names."""

    everyone: bool
    users: frozenset[str] | None
    roles: frozenset[str] | None
    replied_user: bool


ANY = AllowedMentions(everyone=True, users=None, roles=None, replied_user=True)
# Interaction answers notify people only, unless they ask for more.
USERS_ONLY = AllowedMentions(everyone=False, users=None, roles=frozenset(), replied_user=True)


@dataclass(frozen=True)
class Mentions:
    users: tuple[str, ...]
    roles: tuple[str, ...]
    everyone: bool


def parse_allowed(wish: Json | None, default: AllowedMentions) -> AllowedMentions:
    """`allowed_mentions` of a request; a list together with its `parse` word is refused."""
    if wish is None:
        return default
    words: set[str] = set(wish.get("parse") or ())
    for word in ("users", "roles"):
        if word in words and wish.get(word):
            raise invalid(
                f"allowed_mentions.{word}",
                "MUTUALLY_EXCLUSIVE",
                f'`parse:["{word}"]` and `{word}: [ids...]` are mutually exclusive.',
            )
        if len(wish.get(word) or ()) > 100:
            raise invalid(
                f"allowed_mentions.{word}", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer."
            )

    def chosen(word: str) -> frozenset[str] | None:
        return None if word in words else frozenset(str(id) for id in wish.get(word) or ())

    return AllowedMentions(
        everyone="everyone" in words,
        users=chosen("users"),
        roles=chosen("roles"),
        replied_user=bool(wish.get("replied_user")),
    )


def resolve(text: str, allowed: AllowedMentions, *, everyone: bool) -> Mentions:
    """The notified ids in order of appearance; `everyone`: whether the author may use @everyone.

    Discord does not look into code, so neither is anything inside backticks a mention here.
    """
    plain = _CODE.sub(" ", text)

    def kept(pattern: re.Pattern[str], chosen: frozenset[str] | None) -> tuple[str, ...]:
        found = dict.fromkeys(pattern.findall(plain))
        return tuple(id for id in found if chosen is None or id in chosen)

    return Mentions(
        users=kept(_USER, allowed.users),
        roles=kept(_ROLE, allowed.roles),
        everyone=everyone and allowed.everyone and bool(_EVERYONE.search(plain)),
    )
