"""What a message brings along beside its own words: what it answers, what it passes on, embeds."""

import discord

LONGEST_QUOTE = 400
"""Characters of the answered message: enough to know which one it is."""


def quoted(message: discord.Message) -> str:
    """The message that this one answers, short and marked as a quotation; "" if there is none."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ""
    answered = message.reference.resolved
    if not isinstance(answered, discord.Message):
        return ""
    words = _without_footers(answered.content) or embedded(answered.embeds)
    if not words and answered.attachments:
        words = "(files: " + ", ".join(file.filename for file in answered.attachments) + ")"
    if not words:
        return ""
    mine = answered.guild is not None and answered.author == answered.guild.me
    name = "you" if mine else _one_line(answered.author.display_name)
    return f"[This answers what {name} wrote:]\n{_marked(_short(words))}"


def passed_on(message: discord.Message) -> str:
    """Forwarded messages and embeds as text; "" if there are none."""
    parts = [_forwarded(snapshot) for snapshot in message.message_snapshots]
    return "\n\n".join(filter(None, [*parts, embedded(message.embeds)]))


def files(message: discord.Message) -> list[discord.Attachment]:
    """The files of a message, and of those that it forwards."""
    forwarded = [file for each in message.message_snapshots for file in each.attachments]
    return [*message.attachments, *forwarded]


def embedded(embeds: list[discord.Embed]) -> str:
    """What stands in embeds, as text."""
    return "\n\n".join(filter(None, map(_embed, embeds)))


def _forwarded(snapshot: discord.MessageSnapshot) -> str:
    stickers = [f"(sticker: {sticker.name})" for sticker in snapshot.stickers]
    words = "\n".join(filter(None, [snapshot.content, *stickers, embedded(snapshot.embeds)]))
    at = snapshot.created_at.strftime("%Y-%m-%d %H:%M UTC")
    if not words:
        return "" if not snapshot.attachments else f"[Forwarded, written {at}: only files]"
    return f"[Forwarded, written {at}:]\n{_marked(words)}"


def _embed(embed: discord.Embed) -> str:
    lines = [embed.author.name, embed.title, embed.description]
    lines += [f"{field.name}: {field.value}" for field in embed.fields]
    lines.append(embed.footer.text)
    told = [line.strip() for line in lines if line and line.strip()]
    if not told:
        return ""  # a picture alone, of which the address stands in the message
    head = f"[Embed: {embed.url}]" if embed.url else "[Embed:]"
    return f"{head}\n{_marked(chr(10).join(told))}"


def _without_footers(content: str) -> str:
    """The words without small print, which the bot writes under its answers."""
    return "\n".join(x for x in content.splitlines() if not x.startswith("-# ")).strip()


def _short(words: str) -> str:
    return words if len(words) <= LONGEST_QUOTE else words[:LONGEST_QUOTE].rstrip() + " …"


def _marked(words: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in words.splitlines())


def _one_line(name: str) -> str:
    return " ".join(name.split())
