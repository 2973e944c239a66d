"""The Discord client: events become messages of conversations, and each thread id a session."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import discord

from bridge import history, notify, uploads
from bridge.access import Access
from bridge.commands import Commands
from bridge.compactor import Compactor
from bridge.config import Config
from bridge.conversations import Conversations
from bridge.courier import Courier
from bridge.discord_io.attachments import Downloads
from bridge.discord_io.backlog import Backlog
from bridge.discord_io.inbox import Inbox
from bridge.discord_io.outbox import Outbox
from bridge.interact import forms
from bridge.interact.approvals import Approvals
from bridge.interact.controls import AnswerButton, ChoiceMenu
from bridge.interact.outputs import OutputButton, Outputs
from bridge.launch import Launcher
from bridge.modes import Modes
from bridge.naming import Naming
from bridge.runner import Runner
from bridge.services import Services
from bridge.spending import Spending
from bridge.tools.server import ToolServer
from bridge.tools.thread import ThreadTools
from compaction.jev import JevAsker
from state import Store

log = logging.getLogger(__name__)

CATCH_UP_INTERVAL = 10.0
PATROL_INTERVAL = 300.0
SWEEP_INTERVAL = 86400.0
HEARTBEAT_INTERVAL = 20.0
DEAF = 120.0
"""Seconds for which a gateway connection that is dead may still pass for a live one."""


def intents() -> discord.Intents:
    """What the bot needs to be told: no more than messages in servers, and their words."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.message_content = True
    return wanted


