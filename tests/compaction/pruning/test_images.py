"""The writer lets images go: those of old turns, or all of them as a repair."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from compaction.check import check
from compaction.decisions import Decision
from compaction.estimate import IMAGE_TOKENS, tokens
from compaction.images import IMAGE_REMOVED
from compaction.records import dump
from compaction.rewrite import plan, rewrite
from compaction.sibling import NothingToDo, Refused, Written, write
from compaction.transcript import Transcript
from tests.compaction.transcript import law
from tests.compaction.transcript.random_sessions import IMAGE
from tests.compaction.transcript.sessions import (
    Json,
    Session,
    answer,
    call,
    name,
    read_lines,
    text,
    thinking,
)

SID = name(-4)
GONE = text(IMAGE_REMOVED)
COPY: Json = {"type": "image", "file": {"base64": "A" * 900, "type": "image/png"}}


def picture(session: Session, at: int) -> None:
    """A turn that is asked with an image and reads another."""
    session.user([text(f"Compare {at}."), IMAGE])
    session.assistant([thinking(f"thought {at}"), call(f"toolu_{at}")])
    session.result(f"toolu_{at}", [text("read"), IMAGE], toolUseResult=COPY)
    session.assistant([text(f"Compared {at}.")])


def pictures(count: int = 6) -> Session:
    session = Session()
    session.user("Please compare.")
    session.assistant([text("What?")])
    for at in range(count):
        picture(session, at)
    return session


def written(path: Path, **how: Any) -> Written:
    done = write(Transcript.read(path), how.pop("decisions", {}), **how)
    assert law.violations(done.path) == []
    return done


def shown(path: Path) -> list[list[Json]]:
    """The contents of all prompts and results, in order."""
    return [
        record["message"]["content"]
        for record in read_lines(path)
        if record["type"] == "user" and isinstance(record["message"]["content"], list)
    ]


def test_images_of_old_turns_go_from_prompts_and_from_results(tmp_path: Path) -> None:
    path = pictures().save(tmp_path)
    before = path.read_bytes()
    prompts = shown(written(path, images=True).path)[::2]
    results = shown(written(path, images=True).path)[1::2]
    # Of six turns the last is not completed yet, and three more are recent.
    assert prompts == [[text(f"Compare {at}."), GONE if at < 2 else IMAGE] for at in range(6)]
    contents = [found[0]["content"] for found in results]
    assert contents == [[text("read"), GONE if at < 2 else IMAGE] for at in range(6)]
    assert path.read_bytes() == before


def test_the_hosts_copy_goes_with_the_image(tmp_path: Path) -> None:
    lines = read_lines(written(pictures().save(tmp_path), images=True).path)
    copies = [line["toolUseResult"]["file"] for line in lines if "toolUseResult" in line]
    assert [len(copy["base64"]) > 200 for copy in copies] == [False] * 2 + [True] * 4
    assert {copy["type"] for copy in copies} == {"image/png"}


def test_thinking_behind_the_first_image_that_goes_is_taken_out(tmp_path: Path) -> None:
    records = read_lines(written(pictures().save(tmp_path), images=True).path)
    kinds = [b["type"] for r in records if r["type"] == "assistant" for b in law.content(r)]
    assert "thinking" not in kinds


def test_a_second_run_finds_nothing(tmp_path: Path) -> None:
    for mode in (True, "all"):
        done = written(pictures().save(tmp_path), images=mode)
        with pytest.raises(NothingToDo):
            written(done.path, images=mode)


def test_without_old_images_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo):
        written(pictures(4).save(tmp_path), images=True)
    with pytest.raises(NothingToDo):
        written(pictures().save(tmp_path))


def test_what_the_cli_puts_in_is_no_turn(tmp_path: Path) -> None:
    session = pictures(4)
    for _ in range(6):
        session.user([text("a reminder")], isMeta=True)
        session.assistant([text("noted")])
    with pytest.raises(NothingToDo):
        written(session.save(tmp_path), images=True)


def test_pinned_images_stay_except_in_a_repair(tmp_path: Path) -> None:
    session = Session()
    session.user([IMAGE, text("the task")])
    session.assistant([text("Yes.")])
    for at in range(5):
        picture(session, at)
    path = session.save(tmp_path)
    assert shown(written(path, images=True).path)[0] == [IMAGE, text("the task")]
    repaired = written(path, images="all")
    assert shown(repaired.path)[0] == [GONE, text("the task")]
    assert law.images(read_lines(repaired.path)) == []


def test_17_an_image_that_breaks_the_session_within_a_loop_can_be_repaired(tmp_path: Path) -> None:
    session = Session()
    session.user("Look at it.")
    session.assistant([text("Reading."), call("toolu_a")])
    session.result("toolu_a", [IMAGE], toolUseResult=COPY)
    session.chain(
        "assistant",
        isApiErrorMessage=True,
        message={
            "id": "e",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [text("API Error: 400 image exceeds the maximum")],
        },
    )
    path = session.save(tmp_path)
    with pytest.raises(Refused, match="within a tool loop"):
        written(path, images=True)
    assert shown(written(path, images="all").path) == [[answer("toolu_a", [GONE])]]


def test_a_decision_about_a_result_counts_its_image_once(tmp_path: Path) -> None:
    path = pictures().save(tmp_path)
    transcript = Transcript.read(path)
    stub = {"toolu_0": Decision("toolu_0", "stub", "test", text="gone")}
    both = plan(transcript, stub, images=True)
    apart = plan(transcript, stub), plan(transcript, {}, images=True)
    saved = [p.before_tokens - p.after_tokens for p in (both, *apart)]
    # Of the image that both would take the marker is saved, too.
    image = IMAGE_TOKENS - tokens(IMAGE_REMOVED)
    assert saved[0] == pytest.approx(sum(saved[1:]) - 0.9 * image, abs=2)
    assert saved[2] == pytest.approx(0.9 * 4 * image, abs=2)
    done = written(path, decisions=stub, images=True)
    assert (done.before_tokens, done.after_tokens) == (both.before_tokens, both.after_tokens)
    assert shown(done.path)[1] == [answer("toolu_0", "gone")]


def test_without_the_apis_count_images_of_prompts_are_counted(tmp_path: Path) -> None:
    session = pictures()
    session.lines = [line.replace(b'"usage"', b'"unused"') for line in session.lines]
    planned = plan(Transcript.read(session.save(tmp_path)), {}, images="all")
    assert planned.before_tokens > 12 * IMAGE_TOKENS
    assert planned.after_tokens < IMAGE_TOKENS


def complaints(folder: Path, tamper: Callable[[list[Json]], object]) -> str:
    old = Transcript.read(pictures().save(folder))
    planned = plan(old, {}, images=True)
    records = deepcopy(rewrite(old, planned, SID))
    tamper(records)
    path = folder / f"{SID}.jsonl"
    path.write_bytes(b"".join(map(dump, records)))
    return "; ".join(check(old, Transcript.read(path), planned, SID))


def said(records: list[Json], at: int) -> list[Json]:
    """The content of a prompt or result, by its place among them."""
    found = [law.content(r) for r in records if r["type"] == "user"]
    return found[at]


TAMPERED: list[tuple[Callable[[list[Json]], object], str]] = [
    (lambda r: None, ""),
    (lambda r: said(r, 1)[1].update(text="[image]"), "text of the user"),
    (lambda r: said(r, 1).append(GONE), "text of the user"),
    (lambda r: said(r, 1)[0].update(text="Compare"), "text of the user"),
    (lambda r: said(r, 1).__setitem__(1, IMAGE), "still there"),
    (lambda r: said(r, 2)[0]["content"].__setitem__(1, IMAGE), "still there"),
    (lambda r: said(r, 2)[0]["content"].pop(), "more than its images"),
    (lambda r: said(r, 9).__setitem__(1, GONE), "text of the user"),
    (lambda r: said(r, 10)[0]["content"].__setitem__(1, GONE), "nothing was to change"),
    (
        lambda r: [x.update(toolUseResult="A" * 999) for x in r if "toolUseResult" in x],
        "host's copy",
    ),
]


@pytest.mark.parametrize(("tamper", "complaint"), TAMPERED)
def test_the_check_finds_what_more_or_less_has_changed(
    tmp_path: Path, tamper: Callable[[list[Json]], object], complaint: str
) -> None:
    found = complaints(tmp_path, tamper)
    assert complaint in found
    assert complaint or not found
