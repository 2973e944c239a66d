"""One session from its file to a smaller one beside it: read, decide, archive, write, account."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from compaction import choice, lineage
from compaction.archive import FOLDER, Settings, costs, file_away
from compaction.check import refusals
from compaction.images import Images
from compaction.jev.wire import JevAsker
from compaction.policy import WINDOW
from compaction.pruning_settings import PruningSettings
from compaction.report import Outcome, describe
from compaction.rewrite import EXACT, Plan, plan
from compaction.sibling import NothingToDo, Refused, write
from compaction.transcript import Transcript

__all__ = ["NothingToDo", "Outcome", "Refused", "Request", "compact_session"]

Progress = Callable[[str], None]
"""Called with the name of each step as it begins: read, decide, archive, write."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted of a compaction."""

    strategy: str = "auto"
    """One of `compaction.choice.STRATEGIES`."""
    target: int | None = None
    """Tokens of the context to come down to; None leaves it to the strategy."""
    window: int = WINDOW
    """The model's context window in tokens; what `prune` takes its ratios of."""
    min_saving: float = 0.0
    """The share of its tokens that the session must lose; with less, nothing is written."""
    instructions: str = ""
    """What the person wants to be kept in mind; a scorer is told."""
    asker: JevAsker | None = None
    """Who scores; None = the offline scorer."""
    archive: Settings = field(default_factory=Settings)
    pruning: PruningSettings = field(default_factory=PruningSettings)
    """What `prune` and `both` go by."""
    images: Images = False
    """True also takes the images of old turns away; `all`, a repair, takes all of them."""
    dry_run: bool = False


def compact_session(
    path: Path,
    request: Request | None = None,
    *,
    transcript: Transcript | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Write a smaller session beside this one, which stays as it is.

    `transcript` spares the reading where the caller has read the file already. Raises `Refused`
    where the session may not be compacted or would not get small enough, `NothingToDo` where there
    is nothing to remove, `ValueError` for an unknown strategy, `OSError` where a file cannot be
    read or written, and what the asker raises.
    """
    request = request or Request()
    began = time.monotonic()
    say = progress or _silent
    if transcript is None:
        say("read")
        transcript = Transcript.read(path)
    if reasons := refusals(transcript, repair=request.images == "all"):
        raise Refused(*reasons)
    if request.strategy in choice.RELATIVE and lineage.is_fresh(path, request.strategy):
        raise NothingToDo("the strategy has made this session, and nothing was said in it since")
    sid = str(uuid.uuid4())
    folder = path.parent / sid / FOLDER
    say("decide")
    made = choice.decide(transcript.messages, _goal(transcript, request, folder))
    say("archive")
    filed = file_away(transcript.messages, made.decisions, folder, request.archive)
    planned = plan(transcript, filed.decisions, images=request.images)
    _worth_it(planned, request)
    notes = made.notes
    target: Path | None = None
    if not request.dry_run:
        say("write")
        manifest = lineage.Manifest(
            sid=sid,
            source=path.stem,
            at=time.time(),
            strategy=made.strategy,
            before_tokens=planned.before_tokens,
            after_tokens=planned.after_tokens,
            files=filed.files_of(planned.decisions),
        )
        with lineage.beside(path, manifest, filed.contents_of(planned.decisions)):
            written = write(
                transcript, filed.decisions, sid=sid, images=request.images, planned=planned
            )
            target = written.path
    return Outcome(
        source=path,
        path=target,
        sid=None if target is None else sid,
        strategy=made.strategy,
        before_tokens=planned.before_tokens,
        after_tokens=planned.after_tokens,
        calls=describe(transcript.messages, planned.decisions, filed.paths),
        seconds=time.monotonic() - began,
        notes=notes,
    )


def _goal(transcript: Transcript, request: Request, folder: Path) -> choice.Goal:
    """What the strategy is to reach, in the estimate's tokens instead of the API's."""
    save = None
    if request.target is not None:
        save = max(transcript.tokens - request.target, 0)
        if transcript.counted:
            save = round(save / EXACT)
    return choice.Goal(
        strategy=request.strategy,
        save=save,
        window=request.window,
        instructions=request.instructions,
        asker=request.asker,
        costs=costs(folder, request.archive),
        pruning=request.pruning,
    )


def _worth_it(planned: Plan, request: Request) -> None:
    if not planned:
        raise NothingToDo("there is nothing left that could be removed")
    before, after = planned.before_tokens, planned.after_tokens
    if before - after < request.min_saving * before:
        raise NothingToDo(
            f"it would free only {before - after:,} of {before:,} tokens: what is left is needed"
        )


def _silent(step: str) -> None:
    """Nobody is told."""
