"""What a reader sees of a message, as text."""

from collections.abc import Iterator

from bridge.rehearsal.discord import components
from bridge.rehearsal.discord.document import Json, part


def visible_text(message: Json) -> str:
    """Content, embeds and text components, a line each, in the order of the screen."""
    return "\n".join(filter(None, _parts(message)))


def _parts(message: Json) -> Iterator[str]:
    yield message["content"]
    for embed in message["embeds"]:
        yield part(embed, "author").get("name", "")
        yield embed.get("title", "")
        yield embed.get("description", "")
        for field in embed.get("fields", ()):
            yield field["name"]
            yield field["value"]
        yield part(embed, "footer").get("text", "")
    yield from components.texts(message["components"])
