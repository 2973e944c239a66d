"""The models of what is kept for each thread: immutable, validated, tolerant of unknown keys.

Snowflakes are ints, times are seconds since the epoch, ids of sessions and prompts are UUIDs as
strings.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

SEEN_LIMIT = 32
"""How many handled message ids a record remembers; a gateway replay is far shorter than this."""


def _writable(value: object) -> object:
    """Replace lone surrogates, which Python strings may hold and UTF-8 may not."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _newest(ids: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(ids))[-SEEN_LIMIT:])


_UUID = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
Snowflake = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Uuid = Annotated[str, Field(pattern=_UUID)]
Text = Annotated[str, BeforeValidator(_writable)]
Seen = Annotated[tuple[Snowflake, ...], AfterValidator(_newest)]


class Model(BaseModel):
    """Frozen base; keys it does not know are kept, so that a newer version's data survives."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        allow_inf_nan=False,
        protected_namespaces=(),
        hide_input_in_errors=True,
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A changed copy that is validated like a new model, which pydantic's own is not.

        Raises ValidationError for a bad value and TypeError for a field that does not exist.
        """
        if not update:
            return super().model_copy(deep=deep)
        if unknown := update.keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        return type(self).model_validate({**dict(self), **update})


class Attachment(Model):
    """A file that came with a message; `size` in bytes."""

    url: Text
    filename: Text
    size: Count
    content_type: Text | None = None


class Queued(Model):
    """A person's message that waits for its turn."""

    message: Snowflake
    author: Snowflake
    author_name: Text
    content: Text
    attachments: tuple[Attachment, ...] = ()
    reply: Text = ""
    """The text of the message that this one answers, "" if none."""
    at: float
    marked: bool = False
    """The person was shown that the message waits."""


class Process(Model):
    """A running CLI. (pid, started, marker) together prove that it is still the same one."""

    pid: Annotated[int, Field(gt=1)]
    started: Count
    """Clock ticks since boot: field 22 of /proc/<pid>/stat."""
    marker: str
    run_dir: str
    sid: Uuid


class Turn(Model):
    """The prompt in flight and the messages that show its answer so far."""

    item: Queued
    prompt_id: Uuid
    started: float
    reply_ids: tuple[Snowflake, ...] = ()
    attempt: Annotated[int, Field(ge=1)] = 1
    fork: bool = False
    """The turn is to begin a fork of the thread's session, and has not proved that it did."""
    asked: tuple[Text, ...] = ()
    """The calls about which people were asked; the answer goes on below each of the questions."""
    tail: Text = ""
    """What stands below the answer (footer, error), once the turn is over."""


class Settings(Model):
    """What a thread, or a channel for its new threads, chose; None = the bot's default."""

    model: str | None = None
    effort: str | None = None
    permission_mode: str | None = None
    verbosity: Literal["quiet", "normal", "full"] | None = None
    queue_mode: Literal["queue", "interrupt"] | None = None


class Usage(Model):
    """Totals of a thread, and the size of its context (tokens) after the last turn."""

    turns: Count = 0
    cost_usd: float = 0.0
    session_cost_usd: float = 0.0
    """What the CLI last gave as the running total of the present session."""
    model: str | None = None
    """The model that answered last."""
    input_tokens: Count = 0
    output_tokens: Count = 0
    context_tokens: Count = 0
    context_window: Count = 0


class Day(Model):
    """What was spent on one day, in US dollars and tokens; those of the cache are input, too."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    turns: Count = 0
    cost_usd: float = 0.0
    input_tokens: Count = 0
    output_tokens: Count = 0


class Worktree(Model):
    """The git worktree that a thread works in, and where it came from."""

    path: Text
    branch: Text
    base: Text
    """The commit from which the branch was started."""
    home: Text
    """The folder in which the thread worked before."""


class Channel(Model):
    """What is kept for a channel: what its new threads begin with, and what they spent."""

    project: Text | None = None
    settings: Settings = Settings()
    days: tuple[Day, ...] = ()
    """Of all its threads, those that were deleted included; oldest first."""


class Lineage(Model):
    """A session that the thread had before, and why it has another one now."""

    sid: Uuid
    reason: Literal["new", "fork", "compaction", "stale", "resume"]
    at: float


class Record(Model):
    """All that is kept for one thread."""

    sid: Uuid | None = None
    """The session that the next message resumes; None = the next message starts a fresh one."""
    cwd: Text
    guild: Snowflake
    parent: Snowflake | None = None
    owner: Snowflake
    title: Text
    created: float
    last_used: float
    generation: Count = 0
    """Rises when the thread's past is cut off; a late change of an older generation is ignored."""
    pending_fork: bool = False
    settings: Settings = Settings()
    process: Process | None = None
    turn: Turn | None = None
    unsent: tuple[Turn, ...] = ()
    """Turns that are over, and of which Discord does not have the last words yet."""
    queue: tuple[Queued, ...] = ()
    seen: Seen = ()
    """Handled message ids: the newest `SEEN_LIMIT`, ascending."""
    lineage: tuple[Lineage, ...] = ()
    usage: Usage = Usage()
    days: tuple[Day, ...] = ()
    """What the thread spent on its latest days; oldest first."""
    worktree: Worktree | None = None

    @property
    def last_seen(self) -> int | None:
        """The newest handled message, from which to catch up."""
        return self.seen[-1] if self.seen else None

    def with_seen(self, message: int) -> "Record":
        """This record with one more message marked as handled."""
        return self.model_copy(update={"seen": (*self.seen, message)})
