"""Which faults of a request to Discord are worth another try, and how long to go on.

discord.py itself waits for rate limits and repeats 500, 502, 504 and 524 a few times. It does not
repeat a dropped connection; and after its own tries the outage may still last.
"""

import asyncio
import logging
import math
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
FOREVER = math.inf
"""The patience for what must reach Discord, however long it is away."""


async def persist(what: str, call: Callable[[], Awaitable[T]], *, patience: float = _PATIENCE) -> T:
    """Make a request that is safe to repeat until it succeeds or is refused.

    A refusal is raised at once; an outage is raised after `patience` seconds.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience
    tries = 0
    while True:
        try:
            return await call()
        except (aiohttp.ClientError, OSError, TimeoutError, discord.HTTPException) as fault:
            if is_refusal(fault) or clock() > deadline:
                raise
            delay = _DELAYS[min(tries, len(_DELAYS) - 1)]
            log.warning("%s: %s; again in %s s", what, str(fault) or type(fault).__name__, delay)
        tries += 1
        await asyncio.sleep(delay)


def is_refusal(fault: Exception) -> bool:
    """The next answer would be the same: any 4xx but the rate limit that discord.py gave up on."""
    return isinstance(fault, discord.HTTPException) and fault.status < 500 and fault.status != 429
