"""/resume, /sessions, /export, /handoff: sessions on this machine, in threads and in terminals."""

import asyncio
import shlex
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import discord
from discord import app_commands

from bridge import catalogue, export, history, ledger
from bridge.catalogue import Listed
from bridge.conversation import Conversation
from bridge.discord_io.outbox import File
from bridge.discord_io.retry import persist
from bridge.render import MESSAGE_LIMIT
from bridge.render.footer import tokens
from bridge.render.inline import code, escaped
from bridge.render.measure import clip, units
from bridge.render.names import thread_name
from bridge.render.trouble import trouble
from bridge.slash.desk import NOT_A_SESSION, Command, Desk, Interaction, command
from compaction.transcript import Transcript
from state import Record

ARCHIVE_AFTER = 10080
"""Minutes after which Discord hides a thread in which nothing is said."""

LARGEST_FILE = 9 << 20
"""Bytes of a file that every server takes, with room for what goes with it."""

_SHORT_RESULT = 200

_NONE_YET = "There is no session here yet: it begins with the first message."


def commands(desk: Desk) -> tuple[Command, ...]:
    """The four commands."""
    projects = desk.services.projects

    @app_commands.describe(session="Choose one of this project's sessions, or give its id")
    async def resume(interaction: Interaction, session: str) -> None:
        answer = await desk.begin(interaction, private=False)
        sid, cwd = session.strip(), desk.folder(interaction)
        found = await asyncio.to_thread(catalogue.find, projects, sid, cwd)
        if refused := await _not_to_be_resumed(desk, interaction, found, cwd):
            await answer.say(refused)
        elif found is not None and (conversation := desk.here(interaction)) is not None:
            await answer.say(await _bind(interaction, conversation, found))
        elif found is not None:
            await answer.say(await _open(desk, interaction, found, cwd))

    async def offered(interaction: Interaction, typed: str) -> Iterable[tuple[str, str]]:
        listed = await asyncio.to_thread(catalogue.sessions, projects, desk.folder(interaction))
        now = time.time()
        return [(one.choice(now), one.sid) for one in catalogue.matching(listed, typed)]

    async def sessions(interaction: Interaction) -> None:
        answer = await desk.begin(interaction, private=True)
        services = desk.services
        live = {t for t in services.store.threads() if services.runner.live(t) is not None}
        guild = interaction.guild_id
        threads = {t: r for t, r in services.store.threads().items() if r.guild == guild}
        await answer.say(sessions_text(threads, live))

    @app_commands.describe(format="What kind of file")
    @app_commands.choices(
        format=[
            app_commands.Choice(name="Markdown", value="markdown"),
            app_commands.Choice(name="HTML", value="html"),
        ]
    )
    async def export_(interaction: Interaction, format: str = "markdown") -> None:
        answer = await desk.begin(interaction, private=False)
        conversation = desk.here(interaction)
        if conversation is None:
            await answer.say(NOT_A_SESSION)
            return
        record = conversation.record
        kind: export.Format = "html" if format == "html" else "markdown"
        try:
            file = await asyncio.to_thread(_exported, projects, record, kind)
        except FileNotFoundError:
            await answer.say(_NONE_YET)
            return
        if len(file.data) > LARGEST_FILE:
            size = f"{len(file.data) / 1e6:.0f} MB"
            what = f"The conversation makes a file of {size}, more than Discord takes."
            await answer.say(trouble(what, "`/compact` it first, or read it in a terminal."))
            return
        await answer.say("📄 The conversation so far. Credentials in it are masked.", file)

    async def handoff(interaction: Interaction) -> None:
        answer = await desk.begin(interaction, private=False)
        conversation = desk.here(interaction)
        if conversation is None:
            await answer.say(NOT_A_SESSION)
        elif conversation.record.sid is None:
            await answer.say(_NONE_YET)
        elif not await conversation.session.release(conversation.active):
            await answer.say(
                "A turn runs here. Give `/handoff` again after its end, or `/stop` it first."
            )
        else:
            await answer.say(handoff_text(conversation.record, projects))

    return (
        command(
            "resume",
            "Go on here with a session of this project, also one of the terminal",
            resume,
            session=offered,
        ),
        command("sessions", "All threads with their sessions", sessions),
        command("export", "The conversation as a file", export_),
        command("handoff", "Go on in a terminal", handoff),
    )


def sessions_text(threads: dict[int, Record], live: Iterable[int]) -> str:
    """All threads, the latest first; as many as one message holds."""
    if not threads:
        return "There are no sessions yet. Write in one of my channels to begin one."
    alive = set(live)
    order = sorted(threads.items(), key=lambda item: -item[1].last_used)
    lines = [f"**{len(order)} sessions**, the latest first"]
    for at, (thread, record) in enumerate(order):
        if record.turn is not None:
            state = "🟢 at work"
        elif record.queue:
            state = f"⏳ {len(record.queue)} waiting"
        elif record.sid is None:
            state = "⚪ not begun"
        else:
            state = "🔵 ready" if thread in alive else "⚪ asleep"
        size = f" · {tokens(record.usage.context_tokens)}" if record.usage.context_tokens else ""
        line = f"<#{thread}> {state} · <t:{int(record.last_used)}:R>{size}"
        line += f" · {code(clip(Path(record.cwd).name or '/', 30))}"
        if units("\n".join([*lines, line])) > MESSAGE_LIMIT - 60:
            lines.append(f"… and {len(order) - at} older ones")
            break
        lines.append(line)
    return "\n".join(lines)


