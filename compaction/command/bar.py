"""A progress bar for what takes longer than a moment."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from compaction.session import Progress

STEPS = ("read", "decide", "archive", "write")
PATIENCE = 1.0
"""Seconds before anything is shown."""
WIDTH = 24


def drawn(step: str) -> str:
    """The bar at a step."""
    done = WIDTH * STEPS.index(step) // len(STEPS)
    return f"[{'█' * done}{'░' * (WIDTH - done)}] {step}"


@contextmanager
def progress(stream: TextIO) -> Generator[Progress]:
    """Give what is told the steps; draws only on a terminal, and leaves no trace there."""
    if not stream.isatty():
        yield lambda step: None
        return
    current = [STEPS[0]]
    over = threading.Event()

    def draw() -> None:
        pause = PATIENCE
        while not over.wait(pause):
            pause = 0.1
            stream.write(f"\r\x1b[K{drawn(current[0])}")
            stream.flush()

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield lambda step: current.__setitem__(0, step)
    finally:
        over.set()
        thread.join()
        stream.write("\r\x1b[K")
        stream.flush()
