"""The slash commands. Each acknowledges first, then works, in a busy thread too."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import discord
from discord import app_commands

from bridge import cleanup
from bridge.access import NOT_ALLOWED, Access
from bridge.compactor import Wish
from bridge.conversation import Conversation
from bridge.conversations import Conversations
from bridge.discord_io.outbox import Outbox
from bridge.interact.acknowledge import Deliveries, whisper
from bridge.modes import MODES, Modes
from bridge.runner import Runner
from bridge.slash import Answer, Desk, commands, offer_nothing
from bridge.status import cleanup_text, measure, status_text
from bridge.tuning import chosen_line
from compaction.choice import STRATEGIES
from state import Store

log = logging.getLogger(__name__)

HELP = """\
**Write in this channel and a thread opens; write in the thread and Claude answers.**
Each thread is one Claude Code session of its own. What you write while Claude works waits its \
turn (⏳); edit or delete a waiting message and the change counts.

`/new` start over: the next message begins a clean session
`/new fork:True` branch off: the next message begins a new session that knows all of this one
`/stop` interrupt Claude and empty the queue
`/status` session, folder, model, context, queue, process
`/context` how full the context is, when its cache expires, and where it came from
`/compact` make the session smaller: old results of tools go, words stay, and Claude can read back \
what went; `dry_run:True` only tells, `undo:True` goes back
`/mode` what Claude may do without asking: default, acceptEdits, plan, auto
`/resume` go on here with another session of this project, also one of the terminal
`/sessions` all threads with their sessions; `/handoff` go on in a terminal
`/export` the conversation as a file, Markdown or HTML
`/model` `/effort` `/verbosity` `/queue-mode` for this thread; in a channel, for its new threads
`/project` in which folder new threads of this channel work
`/worktree` a git worktree and branch for this thread, removed only when nothing is lost
`/usage` cost and tokens by thread and day, and the budget
`/cleanup` end processes that no thread owns (never the history); `dry_run:True` only lists them
`/help` this text

