"""What the store refuses to do.

StoreError
├── StoreLocked   another process holds this folder
└── StoreClosed   the store was changed after `close`

A write that fails raises the operating system's own OSError from `Store.durable`.
"""

from pathlib import Path


class StoreError(Exception):
    """Base of the store's own errors."""


class StoreLocked(StoreError):
    """Another live process already owns the state folder."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        self.folder = folder
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{folder} is in use by {holder}; only one bot may use a state folder")


class StoreClosed(StoreError):
    """A change came after the store was closed and could never reach the disk."""

    def __init__(self) -> None:
        super().__init__("the store is closed")