class Bridge(discord.Client):
    """The bot. `approvals` and `outputs` are public for the buttons, which find them through it."""

    def __init__(
        self,
        config: Config,
        environment: Mapping[str, str],
        claude: Path,
        store: Store,
        asker: JevAsker | None = None,
    ) -> None:
        """`environment` is what the CLI gets; `claude` the CLI itself.

        `asker` scores for the compactions that ask; None is the offline scorer.
        """
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=intents(),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.5,
        )
        self.config = config
        self.store = store
        self.access = Access(config.allowed_users, config.allowed_roles)
        self.outbox = Outbox(self)
        self.approvals = Approvals(self.outbox, self.access, config.approval_timeout)
        self.outputs = Outputs(store, self.access, history.projects_dir(environment))
        self.runner = Runner(
            store,
            Launcher(
                claude=claude,
                environment=environment,
                state_dir=config.state_dir,
                orphan_timeout=config.orphan_timeout,
                grace=config.stop_grace,
            ),
            max_processes=config.max_processes,
            idle_timeout=config.idle_timeout,
            grace=config.stop_grace,
        )
        self.compactor = Compactor(config, history.projects_dir(environment), asker)
        self.courier = Courier(self, store, self.outbox, config.state_dir / "inbox")
        self.conversations = Conversations(
            Services(
                config=config,
                store=store,
                runner=self.runner,
                outbox=self.outbox,
                downloads=Downloads(self),
                approvals=self.approvals,
                courier=self.courier,
                tools=ToolServer(ThreadTools(store, self.outbox, self.courier, self).all()),
                projects=history.projects_dir(environment),
                compactor=self.compactor,
                spending=Spending(store, config.daily_budget),
                naming=Naming(self, store),
            )
        )
        self.inbox = Inbox(self, config, store, self.access, self.conversations, self.outbox)
        self.backlog = Backlog(self, config, store, self.access, self.inbox, self.outbox)
        modes = Modes(config, store, self.runner)
        self.tree = Commands(
            self, self.access, self.conversations, self.runner, store, self.outbox, modes
        )
        self._heartbeat = config.state_dir / "heartbeat"
        self._last_event = self._last_heartbeat()
        self._hearing: object | None = None  # another one for each time that events came again
        self._caught_up = False
        self._synced: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.ready_once = asyncio.Event()

    # --- start and end --------------------------------------------------------------------------
    async def setup_hook(self) -> None:
        """Once per process, after the login and before the first event."""
        application = await self.application_info()
        team = application.team
        owners = [m.id for m in team.members] if team else [application.owner.id]
        self.access.set_owners(owners)
        self.add_dynamic_items(OutputButton, AnswerButton, ChoiceMenu)
        await self.runner.attach_all()
        self.courier.resume()
        for thread in self.conversations.unfinished():
            record = self.store.get(thread)
            if record is not None:
                self.inbox.remake(thread, record)
                self.conversations.of(thread).resume()

    async def close(self) -> None:
        """Let go of all: processes go on in their shims, the state is on disk."""
        if self.is_closed():
            return
        self.inbox.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.conversations.close()
        await self.runner.close()
        await self.courier.close()
        await self.outbox.drain(3)
        await self.inbox.close()
        await super().close()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Pass an event on; discord.py has some even after its end, and trips over them."""
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def _sync_guilds(self) -> None:
        for guild in self.guilds:
            if guild.id not in self._synced:
                await self._sync_guild(guild)

    async def _sync_guild(self, guild: discord.abc.Snowflake) -> None:
        self._synced.add(guild.id)
        self.tree.copy_global_to(guild=guild)
        try:
            await self.tree.sync(guild=guild)
        except discord.Forbidden:
            log.error(
                "server %d does not take commands: invite the bot again with the scope "
                "applications.commands (claude-bridge doctor prints the address)",
                guild.id,
            )
        except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
            log.warning("the commands of server %d were not updated: %s", guild.id, fault)
            self._synced.discard(guild.id)

    # --- the gateway ----------------------------------------------------------------------------
    async def on_connect(self) -> None:
        """The gateway has named our servers: each is told our commands, where they are at once."""
        self._spawn(self._sync_guilds())

    async def on_ready(self) -> None:
        """A new gateway session, the first or a later one: what came before it was not sent."""
        log.info("connected as %s to %d servers", self.user, len(self.guilds))
        self._hear()
        self._spawn(self._sync_guilds())  # one may have come, or not have been told, meanwhile
        if not self.ready_once.is_set():
            self.ready_once.set()
            notify.notify("READY=1")
            interval = min(HEARTBEAT_INTERVAL, notify.watchdog_interval() or HEARTBEAT_INTERVAL)
            self._spawn(self._every(interval, self._beat))
            self._spawn(self._every(CATCH_UP_INTERVAL, self._catch_up_again))
            self._spawn(self._every(PATROL_INTERVAL, self._patrol))
            self._spawn(self._every(SWEEP_INTERVAL, self._sweep))
            await self._sweep()

    async def on_resumed(self) -> None:
        """The gateway session goes on, and has sent what it kept."""
        self._hear()

    async def on_disconnect(self) -> None:
        """The gateway is gone; until it was caught up with, nothing proves that we hear all."""
        self._hearing = None
        self._caught_up = False

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """A server is there: before the gateway is ready, later than that, or once again."""
        if self._hearing is not None:
            self._spawn(self._catch_up())

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        """A server has an outage."""
        self.backlog.fell_behind(guild.id, self._last_event)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """The bot was invited to a server."""
        self._spawn(self._sync_guild(guild))

    async def on_message(self, message: discord.Message) -> None:
        """A message was sent somewhere."""
        self.inbox.take(message)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """A message was edited."""
        self.inbox.edit(payload)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """A message was deleted."""
        self.inbox.withdraw(payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Several messages were deleted."""
        self.inbox.withdraw(payload.channel_id, payload.message_ids)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """A thread was deleted."""
        self.inbox.deleted(payload.thread_id)
        await self.conversations.forget(payload.thread_id)

    async def on_thread_create(self, thread: discord.Thread) -> None:
        """A private thread speaks to its members only."""
        if thread.me is None and self.store.get(thread.id) is not None:
            await thread.join()

    async def on_interaction(self, interaction: discord.Interaction[discord.Client]) -> None:
        """A form was sent; buttons, menus and commands find their own way."""
        await forms.submitted(self.approvals, interaction)

    # --- what goes on by itself -----------------------------------------------------------------
    def _hear(self) -> None:
        """Events come again, from now on: read back what came before."""
        self._hearing = object()
        for guild in self.guilds:
            self.backlog.fell_behind(guild.id, self._last_event)
        self._spawn(self._catch_up())

    async def _catch_up(self) -> None:
        begun, hearing = time.time(), self._hearing
        if hearing is None:
            return
        done = await self.backlog.catch_up()
        if done and hearing is self._hearing:
            self._last_event = max(self._last_event, begun - DEAF)
            self._caught_up = True
            await self._beat()

    async def _catch_up_again(self) -> None:
        if self.backlog.behind:
            await self._catch_up()

    async def _patrol(self) -> None:
        if self.healthy and self._caught_up:
            await self.backlog.patrol(active=3600)

    async def _sweep(self) -> None:
        await asyncio.to_thread(uploads.sweep, self.config.state_dir / "inbox")
        await asyncio.to_thread(self.compactor.sweep)

    async def _beat(self) -> None:
        """Leave a sign of life: for systemd, for a container's health check, for the next start.

        It comes from the event loop and only while the gateway answers: a bot that hears nothing
        is to be restarted, however well its process is.
        """
        if self.healthy:
            notify.notify("WATCHDOG=1")
            if self._caught_up:
                self._last_event = max(self._last_event, time.time() - DEAF)
                await asyncio.to_thread(self._leave_heartbeat, self._last_event + DEAF)

    @property
    def healthy(self) -> bool:
        """The gateway is connected, and answers."""
        return self._hearing is not None and not self.is_ws_ratelimited() and self.latency < 60

    def _leave_heartbeat(self, at: float) -> None:
        self._heartbeat.touch()
        os.utime(self._heartbeat, (at, at))

    def _last_heartbeat(self) -> float:
        """When events were last known to come; at the very first start, now."""
        try:
            return self._heartbeat.stat().st_mtime - DEAF
        except OSError:
            return time.time()

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        """Do something again and again; a fault ends it for this one time."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except Exception:
                log.exception("what is done every %g s failed", seconds)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
