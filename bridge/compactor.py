"""What the bot asks of `compaction`: blocking calls, made in threads beside the event loop."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bridge import history, rewind
from bridge.config import Config
from bridge.config.settings import OFF
from compaction.jev import JevAsker
from compaction.lineage import NotCompacted, Undone, attached, manifest_of, origin, sweep, undo
from compaction.policy import WINDOW, Policy, Verdict, cache_expires, judge
from compaction.seed import recent
from compaction.session import NothingToDo, Outcome, Refused, Request, compact_session
from compaction.transcript import Transcript
from state import Record

log = logging.getLogger(__name__)

Progress = Callable[[str], None]

_ASKING = ("score", "both", "jev-")
"""How the names of the strategies begin that ask somebody."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asks for; None leaves it to the settings. `share` is of the window."""

    strategy: str | None = None
    share: float | None = None
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A session of a thread's past that another was made of: sizes in tokens."""

    sid: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class View:
    """A session as `/context` shows it. `warm_until` is in seconds of the epoch; 0: not known."""

    verdict: Verdict
    warm_until: float
    steps: tuple[Step, ...]


class Compactor:
    """Makes the sessions of threads smaller, by the settings. All of it blocks."""

    def __init__(self, config: Config, projects: Path, asker: JevAsker | None = None) -> None:
        """`projects` is where the CLI keeps its transcripts; `asker` None is the offline scorer."""
        self._projects = projects
        self._asker = asker
        self._retention = config.archive_days
        self._strategy = "auto" if config.compaction == OFF else config.compaction
        self.automatic = config.compaction != OFF
        self.policy = Policy(soft_trim_ratio=config.compact_at, target_ratio=config.compact_to)

    def when_due(self, record: Record, progress: Progress | None = None) -> Outcome:
        """Compact a session that nobody serves, if the policy says so.

        Raises `NothingToDo` if it does not, else what `compact_session` raises.
        """
        path = self.path(record)
        transcript = Transcript.read(path)
        verdict = self._judge(transcript, record)
        if not verdict.due:
            raise NothingToDo(verdict.reason)
        request = self._request(record, Wish(), verdict.goal)
        return compact_session(path, request, transcript=transcript, progress=progress)

    def as_wished(
        self,
        record: Record,
        wish: Wish,
        *,
        dry_run: bool = False,
    ) -> Outcome:
        """Compact a session because somebody wants it; raises what `compact_session` raises.

        Without a share the settings' goal counts, and the strategy's own where that is reached.
        """
        path = self.path(record)
        transcript = Transcript.read(path)
        window = window_of(record)
        goal = int(window * wish.share) if wish.share else self.policy.goal(window)
        target = goal if wish.share or goal < transcript.tokens else None
        request = self._request(record, wish, target, dry_run=dry_run)
        return compact_session(path, request, transcript=transcript)

    def source(self, record: Record, *, idle: bool = True) -> str:
        """The session that the thread's was made of.

        Raises `NotCompacted`, and `Refused` if it is to be `idle` and a process has it open.
        """
        path = self.path(record)
        found = origin(path)
        if not found:
            raise NotCompacted("this session was not made by a compaction")
        if idle and (pid := attached(path)) is not None:
            raise Refused(f"process {pid} has the session open")
        return found[0].stem

    def undo(self, record: Record) -> Undone:
        """Let go of the session that the thread has left; raises what `lineage.undo` raises."""
        return undo(self.path(record))

    def view(self, record: Record) -> View:
        """What there is to know of a session; raises `FileNotFoundError`."""
        path = self.path(record)
        transcript = Transcript.read(path)
        chain = [manifest_of(each) for each in (path, *origin(path))]
        return View(
            self._judge(transcript, record),
            cache_expires(transcript.usage),
            tuple(Step(m.source, m.before_tokens, m.after_tokens) for m in chain if m),
        )

    def rewound(self, record: Record, prompt_id: str) -> str:
        """The session as it was before a prompt: its id; raises `rewind.NothingBefore`."""
        return rewind.before(self.path(record), prompt_id).stem

    def last_words(self, record: Record) -> str:
        """What a fresh session is told of this one."""
        return recent(Transcript.read(self.path(record)), self.policy.goal(window_of(record)))

    def sweep(self) -> None:
        """Remove the archives that nobody needs any more."""
        for project in self._projects.glob("*/"):
            try:
                gone = sweep(project, retention_days=self._retention)
            except OSError as fault:
                log.warning("the archives in %s were not swept: %s", project, fault)
                continue
            if gone:
                log.info("%d archives in %s are removed", len(gone), project)

    def path(self, record: Record) -> Path:
        """A thread's transcript; raises `FileNotFoundError`."""
        sid = record.sid or ""
        found = history.find_transcript(self._projects, sid, record.cwd) if sid else None
        if found is None:
            raise FileNotFoundError(f"there is no transcript of session {sid}")
        return found

    def _judge(self, transcript: Transcript, record: Record) -> Verdict:
        return judge(transcript, self.policy, now=time.time(), window=window_of(record))

    def _request(
        self, record: Record, wish: Wish, target: int | None, *, dry_run: bool = False
    ) -> Request:
        strategy = wish.strategy or self._strategy
        automatic = wish == Wish()
        return Request(
            strategy=strategy,
            target=target,
            window=window_of(record),
            min_saving=self.policy.min_saving if automatic else 0.0,
            instructions=wish.instructions,
            asker=self._asker if strategy.startswith(_ASKING) else None,
            images=True,
            dry_run=dry_run,
        )


def window_of(record: Record) -> int:
    """The model's window in tokens: what the CLI told, else what most models have."""
    return record.usage.context_window or WINDOW
