"""The shapes of Discord's objects, as the REST API answers them."""

from collections.abc import Iterable, Sequence

from bridge.rehearsal.discord.document import Json, timestamp
from bridge.rehearsal.discord.permissions import Permission

TEXT, CATEGORY, ANNOUNCEMENT, FORUM = 0, 4, 5, 15
ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD = 10, 11, 12
THREADS = frozenset({ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD})
HOLDS_MESSAGES = THREADS | {TEXT, ANNOUNCEMENT}


def is_thread(channel: Json) -> bool:
    return channel["type"] in THREADS


def user(id: str, name: str, *, bot: bool = False) -> Json:
    return {
        "id": id,
        "username": name,
        "discriminator": "0",
        "global_name": None if bot else name,
        "avatar": None,
        "bot": bot,
        "public_flags": 0,
        "flags": 0,
        "primary_guild": None,
    }


def member(person: Json, roles: Sequence[str] = ()) -> Json:
    return {
        "user": person,
        "nick": None,
        "avatar": None,
        "banner": None,
        "roles": list(roles),
        "joined_at": timestamp(),
        "premium_since": None,
        "communication_disabled_until": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
    }


def role(
    id: str, name: str, permissions: Permission, position: int, *, bot: str | None = None
) -> Json:
    """A role; one that belongs to a bot is managed and names it."""
    return {
        "id": id,
        "name": name,
        "permissions": str(int(permissions)),
        "position": position,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": bot is not None,
        "mentionable": False,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    } | ({} if bot is None else {"tags": {"bot_id": bot}})


def channel(
    id: str, guild: str, name: str, kind: int, position: int, parent: str | None = None
) -> Json:
    shape: Json = {
        "id": id,
        "type": kind,
        "guild_id": guild,
        "name": name,
        "position": position,
        "parent_id": parent,
        "flags": 0,
        "permission_overwrites": [],
    }
    if kind != CATEGORY:
        shape |= {"topic": None, "nsfw": False, "rate_limit_per_user": 0, "last_message_id": None}
    if kind == FORUM:
        shape |= {
            "available_tags": [],
            "default_reaction_emoji": None,
            "default_sort_order": None,
            "default_forum_layout": 0,
        }
    return shape


def thread(
    id: str, parent: Json, name: str, kind: int, owner: str, *, auto_archive: int, slowmode: int
) -> Json:
    now = timestamp()
    metadata: Json = {
        "archived": False,
        "archive_timestamp": now,
        "auto_archive_duration": auto_archive,
        "locked": False,
        "create_timestamp": now,
    }
    if kind == PRIVATE_THREAD:
        metadata["invitable"] = True
    return {
        "id": id,
        "type": kind,
        "guild_id": parent["guild_id"],
        "parent_id": parent["id"],
        "owner_id": owner,
        "name": name,
        "last_message_id": None,
        "message_count": 0,
        "member_count": 0,
        "total_message_sent": 0,
        "rate_limit_per_user": slowmode,
        "flags": 0,
        "thread_metadata": metadata,
    } | ({"applied_tags": []} if parent["type"] == FORUM else {})


def thread_member(thread: str, user: str) -> Json:
    return {"id": thread, "user_id": user, "join_timestamp": timestamp(), "flags": 0}


def message(id: str, channel: str, author: Json) -> Json:
    """An empty message; whoever posts it fills in what it shows."""
    return {
        "id": id,
        "channel_id": channel,
        "author": author,
        "type": 0,
        "content": "",
        "timestamp": timestamp(),
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "components": [],
        "pinned": False,
        "flags": 0,
    }


def emoji(name: str) -> Json:
    """An emoji from its URL form: `👍`, or `name:id` for one of a server's own."""
    label, _, id = name.partition(":")
    return {"id": id or None, "name": label}


def reactions(by_emoji: dict[str, list[str]], me: str) -> list[Json]:
    return [
        {
            "emoji": emoji(name),
            "count": len(users),
            "count_details": {"burst": 0, "normal": len(users)},
            "burst_colors": [],
            "me_burst": False,
            "me": me in users,
        }
        for name, users in by_emoji.items()
    ]


def application(id: str, name: str, owner: Json, bot: Json, flags: int) -> Json:
    return {
        "id": id,
        "name": name,
        "icon": None,
        "description": "",
        "type": None,
        "bot": bot,
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": flags,
        "flags_new": str(flags),
        "owner": owner,
        "team": None,
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "eligible_oauth2_scopes": ["bot", "applications.commands"],
    }


_UNSET_IN_GUILD = (
    "icon",
    "description",
    "home_header",
    "splash",
    "discovery_splash",
    "banner",
    "application_id",
    "afk_channel_id",
    "system_channel_id",
    "widget_channel_id",
    "max_presences",
    "vanity_url_code",
    "rules_channel_id",
    "safety_alerts_channel_id",
    "public_updates_channel_id",
    "incidents_data",
)


def guild(id: str, name: str, owner: str, roles: Iterable[Json]) -> Json:
    unset: Json = dict.fromkeys(_UNSET_IN_GUILD)
    return unset | {
        "id": id,
        "name": name,
        "owner_id": owner,
        "roles": list(roles),
        "features": [],
        "region": "deprecated",
        "afk_timeout": 300,
        "system_channel_flags": 0,
        "widget_enabled": False,
        "verification_level": 0,
        "default_message_notifications": 1,
        "mfa_level": 0,
        "explicit_content_filter": 0,
        "max_members": 500_000,
        "max_stage_video_channel_users": 50,
        "max_video_channel_users": 25,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "premium_progress_bar_enabled": False,
        "nsfw": False,
        "nsfw_level": 0,
        "emojis": [],
        "stickers": [],
    }
