"""The rehearsal's web page: a person at the loopback Discord, in a browser."""

from bridge.rehearsal.page.routes import mount

__all__ = ["mount"]
