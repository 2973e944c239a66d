"""What is known to break transcripts, case by case: the number is that of the failure's row."""

import json
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compaction.decisions import CLEARED, Action, Decision
from compaction.records import dump
from compaction.rewrite import plan, rewrite
from compaction.sibling import NothingToDo, Refused, Written, attached, write
from compaction.transcript import Transcript
from tests.compaction.transcript import law
from tests.compaction.transcript.sessions import (
    Json,
    Session,
    answer,
    call,
    name,
    plain,
    read_lines,
    text,
    thinking,
)

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 99}}


def read(session: Session, folder: Path, tail: bytes = b"") -> Transcript:
    return Transcript.read(session.save(folder, tail))


def all_calls(transcript: Transcript, action: Action = "stub", **more: Any) -> dict[str, Decision]:
    names = [use.tool_use_id for m in transcript.messages for use in m.tool_uses]
    return {own: Decision(own, action, "test", **more) for own in names}


def compacted(session: Session, folder: Path, tail: bytes = b"", **more: Any) -> Written:
    transcript = read(session, folder, tail)
    written = write(transcript, all_calls(transcript, **more))
    assert law.violations(written.path) == []
    return written


def texts(transcript: Transcript) -> list[str]:
    return [message.text for message in transcript.messages if message.text]


def results(path: Path) -> dict[str, Json]:
    return {
        block["tool_use_id"]: block
        for record in read_lines(path)
        if record["type"] == "user"
        for block in law.content(record)
        if block["type"] == "tool_result"
    }


def refused(session: Session, folder: Path) -> str:
    transcript = read(session, folder)
    with pytest.raises(Refused) as caught:
        write(transcript, all_calls(transcript))
    assert [*transcript.path.parent.glob("*.jsonl")] == [transcript.path]
    return str(caught.value)


def test_1_a_parent_that_was_never_written_does_not_lose_what_came_before(tmp_path: Path) -> None:
    session = plain()
    session.user("Who is before me?", parent=name(10_000))
    session.assistant([text("I am.")])
    transcript = read(session, tmp_path)
    assert texts(transcript)[0] == "Please look around."
    assert "a parent that is missing" in transcript.flags
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert texts(Transcript.read(written.path)) == texts(transcript)


def test_2_metadata_that_has_the_uuid_of_a_message_hides_no_message(tmp_path: Path) -> None:
    session = plain()
    assert session.tip is not None
    session.put({"type": "file-history-snapshot", "messageId": session.tip, "uuid": session.tip})
    session.put({"messageId": session.tip, "uuid": session.tip, "type": "attribution-snapshot"})
    assert texts(read(session, tmp_path)) == texts(read(plain(), tmp_path / "other"))


def test_3_a_logical_parent_is_not_followed_and_is_nulled_where_unknown(tmp_path: Path) -> None:
    session = plain()
    session.chain("system", subtype="turn_duration", logicalParentUuid=name(10_000))
    session.user("And now?")
    session.assistant([text("Now this.")])
    written = compacted(session, tmp_path)
    records = read_lines(written.path)
    assert [r["logicalParentUuid"] for r in records if "logicalParentUuid" in r] == [None]


