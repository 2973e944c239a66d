"""The JSON session store: what each Discord thread is, kept durably in one readable file."""

from state.errors import StoreClosed, StoreError, StoreLocked
from state.records import (
    SEEN_LIMIT,
    Attachment,
    Channel,
    Day,
    Lineage,
    Process,
    Queued,
    Record,
    Settings,
    Turn,
    Usage,
    Worktree,
)
from state.store import Store

__all__ = [
    "SEEN_LIMIT",
    "Attachment",
    "Channel",
    "Day",
    "Lineage",
    "Process",
    "Queued",
    "Record",
    "Settings",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreLocked",
    "Turn",
    "Usage",
    "Worktree",
]