def handoff_text(record: Record, projects: Path) -> str:
    """The exact command with which a terminal goes on, and the way back."""
    line = f"cd {shlex.quote(record.cwd)} && claude --resume {record.sid}"
    config = projects.parent
    if config != Path.home() / ".claude":
        line = f"export CLAUDE_CONFIG_DIR={shlex.quote(str(config))}\n{line}"
    fence = "```" if "```" not in line else "~~~"
    return (
        f"🤝 Go on in a terminal of this machine:\n{fence}sh\n{line}\n{fence}\n"
        "My process has let go of the session. To come back, leave the terminal's session "
        "(`/exit`) and write here: as long as both would have it open, I do not."
    )


def _exported(projects: Path, record: Record, kind: export.Format) -> File:
    path = history.find_transcript(projects, record.sid, record.cwd) if record.sid else None
    if path is None:
        raise FileNotFoundError(record.sid)
    transcript = Transcript.read(path)
    head = export.Head(record.title, transcript.sid, record.cwd)
    data = export.export(transcript, head, kind)
    if len(data) > LARGEST_FILE:
        data = export.export(transcript, head, kind, longest=_SHORT_RESULT)
    return File(export.file_name(head, kind), data)


# --- resume -----------------------------------------------------------------------------------
async def _not_to_be_resumed(
    desk: Desk, interaction: Interaction, found: Listed | None, cwd: str
) -> str:
    """Why a session cannot go on here, and what to do; "" if it can."""
    if found is None:
        return "I know no such session. Begin to type its title and choose it from the list."
    folder = history.project_folder_name(cwd)
    if found.path.parent.name != folder:
        return trouble(
            f"That session belongs to another folder ({found.cwd or found.path.parent.name}).",
            "Bind a channel to that folder with `/project`, and resume it there.",
        )
    conversation = desk.here(interaction)
    threads = desk.services.store.threads()
    other = next((t for t, record in threads.items() if record.sid == found.sid), None)
    if other is not None:
        if conversation is not None and other == conversation.thread:
            return "This thread has that session already: just write."
        return f"<#{other}> has that session. Go on there, or give `/new` there first."
    if (pid := await asyncio.to_thread(catalogue.holder, found.path)) is not None:
        return trouble(
            f"Process {pid} has that session open.",
            "Leave it there (`/exit`), then give `/resume` again: two at once would lose history.",
        )
    if conversation is not None and not _rests(conversation):
        return "A turn runs here, or messages wait. Give `/stop`, then `/resume` again."
    return ""


def _rests(conversation: Conversation) -> bool:
    record = conversation.record
    return conversation.active is None and record.turn is None and not record.queue


async def _bind(interaction: Interaction, conversation: Conversation, found: Listed) -> str:
    by = f"{interaction.user.display_name} (/resume)"
    await conversation.reset(by, lambda r: ledger.resumed(r, found.sid, found.cost_usd))
    return f"📎 The next message goes on with {_named(found)}."


async def _open(desk: Desk, interaction: Interaction, found: Listed, cwd: str) -> str:
    """In a channel, a session gets a thread of its own."""
    channel = interaction.channel
    if not isinstance(channel, discord.TextChannel):
        return NOT_A_SESSION
    name = thread_name(found.title)

    async def make() -> discord.Thread:
        return await channel.create_thread(
            name=name,
            type=discord.ChannelType.public_thread,
            auto_archive_duration=ARCHIVE_AFTER,  # pyright: ignore[reportArgumentType]
        )

    try:
        thread: Any = await persist("open a thread", make)
    except discord.HTTPException as refused:
        return trouble(
            f"I could not open a thread here (Discord says: {refused.text}).",
            "Give me *Create Public Threads* and *Send Messages in Threads* in this channel.",
        )
    now = time.time()
    record = Record(
        cwd=cwd,
        guild=channel.guild.id,
        parent=channel.id,
        owner=interaction.user.id,
        title=name,
        created=now,
        last_used=now,
        settings=desk.services.store.channel(channel.id).settings,
    )
    desk.services.store.put(thread.id, ledger.resumed(record, found.sid, found.cost_usd))
    await desk.services.store.durable()
    return f"📎 <#{thread.id}> goes on with {_named(found)}: write there."


def _named(found: Listed) -> str:
    return f"**{escaped(clip(found.title, 80))}** (<t:{int(found.at)}:R>)"
