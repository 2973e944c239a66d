"""Each rule of the check finds the file that breaks it."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from compaction.check import check
from compaction.decisions import Decision
from compaction.records import dump
from compaction.rewrite import plan, rewrite
from compaction.transcript import Transcript
from tests.compaction.transcript import law
from tests.compaction.transcript.sessions import Json, Session, call, name, text, thinking

SID = name(-4)
Records = list[Json]


def session() -> Session:
    made = Session()
    made.user("Please look around.")
    made.round("toolu_0", "toolu_1", say="Looking.", think="one")
    made.user([text("And then?")])
    made.assistant([thinking("two"), text("More."), call("toolu_2", path="/a/b", n=1)])
    made.result("toolu_2", "long " * 100, error=True)
    made.assistant([thinking("three"), text("That is all.")])
    made.meta("custom-title", customTitle="A title")
    made.meta("last-prompt", lastPrompt="And then?", leafUuid=name(3))
    entry = {"kind": "tool-result", "toolUseId": "toolu_0", "replacement": "stored"}
    made.meta("content-replacement", replacements=[entry])
    return made


def complaints(folder: Path, tamper: Callable[[Records], object]) -> str:
    old = Transcript.read(session().save(folder))
    planned = plan(old, {"toolu_2": Decision("toolu_2", "stub", "test")})
    # The new records share with the old ones what has not changed.
    records = deepcopy(rewrite(old, planned, SID))
    tamper(records)
    path = folder / f"{SID}.jsonl"
    path.write_bytes(b"".join(map(dump, records)))
    return "; ".join(check(old, Transcript.read(path), planned, SID))


def test_a_good_file_breaks_no_rule(tmp_path: Path) -> None:
    assert complaints(tmp_path, lambda records: None) == ""


def block_of(records: Records, kind: str, last: bool = False) -> Json:
    found = [b for r in records if "uuid" in r for b in law.content(r) if b["type"] == kind]
    return found[-1 if last else 0]


def index(records: Records, kind: str) -> int:
    """Where the first record with such a block stands."""
    kinds = [{block["type"] for block in law.content(r)} for r in records if "uuid" in r]
    return next(at for at, found in enumerate(kinds) if kind in found)


def last_of_tree(records: Records) -> Json:
    return [record for record in records if "uuid" in record][-1]


def relink(records: Records, at: int) -> None:
    """Take a record out and close the gap."""
    gone = records.pop(at)
    for record in records:
        if record.get("parentUuid") == gone["uuid"]:
            record["parentUuid"] = gone["parentUuid"]


TAMPERED: list[tuple[Callable[[Records], object], str]] = [
    (lambda r: r[3].update(parentUuid=None), "root"),
    (lambda r: r[3].update(parentUuid=name(5)), "parent is missing"),
    (lambda r: r[3].update(parentUuid=r[1]["uuid"]), "leaves"),
    (lambda r: r[3].update(uuid=r[2]["uuid"]), "uuid"),
    (lambda r: r[0].update(timestamp="2027-01-01T00:00:00.000Z"), "newest"),
    (lambda r: r[2].update(sessionId="other"), "another session"),
    (lambda r: r[2].update(isSidechain=True), "subagent"),
    (lambda r: r.pop(), "replacements"),
    (lambda r: r.pop(-2), "metadata"),
    (lambda r: r[-2].update(leafUuid=name(3)), "leaf of last-prompt"),
    (lambda r: r[-3].update(customTitle="Another"), "custom-title has changed"),
    (lambda r: relink(r, index(r, "tool_result")), "one result"),
    (lambda r: relink(r, index(r, "tool_use")), "call"),
    (lambda r: block_of(r, "tool_use", True).update(id="toolu_0"), "twice"),
    (lambda r: block_of(r, "text", True).update(text="All!"), "text of the assistant"),
    (lambda r: r[0]["message"].update(content="Please."), "text of the user"),
    (lambda r: block_of(r, "thinking").update(thinking="so"), "before the first edit"),
    (
        lambda r: last_of_tree(r)["message"]["content"].insert(0, thinking("three")),
        "behind an edit",
    ),
    (lambda r: block_of(r, "tool_result").update(content="other"), "nothing was to change"),
    (lambda r: r[2].update(cwd="/elsewhere"), "nothing was to change"),
    (lambda r: r[2]["message"].update(model="other"), "nothing was to change"),
    (lambda r: block_of(r, "tool_result", True).pop("is_error"), "error"),
    (lambda r: block_of(r, "tool_result", True).update(content=""), "lost its content"),
    (lambda r: block_of(r, "tool_use", True)["input"].pop("n"), "shorter strings"),
    (lambda r: block_of(r, "tool_use", True)["input"].update(n=2), "shorter strings"),
    (
        lambda r: [x.update(toolUseResult="long " * 99) for x in r if "toolUseResult" in x],
        "host's copy",
    ),
]


@pytest.mark.parametrize(("tamper", "complaint"), TAMPERED)
def test_a_file_that_breaks_a_rule_is_found(
    tmp_path: Path, tamper: Callable[[Records], object], complaint: str
) -> None:
    assert complaint in complaints(tmp_path, tamper)


def test_two_answers_in_a_row_are_found(tmp_path: Path) -> None:
    def tamper(records: Records) -> None:
        for at in [i for i, r in enumerate(records) if r.get("type") == "user"][:0:-1]:
            relink(records, at)

    assert "two answers" in complaints(tmp_path, tamper)
