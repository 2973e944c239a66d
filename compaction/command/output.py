"""A file for its owner's eyes, whole or not there."""

import os
import tempfile
from pathlib import Path


def save(path: Path, content: bytes) -> None:
    """Write or replace a file; only its owner can read it. Raises `OSError`."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        # A file made by mkstemp is 0600 whatever the umask.
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
