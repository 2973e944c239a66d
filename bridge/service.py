"""The bot as a service: start, run until told to stop, leave in order."""

import asyncio
import logging
import os
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import discord

from bridge import address, logs, notify
from bridge.bot import Bridge
from bridge.config import ClaudeNotFound, Config, ConfigError, child_environment, find_claude, load
from bridge.discord_io.retry import persist
from compaction.jev.environment import asker
from state import Store, StoreLocked

log = logging.getLogger(__name__)

OK, FAILED, MISCONFIGURED = 0, 1, os.EX_CONFIG
"""Exit codes; a service manager should not restart after the last one."""


def run(environ: Mapping[str, str]) -> int:
    """Run the bot until SIGTERM or SIGINT; returns the exit code."""
    try:
        config = load(environ)
        claude = find_claude(config, environ)
    except (ConfigError, ClaudeNotFound) as fault:
        logs.configure("INFO")
        log.error("%s", fault)
        log.error("`claude-bridge doctor` checks the whole set-up")
        return MISCONFIGURED
    logs.configure(config.log_level)
    return asyncio.run(_serve(config, environ, claude))


async def _serve(config: Config, environ: Mapping[str, str], claude: Path) -> int:
    try:
        store = await Store.open(config.state_dir)
    except StoreLocked as held:
        log.error("%s", held)
        return FAILED
    except OSError as fault:
        log.error("the state in %s cannot be used: %s", config.state_dir, fault)
        return FAILED
    try:
        for notice in store.notices:
            log.warning("%s", notice)
        return await _run_bot(config, environ, claude, store)
    finally:
        await store.close()


async def _run_bot(config: Config, environ: Mapping[str, str], claude: Path, store: Store) -> int:
    if config.discord_url:
        try:
            await address.use(config.discord_url, config.token.get_secret_value())
        except (aiohttp.ClientError, TimeoutError) as fault:
            log.error("BRIDGE_DISCORD_URL does not answer: %s", fault)
            return FAILED
    environment = child_environment(config, environ)
    bridge = Bridge(config, environment, claude, store, asker(environ))
    with _stopped_by_signals(bridge):
        try:
            async with bridge:
                await persist("log in", lambda: _log_in(bridge, config.token.get_secret_value()))
                await bridge.connect()
        except discord.LoginFailure:
            log.error("Discord does not take the token: copy a new one from the developer portal")
            return MISCONFIGURED
        except discord.PrivilegedIntentsRequired:
            log.error(
                "the bot may not read messages: switch on MESSAGE CONTENT INTENT "
                "on the Bot page of the developer portal"
            )
            return MISCONFIGURED
        except (discord.DiscordException, aiohttp.ClientError, OSError):
            log.exception("the connection to Discord is lost for good")
            return FAILED
    return OK


async def _log_in(bridge: Bridge, token: str) -> None:
    try:
        await bridge.login(token)
    except BaseException:
        # discord.py makes a new HTTP session for each try, and leaves the old one open.
        await bridge.http.close()
        raise


@contextmanager
def _stopped_by_signals(bridge: Bridge) -> Generator[None]:
    """SIGTERM and SIGINT end the bot in order; a second one ends it at once."""
    loop = asyncio.get_running_loop()
    closing: list[asyncio.Task[None]] = []

    def stop(number: signal.Signals) -> None:
        if closing:
            os._exit(128 + number)
        log.info("stopping; sessions are kept, and go on in the background")
        notify.notify("STOPPING=1")
        closing.append(asyncio.create_task(bridge.close()))

    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
