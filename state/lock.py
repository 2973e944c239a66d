"""The lock that keeps a second bot away from the same state."""

import fcntl
import os
from pathlib import Path

from state.errors import StoreLocked


class FolderLock:
    """An exclusive lock on a folder; the kernel releases it whenever the process ends.

    The file keeps the holder's pid for the message of the one who comes second. It is never
    removed: a new file under the same name would be another lock.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock at once or raise StoreLocked."""
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).strip()
            os.close(descriptor)
            raise StoreLocked(folder, int(holder) if holder.isdigit() else None) from None
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Let the next one in; call once."""
        os.close(self._descriptor)
