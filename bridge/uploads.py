"""Files that people sent, kept where Claude can read them: `inbox/<thread>/<message>/<file>`.

Everything here blocks: call it in a thread.
"""

import contextlib
import shutil
import time
from pathlib import Path

KEPT_SECONDS = 30 * 86400.0
"""How long a file is kept; its thread may be in use for longer."""


def save(path: Path, data: bytes) -> None:
    """Keep a file; nobody else on this machine may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)


def discard(folder: Path) -> None:
    """Remove the files of a thread or of a message, if there are any."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep(inbox: Path) -> None:
    """Remove what was kept for long enough."""
    limit = time.time() - KEPT_SECONDS
    for thread in inbox.glob("*"):
        if thread.is_symlink():  # Claude may write here; the bot follows it nowhere
            continue
        for message in thread.glob("*"):
            if _older(message, limit):
                discard(message)
        with contextlib.suppress(OSError):  # it is not empty
            thread.rmdir()


def _older(path: Path, limit: float) -> bool:
    try:
        return path.lstat().st_mtime < limit
    except OSError:
        return False
