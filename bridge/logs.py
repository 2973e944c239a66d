"""Logging: one line an event, with the thread it belongs to, and never a secret."""

import contextvars
import logging

from bridge.render.secrets import mask

thread: contextvars.ContextVar[int | None] = contextvars.ContextVar("thread", default=None)
"""The Discord thread that the running task works for."""


class LineFormatter(logging.Formatter):
    """`time level module [thread] message`, secrets masked."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole entry, a traceback included."""
        where = thread.get()
        record.where = f" [thread {where}]" if where else ""
        return mask(super().format(record))


def configure(level: str) -> None:
    """Log to stderr; the libraries' own chatter only from WARNING on."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s %(name)s%(where)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for chatty in ("discord", "httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
