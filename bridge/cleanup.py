"""Finds the processes that nobody owns any more, proves that they are ours, and ends them.

A process is ours if its environment carries a marker that a `process.json` in a run folder of this
state folder names: the runner draws the marker at random and writes the file before it starts
anything. A name proves nothing; neither does a marker without its file, for it may be another
bot's.
"""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from bridge import proc
from bridge.proc import Identity

NEWBORN = 60.0
"""Seconds in which a run folder may still be without its process."""


class _Proof(BaseModel):
    """`process.json`, as far as it concerns a clean-up."""

    marker: str
    thread: str = "?"
    created: float = 0.0


class _Ready(BaseModel):
    """`ready`, by which a shim says who it is."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder with its proof; `shim` is None as long as the shim has not said who it is."""

    folder: Path
    marker: str
    thread: str
    created: float
    shim: Identity | None


@dataclass(frozen=True, slots=True)
class Orphan:
    """A living process of ours that nobody owns. `age` in seconds, `rss` in bytes."""

    who: Identity
    run: Run
    command: str
    why: str
    age: float
    rss: int

    @property
    def pid(self) -> int:
        return self.who.pid

    @property
    def started(self) -> int:
        """Clock ticks after boot."""
        return self.who.started

    @property
    def marker(self) -> str:
        return self.run.marker

    @property
    def thread(self) -> str:
        return self.run.thread

    @property
    def is_shim(self) -> bool:
        return self.who == self.run.shim


@dataclass(frozen=True, slots=True)
class _Step:
    """One signal of the ladder, and whether it goes to shims, to all others, or to both."""

    number: signal.Signals
    shims: bool
    others: bool

    def meets(self, orphan: Orphan) -> bool:
        return self.shims if orphan.is_shim else self.others


_STEPS = (
    _Step(signal.SIGTERM, shims=True, others=False),
    _Step(signal.SIGTERM, shims=True, others=True),
    # A shim that still lives ends by itself now, and takes what has lost the marker with it.
    _Step(signal.SIGKILL, shims=False, others=True),
    # Repeated for what is forked between a look and a blow.
    *(_Step(signal.SIGKILL, shims=True, others=True),) * 5,
)


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """What a clean-up did. `freed_bytes` is the resident memory of those that ended."""

    ended: tuple[Orphan, ...]
    failed: tuple[Orphan, ...]

    @property
    def freed_bytes(self) -> int:
        return sum(orphan.rss for orphan in self.ended)


def scan(state_dir: Path, owned: Collection[str]) -> list[Orphan]:
    """All living processes of this state folder whose marker is not among `owned`.

    Blocks while it reads /proc: on an event loop, call it in a thread.
    """
    return list(_carriers(run for run in _runs(state_dir) if run.marker not in owned))


async def end(orphans: Collection[Orphan], *, grace: float) -> CleanupReport:
    """End these processes and whatever else carries their markers, at most `grace` seconds a step.

    A living shim is asked first, because it ends its whole tree in order, and also what has
    cleared its environment. What is left gets SIGTERM, then SIGKILL.
    """
    return await asyncio.to_thread(_end, orphans, grace)


def sweep_run_dirs(state_dir: Path, owned: Collection[str]) -> list[Path]:
    """Remove the run folders that no owner, process or start in progress needs; says which.

    Blocks while it reads /proc: on an event loop, call it in a thread.
    """
    runs = [run for run in _runs(state_dir) if run.marker not in owned and not _newborn(run)]
    # Looked up after the proofs: a process that carries one of them cannot appear any more.
    living = {orphan.marker for orphan in _carriers(runs)}
    removed: list[Path] = []
    for run in runs:
        if run.marker not in living:
            with suppress(OSError):
                shutil.rmtree(run.folder)
                removed.append(run.folder)
    return removed


def _end(orphans: Collection[Orphan], grace: float) -> CleanupReport:
    runs = {orphan.run for orphan in orphans}
    seen = {orphan.who: orphan for orphan in orphans}
    for step in _STEPS:
        struck: set[str] = set()
        left: list[Orphan] = []
        for orphan in _carriers(runs):
            # At sight: a moment later a fast forker is another process.
            if step.meets(orphan) and proc.signal_exactly(orphan.who, orphan.marker, step.number):
                struck.add(orphan.marker)
            seen.setdefault(orphan.who, orphan)
            left.append(orphan)
        if not left:
            break
        proc.wait_gone([orphan.who for orphan in left if orphan.marker in struck], grace)
    failed = {orphan.who for orphan in _carriers(runs)}
    return CleanupReport(
        ended=tuple(orphan for who, orphan in seen.items() if who not in failed),
        failed=tuple(orphan for who, orphan in seen.items() if who in failed),
    )


def _runs(state_dir: Path) -> Iterator[Run]:
    """The run folders that hold a proof; one without is not ours to judge."""
    with suppress(FileNotFoundError):
        for folder in (state_dir / "run").iterdir():
            with suppress(OSError, ValidationError):
                proof = _Proof.model_validate_json((folder / "process.json").read_bytes())
                yield Run(folder, proof.marker, proof.thread, proof.created, _shim(folder))


def _shim(folder: Path) -> Identity | None:
    try:
        ready = _Ready.model_validate_json((folder / "ready").read_bytes())
    except (OSError, ValidationError):
        return None
    return Identity(ready.pid, ready.started)


def _newborn(run: Run) -> bool:
    return time.time() - run.created < NEWBORN and not (run.folder / "exit.json").exists()


def _carriers(runs: Iterable[Run]) -> Iterator[Orphan]:
    """Everything alive that carries the marker of one of these runs, except ourselves."""
    by_marker = {run.marker: run for run in runs}
    for pid in proc.pids(uid=os.geteuid()) if by_marker else ():
        run = by_marker.get(proc.marker(pid) or "")
        if run is None or pid == os.getpid():
            continue
        who = proc.identity(pid)
        # Asked again, in case the pid changed hands before it was given a start time.
        if who is not None and proc.marker(pid) == run.marker:
            yield _orphan(who, run)


def _orphan(who: Identity, run: Run) -> Orphan:
    return Orphan(
        who=who,
        run=run,
        command=_short(proc.cmdline(who.pid)),
        why=_why(run),
        age=proc.age(who),
        rss=proc.rss(who.pid),
    )


def _why(run: Run) -> str:
    if run.shim is None:
        return "its start was never finished"
    if not proc.alive(run.shim):
        return "its shim is dead"
    return "no thread owns it"


def _short(cmdline: Sequence[str]) -> str:
    """A command for a person to recognize: the program's name and the first few words."""
    name, *words = cmdline or ("?",)
    text = " ".join([Path(name).name, *words])
    return text if len(text) <= 80 else text[:79] + "…"
