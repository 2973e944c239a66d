"""The turn that runs now: what it shows, how far it is, and how it ends."""

import asyncio
import uuid
from dataclasses import dataclass, field

from bridge.discord_io.outbox import Reply
from bridge.narration import Narration
from bridge.outcome import Answered, Died, Limit, Outcome, Stopped, TimedOut
from bridge.process import Exit, LiveProcess
from bridge.prompt import Prompt
from bridge.protocol import CommandLifecycle, Event, Result
from bridge.render.pages import Pages
from bridge.render.segments import Part
from state import Queued

_NAMESPACE = uuid.UUID("5b0c2f0e-5c0f-5d0e-9f0a-7a3c1d2e4f60")


def prompt_id(message: int, generation: int, attempt: int) -> str:
    """The id under which a session takes a message once, however often it is sent."""
    return str(uuid.uuid5(_NAMESPACE, f"{message}/{generation}/{attempt}"))


def contents(renderer: Pages, segments: list[Part], tail: str) -> list[str]:
    """The messages that show a whole reply; a tail that is no footer has one of its own."""
    if tail.startswith("-# "):
        return renderer.render(segments, footer=tail)
    return [*renderer.render(segments), tail]


@dataclass(frozen=True)
class Limits:
    """Times in seconds: how long a turn may be silent, and how long it may take."""

    silence: float
    length: float


@dataclass
class ActiveTurn:
    """A turn in flight. `item` is None for one that the CLI began by itself."""

    item: Queued | None
    prompt_id: str
    generation: int
    started: float
    renderer: Pages
    reply: Reply
    narration: Narration = field(default_factory=Narration)
    done: asyncio.Future[Outcome] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    prompt: Prompt | None = None
    """What the process is given; made when there is one to take it."""
    sent: bool = False
    """The process has the prompt, or may have it; until then the message can be taken back."""
    result: Result | None = None
    """What the CLI itself said of the end, whoever brought it about."""
    accepted: bool = False
    """The CLI has taken the prompt, as one that it did not know."""
    heard: bool = False
    """The process has said something since it had the prompt."""
    stopped_by: str | None = None
    questions: set[str] = field(default_factory=set[str])
    """Open questions to a person: silence is no fault while there are any."""

    @property
    def over(self) -> bool:
        """It is settled how the turn ended."""
        return self.done.done()

    def end(self, outcome: Outcome) -> None:
        """Settle how the turn ended; the first word counts."""
        if not self.over:
            self.done.set_result(outcome)

    def died(self, ended: Exit) -> Outcome:
        """What the death of the process is to the turn: what a person asked for, or a fault."""
        return Died(ended) if self.stopped_by is None else Stopped(self.stopped_by)

    def again(self) -> None:
        """Run the same turn once more: what ended was only an attempt."""
        self.done = asyncio.get_running_loop().create_future()
        self.result = None
        self.sent = False

    def feed(self, event: Event) -> None:
        """Take an event of the process."""
        self.heard = True
        if isinstance(event, CommandLifecycle):
            self.accepted |= event.command_uuid == self.prompt_id and event.state != "completed"
        elif self.narration.feed(event) and not isinstance(event, Result):
            self.refresh()
        if isinstance(event, Result):
            self.result = event
            stopped = self.stopped_by is not None and event.is_error
            self.end(Stopped(self.stopped_by or "") if stopped else Answered(event))

    def refresh(self) -> None:
        """Show what there is to see now."""
        if not self.over:
            self.reply.show(self.renderer.render(self.narration.segments, streaming=True))

    async def wait(self, process: LiveProcess, limits: Limits) -> Outcome:
        """Wait for the result, for the death of the process, or for a time limit."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        while True:
            silent = 0.0 if self.questions else clock() - process.last_output
            left = min(limits.silence - silent, limits.length - (clock() - begun))
            if left <= 0:
                break
            await asyncio.wait(
                {self.done, process.ended}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if self.over:
                return self.done.result()
            if process.ended.done():
                return self.died(process.ended.result())
        if clock() - process.last_output >= limits.silence:
            return TimedOut(Limit.SILENCE, limits.silence)
        return TimedOut(Limit.LENGTH, limits.length)
