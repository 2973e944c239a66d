"""Which faults of a request to Discord are worth another try, and how long to go on.

discord.py itself waits for rate limits and repeats 500, 502, 504 and 524 a few times. It does not
repeat a dropped connection; and after its own tries the outage may still last.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp
import discord

T = TypeVar("T")

log = logging.getLogger(__name__)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
UNKNOWN_INTERACTION = 10062
TOO_MANY_OLD_EDITS = 30046
ALREADY_ACKNOWLEDGED = 40060
ARCHIVED = 50083
THREAD_EXISTS = 160004
LOCKED = 160005

_DELAYS = (0.1, 0.5, 1, 2, 5, 10, 20, 30)
_PATIENCE = 600.0
"""Seconds over which a request that may be repeated is tried again."""


async def persist(what: str, call: Callable[[], Awaitable[T]]) -> T:
    """Make a request that is safe to repeat until it succeeds or is refused.

    A refusal (4xx) is raised at once; an outage is raised after ten minutes.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + _PATIENCE
    tries = 0
    while True:
        try:
            return await call()
        except (aiohttp.ClientError, OSError, TimeoutError, discord.DiscordServerError) as fault:
            if clock() > deadline:
                raise
            delay = _DELAYS[min(tries, len(_DELAYS) - 1)]
            log.warning("%s: %s; again in %s s", what, fault or type(fault).__name__, delay)
        tries += 1
        await asyncio.sleep(delay)