def test_4_a_session_that_a_process_has_open_is_refused(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    register = tmp_path / "sessions"
    register.mkdir()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        entry = register / f"{process.pid}.json"
        entry.write_text(json.dumps({"pid": process.pid, "sessionId": transcript.sid}))
        assert attached(transcript.path) == process.pid
        with pytest.raises(Refused, match="has the session open"):
            write(transcript, all_calls(transcript))
        entry.write_text(
            json.dumps({"pid": process.pid, "sessionId": transcript.sid, "procStart": "1"})
        )
        assert attached(transcript.path) is None, "another process has that number now"
        entry.write_text(json.dumps({"pid": process.pid, "sessionId": transcript.sid}))
        process.communicate(b"\n")
    assert attached(transcript.path) is None
    assert write(transcript, all_calls(transcript)).path.exists()


def test_5_a_branch_that_was_left_does_not_win_and_is_not_copied(tmp_path: Path) -> None:
    session = plain()
    tip = session.tip
    session.user("Never mind.", timestamp="2026-12-24T00:00:00.000Z")
    session.tip = tip
    session.user("Rather this.")
    session.assistant([text("Gladly.")])
    transcript = read(session, tmp_path)
    assert "branches that were left" in transcript.flags
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert texts(Transcript.read(written.path))[-2:] == ["Rather this.", "Gladly."]
    assert b"Never mind." not in written.path.read_bytes()


def test_6_parallel_branches_are_kept_even_where_children_precede_parents(tmp_path: Path) -> None:
    session = Session()
    session.user("Three at once.")
    session.round("toolu_a", "toolu_b", "toolu_c", say="Here.")
    session.assistant([text("Done.")])
    session.lines[4:7] = reversed(session.lines[4:7])
    transcript = read(session, tmp_path)
    assert transcript.flags == ()
    assert [len(m.tool_uses) for m in transcript.messages] == [0, 3, 0, 0]
    assert [len(m.tool_results) for m in transcript.messages] == [0, 0, 3, 0]


def test_7_no_result_is_left_without_its_call(tmp_path: Path) -> None:
    session = Session()
    session.user("Go.")
    for at in range(4):
        session.round(f"toolu_{at}", f"toolu_{at}b")
    session.assistant([text("Done.")])
    written = compacted(session, tmp_path, action="drop_call")
    assert results(written.path) == {}
    assert len(written.applied) == 8


def test_7_a_call_that_words_tell_of_gets_a_stub_instead(tmp_path: Path) -> None:
    written = compacted(plain(), tmp_path, action="drop_call")
    assert {block["content"] for block in results(written.path).values()} == {CLEARED}


@pytest.mark.parametrize("ends", ["call", "results"])
def test_8_a_session_that_ends_within_a_tool_loop_is_refused(tmp_path: Path, ends: str) -> None:
    session = plain()
    session.user("More.")
    if ends == "call":
        session.assistant([text("I will."), call("toolu_pending")])
    else:
        session.round("toolu_pending")
    assert "the session ends" in refused(session, tmp_path)


def test_8_a_call_that_was_cut_off_long_ago_is_left_out_as_the_cli_does(tmp_path: Path) -> None:
    session = plain()
    session.user("Try.")
    session.assistant([text("Trying."), call("toolu_cut")])
    session.user("Stop.")
    session.assistant([text("Stopped.")])
    transcript = read(session, tmp_path)
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert texts(Transcript.read(written.path)) == texts(transcript)
    assert "toolu_cut" not in written.applied


def test_9_a_result_without_a_call_is_read_and_its_words_are_kept(tmp_path: Path) -> None:
    session = plain()
    session.user([answer("toolu_denied", "No."), text("I said no.")])
    session.assistant([text("Understood.")])
    transcript = read(session, tmp_path)
    assert transcript.messages[-2].tool_results[0].text == "No."
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert texts(Transcript.read(written.path)) == texts(transcript)


def test_10_results_stand_right_behind_their_calls(tmp_path: Path) -> None:
    session = plain()
    session.user("Now both.")
    own = session.assistant([call("toolu_a"), call("toolu_b")])
    session.result("toolu_b", parent=own[1])
    session.chain("attachment", attachment={"type": "date"})
    session.user("While you work: hurry.")
    session.result("toolu_a", parent=own[0])
    session.tip = name(session._count - 1)  # pyright: ignore[reportPrivateUsage]
    session.assistant([text("Done.")])
    written = compacted(session, tmp_path)
    assert "While you work: hurry." in texts(Transcript.read(written.path))


def test_11_an_id_that_is_used_twice_is_refused(tmp_path: Path) -> None:
    session = plain()
    session.user("Again.")
    session.round("toolu_0")
    session.assistant([text("Done.")])
    assert "twice" in refused(session, tmp_path)


def thoughtful() -> Session:
    session = Session()
    session.user("Think first.")
    session.round("toolu_0", think="one", say="Looking.")
    session.round("toolu_1", think="two")
    session.assistant([thinking("three")])
    session.user("And?")
    session.assistant([thinking("four"), text("That is all.")])
    return session


def thoughts(path: Path) -> list[str]:
    return [
        block["thinking"]
        for record in read_lines(path)
        if record["type"] == "assistant"
        for block in law.content(record)
        if block["type"] == "thinking"
    ]


def test_12_thinking_before_the_first_edit_stays_as_it_is_signed(tmp_path: Path) -> None:
    transcript = read(thoughtful(), tmp_path)
    written = write(transcript, {"toolu_1": Decision("toolu_1", "stub", "test")})
    assert thoughts(written.path) == ["one", "two"]


def test_12_a_message_whose_call_changes_loses_its_thinking(tmp_path: Path) -> None:
    session = thoughtful()
    transcript = read(session, tmp_path)
    shorter = Decision("toolu_0", "trim_input", "test", input={"command": "l"})
    assert thoughts(write(transcript, {"toolu_0": shorter}).path) == []


def test_13_a_message_that_only_thought_is_left_out(tmp_path: Path) -> None:
    transcript = read(thoughtful(), tmp_path)
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert "three" not in written.path.read_text()
    assert all(law.content(r) for r in read_lines(written.path) if r["type"] == "assistant")


def test_14_the_last_answer_is_never_edited(tmp_path: Path) -> None:
    session = plain()
    session.round("toolu_last", think="so", say="Last one.")
    session.user([text("[Request interrupted by user for tool use]")])
    transcript = read(session, tmp_path)
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert "toolu_last" not in written.applied
    assert results(written.path)["toolu_last"]["content"] == "x " * 400


def test_15_no_thinking_is_left_behind_an_edit(tmp_path: Path) -> None:
    transcript = read(thoughtful(), tmp_path)
    written = write(transcript, {"toolu_0": Decision("toolu_0", "stub", "test")})
    assert thoughts(written.path) == ["one"]


def test_16_empty_thinking_with_a_signature_is_no_damage(tmp_path: Path) -> None:
    session = Session()
    session.user("Go.")
    session.assistant([thinking(""), text("Yes."), call("toolu_a")])
    session.result("toolu_a", "y " * 300)
    session.assistant([text("Done.")])
    written = compacted(session, tmp_path)
    assert thoughts(written.path) == [""]


def test_17_images_of_a_result_go_with_it_and_into_no_copy(tmp_path: Path) -> None:
    session = Session()
    session.user([text("Look."), IMAGE])
    copy = {"type": "image", "file": {"base64": "A" * 9000, "type": "image/png"}}
    session.assistant([call("toolu_a", "Read", file_path="i.png")])
    session.result("toolu_a", [IMAGE], toolUseResult=copy)
    session.assistant([text("Done.")])
    transcript = read(session, tmp_path)
    assert transcript.messages[2].tool_results[0].images == 1
    written = write(transcript, all_calls(transcript, text="[image removed]"))
    assert results(written.path)["toolu_a"]["content"] == "[image removed]"
    assert "A" * 201 not in written.path.read_text()
    assert read_lines(written.path)[2]["toolUseResult"]["file"]["type"] == "image/png"


def test_18_what_was_cleared_is_seen_and_reported(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    written = write(transcript, {"toolu_1": Decision("toolu_1", "stub", "old memory")})
    assert {d.reason for d in written.applied.values()} == {"old memory"}
    assert results(written.path)["toolu_1"]["content"] == CLEARED


@pytest.mark.parametrize("tail", [b'{"type":"user","message":{"c', b"\xff\xfe\x00", b"{"])
def test_19_a_torn_last_line_is_dropped(tmp_path: Path, tail: bytes) -> None:
    written = compacted(plain(), tmp_path, tail)
    assert texts(Transcript.read(written.path))[-1] == "That is all."


def test_19_a_whole_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    session = plain()
    session.user("And?")
    session.assistant([text("Yes.")])
    last = session.lines.pop().removesuffix(b"\n")
    assert texts(read(session, tmp_path, last))[-1] == "Yes."


def test_20_the_original_stays_and_its_metadata_comes_along(tmp_path: Path) -> None:
    session = plain()
    session.meta("custom-title", customTitle="Old")
    session.meta("custom-title", customTitle="New")
    session.meta("permission-mode", permissionMode="plan")
    session.meta("last-prompt", lastPrompt="Please", leafUuid=name(3))
    session.meta("queue-operation", operation="enqueue", content="Please")
    session.meta("continued-in", continuedInSessionId="elsewhere")
    transcript = read(session, tmp_path)
    before = transcript.path.read_bytes()
    written = write(transcript, all_calls(transcript))
    assert transcript.path.read_bytes() == before
    records = read_lines(written.path)
    kinds = [record["type"] for record in records if "uuid" not in record]
    assert kinds == ["custom-title", "permission-mode", "last-prompt"]
    assert [r["customTitle"] for r in records if "customTitle" in r] == ["New"]
    assert law.violations(written.path) == []
    assert stat.S_IMODE(written.path.stat().st_mode) == 0o600


def test_21_a_second_run_changes_nothing_and_says_so(tmp_path: Path) -> None:
    written = compacted(plain(), tmp_path)
    again = Transcript.read(written.path)
    with pytest.raises(NothingToDo):
        write(again, all_calls(again))
    assert len([*written.path.parent.iterdir()]) == 2


def test_22_a_file_that_changed_since_it_was_read_is_refused(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    with transcript.path.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(Refused, match="has changed"):
        write(transcript, all_calls(transcript))
    transcript.path.unlink()
    with pytest.raises(Refused, match="has changed"):
        write(transcript, all_calls(transcript))


def test_23_ids_of_the_new_session_are_uuids_and_its_envelopes_whole(tmp_path: Path) -> None:
    written = compacted(plain(), tmp_path)
    old = json.loads(plain().lines[0])
    for record in read_lines(written.path):
        assert record.keys() >= old.keys() - {"toolUseResult"}
        assert record["cwd"] == "/home/me"


def test_24_words_do_not_stand_there_without_the_call_that_they_tell_of(tmp_path: Path) -> None:
    written = compacted(plain(6), tmp_path, action="drop_call")
    assert len(results(written.path)) == 6


def test_25_the_same_decisions_give_the_same_bytes(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    planned = plan(transcript, all_calls(transcript))
    made = [b"".join(map(dump, rewrite(transcript, planned, name(7)))) for _ in range(2)]
    assert made[0] == made[1]
    assert write(transcript, all_calls(transcript), sid=name(7)).path.read_bytes() == made[0]


def test_26_the_new_file_is_read_back_whole(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    written = write(transcript, all_calls(transcript))
    again = Transcript.read(written.path)
    assert len(again.records) == len(transcript.records)
    assert again.flags == ()


# --- rules of the writer beside those failures ----------------------------------------------------
def with_replacement() -> Session:
    session = plain()
    for own in ("toolu_0", "toolu_2"):
        entry = {"kind": "tool-result", "toolUseId": own, "replacement": f"stored {own}"}
        session.meta("content-replacement", replacements=[entry])
    return session


def replaced(path: Path) -> Mapping[str, str]:
    return {
        entry["toolUseId"]: entry["replacement"]
        for record in read_lines(path)
        if record["type"] == "content-replacement"
        for entry in record["replacements"]
    }


def test_the_text_that_the_model_saw_is_the_text_of_a_replaced_result(tmp_path: Path) -> None:
    transcript = read(with_replacement(), tmp_path)
    assert transcript.messages[2].tool_results[0].text == "stored toolu_0"


def test_replacements_come_along_but_for_results_that_changed(tmp_path: Path) -> None:
    transcript = read(with_replacement(), tmp_path)
    written = write(transcript, {"toolu_2": Decision("toolu_2", "stub", "test")})
    assert replaced(written.path) == {"toolu_0": "stored toolu_0"}


@pytest.mark.parametrize("preserved", [False, True])
def test_only_what_stands_behind_the_last_boundary_is_written(
    tmp_path: Path, preserved: bool
) -> None:
    session = plain()
    session.meta("custom-title", customTitle="Kept")
    last = session.tip
    assert last is not None
    session.boundary(preserved=[last] if preserved else [])
    session.user("Go on.")
    session.round("toolu_new")
    session.assistant([text("Done.")])
    transcript = read(session, tmp_path)
    said = ["The story so far.", *(["That is all."] if preserved else []), "Go on.", "Done."]
    assert texts(transcript) == said
    written = write(transcript, all_calls(transcript))
    assert law.violations(written.path) == []
    assert texts(Transcript.read(written.path)) == said
    first = read_lines(written.path)[0]
    assert first["subtype"] == "compact_boundary"
    assert "preservedSegment" not in first["compactMetadata"]
    assert "Kept" in written.path.read_text()


def test_preserved_messages_that_are_missing_are_a_reason_to_refuse(tmp_path: Path) -> None:
    session = plain()
    session.boundary(preserved=[name(10_000)])
    session.user("Go on.")
    session.round("toolu_new")
    session.assistant([text("Done.")])
    assert "preserved" in refused(session, tmp_path)


def test_a_subagents_records_do_not_come_along(tmp_path: Path) -> None:
    session = plain()
    tip = session.tip
    session.user("A task.", parent=None, isSidechain=True, agentId="a")
    session.tip = tip
    session.user("And?")
    session.assistant([text("Yes.")])
    assert "A task." not in compacted(session, tmp_path).path.read_text()


def test_errors_stay_marked_as_errors(tmp_path: Path) -> None:
    session = Session()
    session.user("Go.")
    session.assistant([call("toolu_a")])
    session.result("toolu_a", "failed " * 90, error=True)
    session.assistant([text("Done.")])
    block = results(compacted(session, tmp_path).path)["toolu_a"]
    assert (block["content"], block["is_error"]) == (CLEARED, True)


def test_an_empty_stub_becomes_the_usual_one(tmp_path: Path) -> None:
    written = compacted(plain(), tmp_path, text="  ")
    assert {block["content"] for block in results(written.path).values()} == {CLEARED}


def test_an_input_may_become_shorter_but_not_another(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    longer = Decision("toolu_1", "trim_input", "test", input={"command": "rm -rf /"})
    with pytest.raises(Refused, match="shorter strings"):
        write(transcript, {"toolu_1": longer})
    assert [*transcript.path.parent.iterdir()] == [transcript.path]


def test_the_last_answer_tells_how_large_the_session_is_now(tmp_path: Path) -> None:
    session = plain(20)
    written = compacted(session, tmp_path)
    usage = Transcript.read(written.path).usage
    assert usage is not None
    assert usage.tokens == written.after_tokens < written.before_tokens == 150_014


def test_a_session_of_that_name_is_never_replaced(tmp_path: Path) -> None:
    transcript = read(plain(), tmp_path)
    taken = transcript.path.with_name(f"{name(9)}.jsonl")
    taken.write_text("mine")
    with pytest.raises(Refused, match="already"):
        write(transcript, all_calls(transcript), sid=name(9))
    assert taken.read_text() == "mine"


def test_the_cache_is_known_to_be_kept_for_an_hour(tmp_path: Path) -> None:
    session = plain()
    usage = {"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 5}}
    told = {"id": "m", "role": "assistant", "model": "claude-test", "content": [text("Yes.")]}
    session.user("And?")
    session.chain("assistant", message={**told, "usage": usage})
    found = read(session, tmp_path).usage
    assert found is not None and found.one_hour and found.tokens == 1
    assert found.at is not None


@pytest.mark.parametrize("data", [b"", b"\n\n", b"[]\n", b"\x00" * 9, b'{"type":"user"}\n'])
def test_what_is_no_transcript_is_an_empty_one(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    assert Transcript.read(path).messages == ()
    with pytest.raises(Refused, match="no conversation"):
        write(Transcript.read(path), {})


def test_a_count_that_does_not_fit_what_is_there_is_not_believed(tmp_path: Path) -> None:
    session = plain()
    for at, line in enumerate(session.lines):
        session.lines[at] = line.replace(b'"cache_read_input_tokens":150000', b'"cached":0')
    transcript = read(session, tmp_path)
    assert transcript.usage is not None and transcript.usage.tokens == 14
    assert not transcript.counted
    written = write(transcript, all_calls(transcript))
    assert written.before_tokens == transcript.tokens > 1500
    assert 0 < written.after_tokens < written.before_tokens
    assert Transcript.read(written.path).usage == transcript.usage
