"""Tells systemd how the service is doing: sd_notify(3) without a library.

Everything here does nothing where no service manager asked to be told.
"""

import os
import socket
from collections.abc import Mapping

__all__ = ["notify", "watchdog_interval"]


def notify(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Send one state ("READY=1", "STATUS=...") and say whether somebody was there to hear it.

    A manager that went away is no reason for the bot to fail, so an undeliverable state is False.
    """
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    if address.startswith("@"):  # Linux's abstract namespace begins with a zero byte
        address = "\0" + address[1:]
    kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    with socket.socket(socket.AF_UNIX, kind) as channel:
        try:
            channel.sendto(state.encode(), address)
        except OSError:
            return False
    return True


def watchdog_interval(environ: Mapping[str, str] = os.environ) -> float | None:
    """Seconds between two "WATCHDOG=1" (half of the limit), None if nobody watches this process."""
    limit = environ.get("WATCHDOG_USEC", "")
    watched = environ.get("WATCHDOG_PID", "")
    if not limit.isdecimal() or int(limit) == 0:
        return None
    if watched and watched != str(os.getpid()):
        return None
    return int(limit) / 2_000_000
