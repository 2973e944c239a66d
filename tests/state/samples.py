"""Records for the tests: plain ones, and strategies for all that a record may hold."""

from collections.abc import Callable
from uuid import UUID

from hypothesis import strategies as st

from state import (
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

SID = "0b6f1c1e-6f53-4a55-9d0e-3a8f5f5d8d11"
OTHER = "7d0c9f0a-53a1-4c8e-8f46-0d7c2f1c9b22"


def plain(title: str = "A thread", sid: str | None = None) -> Record:
    """A record with everything at its default."""
    return Record(
        sid=sid, cwd="/project", guild=1, owner=2, title=title, created=3.0, last_used=4.0
    )


def titled(title: str) -> Callable[[Record], Record]:
    """A change for `Store.update`."""
    return lambda record: record.model_copy(update={"title": title})


snowflakes = st.integers(0, 2**63)
times = st.floats(0, 4e9)
counts = st.integers(0, 10**12)
uuids = st.uuids().map(str)
texts = st.text(max_size=20)
names = st.none() | texts

attachments = st.builds(
    Attachment, url=texts, filename=texts, size=counts, content_type=st.none() | texts
)
queued = st.builds(
    Queued,
    message=snowflakes,
    author=snowflakes,
    author_name=texts,
    content=texts,
    attachments=st.lists(attachments, max_size=2).map(tuple),
    reply=texts,
    at=times,
    marked=st.booleans(),
)
processes = st.builds(
    Process, pid=st.integers(2, 2**22), started=counts, marker=texts, run_dir=texts, sid=uuids
)
turns = st.builds(
    Turn,
    item=queued,
    prompt_id=uuids,
    started=times,
    reply_ids=st.lists(snowflakes, max_size=3).map(tuple),
    attempt=st.integers(1, 9),
    fork=st.booleans(),
    tail=texts,
)
lineages = st.builds(
    Lineage,
    sid=uuids,
    reason=st.sampled_from(["new", "fork", "compaction", "stale", "resume"]),
    at=times,
)
chosen = st.builds(
    Settings,
    model=names,
    effort=names,
    permission_mode=names,
    verbosity=st.sampled_from([None, "quiet", "normal", "full"]),
    queue_mode=st.sampled_from([None, "queue", "interrupt"]),
)
days = st.lists(
    st.builds(Day, date=st.dates().map(str), turns=counts, cost_usd=times, input_tokens=counts),
    max_size=2,
).map(tuple)
channels = st.builds(Channel, project=names, settings=chosen, days=days)
records = st.builds(
    Record,
    sid=st.none() | uuids,
    cwd=texts,
    guild=snowflakes,
    parent=st.none() | snowflakes,
    owner=snowflakes,
    title=texts,
    created=times,
    last_used=times,
    generation=counts,
    pending_fork=st.booleans(),
    settings=chosen,
    process=st.none() | processes,
    turn=st.none() | turns,
    unsent=st.lists(turns, max_size=2).map(tuple),
    queue=st.lists(queued, max_size=3).map(tuple),
    seen=st.lists(snowflakes, max_size=40).map(tuple),
    lineage=st.lists(lineages, max_size=2).map(tuple),
    usage=st.builds(Usage, turns=counts, cost_usd=times, context_tokens=counts),
    days=days,
    worktree=st.none() | st.builds(Worktree, path=texts, branch=texts, base=texts, home=texts),
)


def numbered(number: int) -> Record:
    """A record as a thread has it after some use, for measurements."""
    return plain(f"Thread {number} about the failing tests", str(UUID(int=number))).model_copy(
        update={
            "parent": 10**18,
            "settings": {"model": "opus"},
            "seen": tuple(10**18 + number + k for k in range(12)),
            "usage": {"turns": 3, "cost_usd": 0.1234, "context_tokens": 34_000},
        }
    )
