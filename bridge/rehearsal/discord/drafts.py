"""A message on its way in: a request's body, checked against Discord's limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.rehearsal.discord import components, embeds, mentions
from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.errors import bad_length, invalid, refusal, too_long
from bridge.rehearsal.discord.files import MAX_BYTES, MAX_PER_MESSAGE, Upload
from bridge.rehearsal.discord.mentions import AllowedMentions

MAX_CONTENT = 2000
# People who pay may write more than any bot.
MAX_CONTENT_OF_PEOPLE = 4000
MAX_NONCE = 25

SUPPRESS_EMBEDS, HAS_THREAD, EPHEMERAL, LOADING = 1 << 2, 1 << 5, 1 << 6, 1 << 7
SUPPRESS_NOTIFICATIONS, COMPONENTS_V2 = 1 << 12, 1 << 15
_SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2


@dataclass(frozen=True)
class Draft:
    """What a sender asked for. None marks what an edit leaves as it is."""

    content: str | None = None
    embeds: list[Json] | None = None
    components: list[Json] | None = None
    keep_attachments: frozenset[str] | None = None
    uploads: tuple[Upload, ...] = ()
    flags: int | None = None
    tts: bool = False
    nonce: str | None = None
    enforce_nonce: bool = False
    reference: Json | None = None
    allowed_mentions: AllowedMentions = field(default=mentions.ANY)


def parse(
    body: Json,
    files: Mapping[str, Upload],
    *,
    default_mentions: AllowedMentions = mentions.ANY,
    settable: int = _SETTABLE,
    max_content: int = MAX_CONTENT,
) -> Draft:
    """A draft from a request's JSON and its `files[n]` parts; raises what Discord would answer.

    A key whose value is null means `empty`, a key that is absent `as it is`, as Discord has it.
    """
    flags = body.get("flags")
    draft = Draft(
        content=_content(body, max_content),
        embeds=embeds.check(body["embeds"] or []) if "embeds" in body else None,
        components=(body["components"] or []) if "components" in body else None,
        keep_attachments=_kept(body),
        uploads=_uploads(body, files),
        flags=None if flags is None else int(flags) & settable,
        tts=bool(body.get("tts")),
        nonce=_nonce(body),
        enforce_nonce=bool(body.get("enforce_nonce")),
        reference=body.get("message_reference"),
        allowed_mentions=mentions.parse_allowed(body.get("allowed_mentions"), default_mentions),
    )
    if len(draft.uploads) > MAX_PER_MESSAGE:
        raise refusal(30015)
    return draft


def check_whole(message: Json) -> None:
    """The rules that hold for a message as a whole, after a post or an edit."""
    v2 = bool(message["flags"] & COMPONENTS_V2)
    if v2 and (message["content"] or message["embeds"]):
        raise invalid(
            "content" if message["content"] else "embeds",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
            "The field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
        )
    if len(message["attachments"]) > MAX_PER_MESSAGE:
        raise refusal(30015)
    if not any(message[key] for key in ("content", "embeds", "components", "attachments")):
        raise refusal(50006)


def check_components(parts: list[Json], flags: int) -> None:
    components.check(parts, v2=bool(flags & COMPONENTS_V2))


def _content(body: Json, limit: int) -> str | None:
    if "content" not in body:
        return None
    content = str(body["content"] if body["content"] is not None else "").strip()
    if len(content) > limit:
        raise too_long("content", limit)
    return content


def _nonce(body: Json) -> str | None:
    nonce = body.get("nonce")
    if nonce is None:
        return None
    if len(str(nonce)) > MAX_NONCE:
        raise bad_length("nonce", 1, MAX_NONCE)
    return str(nonce)


def _kept(body: Json) -> frozenset[str] | None:
    if "attachments" not in body:
        return None
    return frozenset(str(attachment["id"]) for attachment in body["attachments"] or ())


def _uploads(body: Json, files: Mapping[str, Upload]) -> tuple[Upload, ...]:
    described = {str(a["id"]): a for a in body.get("attachments") or ()}
    for upload in files.values():
        if len(upload.data) > MAX_BYTES:
            raise refusal(40005)
    return tuple(
        Upload(
            name=described.get(key, {}).get("filename") or upload.name,
            data=upload.data,
            description=described.get(key, {}).get("description"),
        )
        for key, upload in files.items()
    )
