"""Whatever a transcript holds and whatever is decided, the new file keeps every rule."""

import os
import tempfile
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st

from compaction.decisions import Decision
from compaction.images import IMAGE_REMOVED, Images
from compaction.records import dump
from compaction.rewrite import plan, rewrite
from compaction.sibling import NothingToDo, Refused, write
from compaction.transcript import Transcript
from tests.compaction.transcript import law
from tests.compaction.transcript.random_sessions import Random
from tests.compaction.transcript.sessions import name

EXAMPLES = int(os.environ.get("COMPACTION_EXAMPLES", "100"))
"""How many random transcripts; 10,000 and more by the environment."""

LEGAL = {
    "there is no conversation yet",
    "the session ends with a call that has no result",
    "the session ends within a tool loop",
    "a tool id is used twice",
    "a call has two results",
    "an earlier compaction preserved messages that are missing",
}
"""Reasons that lie in the transcript; any other reason would be a mistake of the writer."""

SID = name(-2)


def words(transcript: Transcript, role: str) -> list[str]:
    """All that a role says, without what stands for its images."""
    return [text for text in law.texts(transcript.records, role) if text != IMAGE_REMOVED]


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_a_new_file_keeps_every_rule(data: st.DataObject) -> None:
    made = Random(data)
    session = made.make()
    decisions = made.decisions() if data.draw(st.booleans()) else {}
    images: Images = data.draw(st.sampled_from([False, True, "all"]))
    with tempfile.TemporaryDirectory() as folder:
        path = session.save(Path(folder), made.tail)
        before = path.read_bytes()
        transcript = Transcript.read(path)
        try:
            written = write(transcript, decisions, sid=SID, images=images)
        except Refused as refused:
            assert isinstance(refused, NothingToDo) or {*refused.reasons} <= LEGAL
            assert [*path.parent.iterdir()] == [path]
            event(f"refused: {refused}")
            return
        finally:
            assert path.read_bytes() == before
        event("written")
        assert {*path.parent.iterdir()} == {path, written.path}
        assert law.violations(written.path) == []
        new = Transcript.read(written.path)
        assert new.flags == ()
        for role in ("user", "assistant"):
            assert words(new, role) == words(transcript, role)
        errors = law.errors(transcript.records)
        assert law.errors(new.records).items() <= errors.items()
        assert law.images(new.records) == [] or images != "all"
        if images != "all":
            assert_same_ends(transcript, new)
        assert_no_thinking_behind_edits(transcript, new, written.applied)
        assert_again_nothing(written.path, decisions, images)
        planned = plan(transcript, decisions, images)
        again = b"".join(map(dump, rewrite(transcript, planned, SID)))
        assert again == written.path.read_bytes()


def assert_same_ends(old: Transcript, new: Transcript) -> None:
    """The first message and the last answer say the same."""
    assert new.messages[0] == old.messages[0]
    last = max(i for i, message in enumerate(old.messages) if message.role == "assistant")
    tail = old.messages[last:]
    thought_only = not (tail[0].text or tail[0].tool_uses)
    assert new.messages[-len(tail) :] == tail or thought_only


def assert_no_thinking_behind_edits(old: Transcript, new: Transcript, applied: object) -> None:
    """Of the thinking, a beginning is left, and none after the first changed result."""
    kinds = [
        (block["type"], block)
        for record in new.records
        if record["type"] in ("user", "assistant")
        for block in law.content(record)
    ]
    thoughts = [at for at, (kind, _) in enumerate(kinds) if kind == "thinking"]
    same = {
        block["tool_use_id"]: block
        for record in old.records
        if record["type"] == "user"
        for block in law.content(record)
        if block["type"] == "tool_result"
    }
    changed = [
        at
        for at, (kind, block) in enumerate(kinds)
        if kind == "tool_result" and block != same[block["tool_use_id"]]
    ]
    assert not thoughts or not changed or thoughts[-1] < changed[0]


def assert_again_nothing(path: Path, decisions: dict[str, Decision], images: Images) -> None:
    """A second run with the same decisions finds nothing to change."""
    again = Transcript.read(path)
    assert not plan(again, decisions, images)