Claude Code's own commands work as messages: `/compact` (a summary instead), `/review` …
"""

_NOT_A_SESSION = "This is no session. Write in one of my channels, or mention me, to begin one."


class Commands(app_commands.CommandTree[discord.Client]):
    """All commands; every one passes `interaction_check`."""

    def __init__(
        self,
        client: discord.Client,
        access: Access,
        conversations: Conversations,
        runner: Runner,
        store: Store,
        outbox: Outbox,
        modes: Modes,
    ) -> None:
        """The parts that the commands work with."""
        super().__init__(
            client,
            allowed_contexts=app_commands.AppCommandContext(
                guild=True, dm_channel=False, private_channel=False
            ),
        )
        self._access = access
        self._conversations = conversations
        self._runner = runner
        self._store = store
        self._outbox = outbox
        self._modes = modes
        self._deliveries = Deliveries()
        for command in (
            *(self._new(), self._stop(), self._status(), self._context(), self._compact()),
            *(self._mode(), self._cleanup(), self._help()),
        ):
            self.add_command(command)
        for command in commands(Desk(conversations.services, conversations)):
            self.add_command(command)

    async def interaction_check(self, interaction: discord.Interaction[Any], /) -> bool:
        """Let each interaction of a permitted person through once."""
        if not self._deliveries.first(interaction):
            return False
        if self._access.permits(interaction.user):
            return True
        if interaction.type is discord.InteractionType.autocomplete:
            await offer_nothing(interaction)
        else:
            await whisper(interaction, NOT_ALLOWED)
        return False

    async def _begin(self, interaction: discord.Interaction[Any], *, private: bool) -> Answer:
        return await Answer.begin(interaction, self._outbox, private=private)

    async def on_error(
        self, interaction: discord.Interaction[Any], error: app_commands.AppCommandError, /
    ) -> None:
        """A command failed: say so where it was given."""
        log.error("a command in channel %s failed", interaction.channel_id, exc_info=error)
        words = "⚠️ The command failed; the bot's log says why."
        try:
            if interaction.response.is_done():
                await interaction.edit_original_response(content=words)
            else:
                await interaction.response.send_message(words, ephemeral=True)
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            log.warning("the failure could not be shown: %s", fault)

    def _here(self, interaction: discord.Interaction[Any]) -> Conversation | None:
        """The conversation of the thread in which a command was given."""
        thread = interaction.channel_id
        if thread is None or self._store.get(thread) is None:
            return None
        return self._conversations.of(thread)

    # --- the commands ---------------------------------------------------------------------------
    def _new(self) -> app_commands.Command[Any, ..., None]:
        @app_commands.describe(fork="Branch off: the new session knows all of the present one")
        async def new(interaction: discord.Interaction[Any], fork: bool = False) -> None:
            answer = await self._begin(interaction, private=False)
            conversation = self._here(interaction)
            if conversation is None:
                await answer.say(_NOT_A_SESSION)
            elif fork:
                await answer.say(await self._branch(conversation))
            else:
                dropped = await conversation.reset(f"{interaction.user.display_name} (/new)")
                await answer.say(f"🆕 The next message starts a clean session.{_lost(dropped)}")

        return _command("new", "Start over with a clean session", new)

    @staticmethod
    async def _branch(conversation: Conversation) -> str:
        busy = conversation.active is not None
        if not await conversation.fork():
            return "There is nothing to branch off yet: the next message starts a session anyway."
        when = "After the turn that runs, the next message" if busy else "The next message"
        return f"🌿 {when} starts a new session that knows all of this one."

    def _stop(self) -> app_commands.Command[Any, ..., None]:
        async def stop(interaction: discord.Interaction[Any]) -> None:
            answer = await self._begin(interaction, private=False)
            conversation = self._here(interaction)
            if conversation is None:
                await answer.say(_NOT_A_SESSION)
                return
            stopped, dropped = await conversation.stop(interaction.user.display_name)
            what = "⏹️ Stopped; the session is kept." if stopped else "Nothing is running here."
            await answer.say(what + _lost(dropped))

        return _command("stop", "Interrupt Claude and empty the queue", stop)

    def _status(self) -> app_commands.Command[Any, ..., None]:
        async def status(interaction: discord.Interaction[Any]) -> None:
            answer = await self._begin(interaction, private=True)
            conversation = self._here(interaction)
            if conversation is None:
                await answer.say(_NOT_A_SESSION)
                return
            record = conversation.record
            tree = await asyncio.to_thread(measure, record.process) if record.process else None
            chosen = chosen_line(record.settings, self._conversations.services.config)
            active, now = conversation.active, time.time()
            await answer.say(status_text(record, active, tree, now=now, chosen=chosen))

        return _command("status", "Session, model, context, queue, process", status)

    def _context(self) -> app_commands.Command[Any, ..., None]:
        async def context(interaction: discord.Interaction[Any]) -> None:
            answer = await self._begin(interaction, private=True)
            conversation = self._here(interaction)
            if conversation is None:
                await answer.say(_NOT_A_SESSION)
                return
            await answer.say(await conversation.session.compacting.overview(time.time()))

        return _command("context", "How full the context is, and where it came from", context)

    def _compact(self) -> app_commands.Command[Any, ..., None]:
        @app_commands.describe(
            strategy="How; the settings' way if not given",
            target="Percent of the model's window to come down to",
            dry_run="Only say what would be done",
            undo="Go back to the session before the last compaction",
            instructions="What is to be kept in mind",
        )
        @app_commands.choices(strategy=[app_commands.Choice(name=n, value=n) for n in STRATEGIES])
        async def compact(
            interaction: discord.Interaction[Any],
            strategy: str | None = None,
            target: app_commands.Range[int, 5, 90] | None = None,
            dry_run: bool = False,
            undo: bool = False,
            instructions: str = "",
        ) -> None:
            answer = await self._begin(interaction, private=False)
            conversation = self._here(interaction)
            if conversation is None:
                await answer.say(_NOT_A_SESSION)
                return
            wish = Wish(strategy, target / 100 if target else None, instructions)
            compacting = conversation.session.compacting
            if dry_run:
                seen = compacting.preview_undo() if undo else compacting.preview(wish)
                await answer.say(await seen)
                return
            if conversation.active is not None:
                await answer.say("⏳ A turn runs; what you ask for is done right after it.")
            asked = compacting.undo() if undo else compacting.compact(wish)
            await answer.say(await conversation.granted(asked))

        return _command("compact", "Make the session smaller without losing what counts", compact)

    def _mode(self) -> app_commands.Command[Any, ..., None]:
        @app_commands.describe(mode="What Claude may do without asking")
        @app_commands.choices(
            mode=[app_commands.Choice(name=f"{m}: {what}", value=m) for m, what in MODES.items()]
        )
        async def switch(interaction: discord.Interaction[Any], mode: str) -> None:
            answer = await self._begin(interaction, private=False)
            conversation = self._here(interaction)
            if conversation is None:
                await answer.say(_NOT_A_SESSION)
                return
            await answer.say(await self._modes.switch(conversation.thread, mode))

        return _command("mode", "What Claude may do here without asking", switch)

    def _cleanup(self) -> app_commands.Command[Any, ..., None]:
        @app_commands.describe(dry_run="Only list them")
        async def tidy(interaction: discord.Interaction[Any], dry_run: bool = False) -> None:
            answer = await self._begin(interaction, private=True)
            folder, owned = self._runner.state_dir, self._runner.markers()
            found = await asyncio.to_thread(cleanup.scan, folder, owned)
            # What was started while the scan ran has an owner by now.
            owned = self._runner.markers()
            orphans = [orphan for orphan in found if orphan.marker not in owned]
            report = None
            if orphans and not dry_run:
                report = await cleanup.end(orphans, grace=self._runner.grace)
                await asyncio.to_thread(cleanup.sweep_run_dirs, folder, self._runner.markers())
            await answer.say(cleanup_text(orphans, report))

        return _command("cleanup", "End processes that no thread owns", tidy)

    def _help(self) -> app_commands.Command[Any, ..., None]:
        async def show(interaction: discord.Interaction[Any]) -> None:
            answer = await self._begin(interaction, private=True)
            await answer.say(HELP)

        return _command("help", "What this bot does, and its commands", show)


def _command(
    name: str, description: str, callback: Callable[..., Coroutine[Any, Any, None]]
) -> app_commands.Command[Any, ..., None]:
    return app_commands.Command(name=name, description=description, callback=callback)


def _lost(dropped: int) -> str:
    if not dropped:
        return ""
    return f" {dropped} waiting message{'s were' if dropped > 1 else ' was'} dropped."
