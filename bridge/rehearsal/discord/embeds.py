"""Embeds: their limits, and the form in which Discord gives them back."""

from typing import Any

from bridge.rehearsal.discord.document import Json, part, without_nulls
from bridge.rehearsal.discord.errors import invalid, required, too_long

TOTAL = 6000
_TEXTS = (("title", 256), ("description", 4096))
_NESTED = (("footer", "text", 2048), ("author", "name", 256))


def check(embeds: list[Json]) -> list[Json]:
    """The embeds as they will be shown; a broken limit is refused with the field's path."""
    if len(embeds) > 10:
        raise too_long("embeds", 10)
    total = 0
    for index, embed in enumerate(embeds):
        total += _length(embed, f"embeds.{index}")
    if total > TOTAL:
        raise invalid(
            "embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {TOTAL}"
        )
    return [_shown(embed) for embed in embeds]


def with_attachments(embeds: list[Json], attachments: list[Json]) -> list[Json]:
    """The embeds with each `attachment://name` replaced by where the CDN serves that file."""
    urls = {f"attachment://{a['filename']}": a for a in attachments}

    def resolved(media: Json) -> Json:
        found = urls.get(media["url"])
        return media | {key: found[key] for key in ("url", "proxy_url")} if found else media

    return [
        embed | {key: resolved(embed[key]) for key in ("image", "thumbnail") if key in embed}
        for embed in embeds
    ]


def _length(embed: Json, path: str) -> int:
    """The characters of one embed that count; whitespace at the ends does not."""
    total = 0
    for key, limit in _TEXTS:
        total += _text(embed.get(key), f"{path}.{key}", limit)
    for key, inner, limit in _NESTED:
        total += _text(part(embed, key).get(inner), f"{path}.{key}.{inner}", limit)
    fields: list[Json] = embed.get("fields") or []
    if len(fields) > 25:
        raise too_long(f"{path}.fields", 25)
    for number, field in enumerate(fields):
        for key, limit in (("name", 256), ("value", 1024)):
            size = _text(field.get(key), f"{path}.fields.{number}.{key}", limit)
            if not size:
                raise required(f"{path}.fields.{number}.{key}")
            total += size
    return total


def _text(text: Any, path: str, limit: int) -> int:
    size = len(str(text or "").strip())
    if size > limit:
        raise too_long(path, limit)
    return size


def _shown(embed: Json) -> Json:
    shown: Json = without_nulls(embed)
    shown["type"] = "rich"
    for media in ("image", "thumbnail"):
        if media in shown:
            url = shown[media]["url"]
            shown[media] = {"url": url, "proxy_url": url, "width": 0, "height": 0}
    for nested in ("footer", "author"):
        if nested in shown:
            shown[nested] = without_nulls(shown[nested])
    if "fields" in shown:
        shown["fields"] = [{"inline": False} | without_nulls(field) for field in shown["fields"]]
    return shown
