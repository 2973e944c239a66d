"""The command, run as a process on files and in folders of its own."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.command.advice import Failure, following
from compaction.command.options import target
from compaction.command.output import save as save_output
from compaction.command.sessions import NotFound
from compaction.command.table import columns, cut, decisions, padded
from compaction.lineage import NotCompacted
from compaction.page import page
from compaction.report import Call
from compaction.session import NothingToDo, Refused, Request, compact_session
from compaction.transcript import Transcript
from tests.compaction.command.conftest import Run
from tests.compaction.session.work import SECRET, save, tree, working

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m"


def test_a_dry_run_tells_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    before = tree(tmp_path)
    done = run(str(path), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "tokens (-" in done.stdout and "\x1b" not in done.stdout + done.stderr
    assert tree(tmp_path) == before


def test_json_is_all_that_is_printed_and_undo_leads_back(run: Run, tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    before = tree(tmp_path)
    done = run(str(path), "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    undone = run(outcome["path"], "--undo")
    assert f"claude --resume {path.stem}" in undone.stdout
    assert tree(tmp_path) == before


def test_statuses_tell_refusal_from_usage(run: Run) -> None:
    assert run("no-such-session").returncode == 1
    assert run("x", "--target", "many").returncode == 2
    assert "examples:" in run().stdout


@pytest.mark.parametrize(("text", "tokens"), [("40000", 40000), ("40k", 40000), ("20%", 40000)])
def test_a_target_is_tokens_or_a_share_of_the_window(text: str, tokens: int) -> None:
    assert target(text, 200_000) == tokens


@pytest.mark.parametrize("text", ["", "%", "nan", "-1", "0", "inf", "1e99"])
def test_a_target_that_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--target takes"):
        target(text, 200_000)


def test_nothing_in_a_session_can_end_the_data_of_the_page(tmp_path: Path) -> None:
    session = working(24)
    session.user(f"{HOSTILE} {SECRET}")
    path = save(session, tmp_path)
    messages = Transcript.read(path).messages
    shown = page(compact_session(path, Request("aggressive", dry_run=True)), messages)
    data = shown.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)
    assert any(HOSTILE in said["text"] for said in json.loads(data)["said"])


def test_without_an_archive_nothing_of_what_goes_is_kept(run: Run, tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    words = (str(path), "--no-archive", "--json", "--strategy", "aggressive")
    outcome = json.loads(run(*words).stdout)
    assert {call["file"] for call in outcome["calls"]} == {None}
    assert not [name for name in tree(tmp_path) if "tool-results" in name]


def test_plain_texts_name_no_file(run: Run, tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    done = run(str(path), "--format", "plain", "--strategy", "prune", "--window", "20000", "--json")
    written = Path(json.loads(done.stdout)["path"]).read_text("utf-8")
    assert "persisted-output" not in written and "[whole output" not in written


def test_a_report_is_for_its_owner_only_and_replaces_a_former_one(run: Run, tmp_path: Path) -> None:
    path, report = save(working(24), tmp_path), tmp_path / "report.html"
    report.write_text("a former one")
    report.chmod(0o644)
    done = run(str(path), "--dry-run", "--html", "report.html", "--all", "--images", "old")
    assert done.returncode == 0, done.stderr
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    shown = [line for line in done.stdout.splitlines() if " keep " in line]
    assert shown, "--all shows what is kept, too"


def test_a_session_is_told_of_although_its_report_cannot_be_written(
    run: Run, tmp_path: Path
) -> None:
    path = save(working(24), tmp_path)
    done = run(str(path), "--html", "no/such/folder.html")
    assert done.returncode == 1
    assert "next: claude --resume" in done.stdout and "report:" not in done.stdout
    assert done.stderr.startswith("There is no report: ")


def test_a_report_that_cannot_be_written_leaves_the_former_one(tmp_path: Path) -> None:
    taken = tmp_path / "report.html"
    (taken / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        save_output(taken, b"new")
    assert [*tmp_path.iterdir()] == [taken]


def test_a_session_that_a_process_has_open_asks_to_end_it(run: Run, tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    register = tmp_path / "sessions"
    register.mkdir()
    (register / "x.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": path.stem}))
    done = run(str(path), "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert "has the session open" in told["error"] and told["next"].startswith("End what uses")


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Refused("process 7 has the session open"), "End what uses"),
        (Refused("the file has changed since it was read"), "Something still writes"),
        (Refused("the session ends with a call that has no result"), "finish its answer"),
        (Refused("the session ends within a tool loop"), "finish its answer"),
        (Refused("there is no conversation yet"), "--list"),
        (Refused("a tool id is used twice"), "as it is"),
        (NothingToDo("there is nothing left that could be removed"), "--target"),
        (NotFound("there is no file x"), "--list"),
        (NotCompacted("session x was not made by a compaction"), "--list"),
        (OSError("no space left"), "Nothing that was there"),
    ],
)
def test_the_next_step_fits_the_reason(failure: Failure, words: str) -> None:
    assert words in following(failure)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("\uff57", 2), ("a\u200bb", 2)]
)
def test_wide_characters_take_two_columns_and_combining_ones_none(text: str, width: int) -> None:
    assert columns(text) == width


@given(st.text(alphabet="aé日本\uff57 e\u0301", max_size=20), st.integers(1, 12))
def test_a_cut_text_fits_and_a_padded_one_fills_its_columns(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width
    assert columns(padded(text, width)) == width
    assert cut(text, columns(text) + 1) == text


def test_reasons_stand_in_one_column_whatever_the_titles() -> None:
    calls = [
        Call(f"t{at}", "Read", title, at, "stub", "because", 10, 1)
        for at, title in enumerate(("plain", "日本語.txt", "e\u0301.txt"))
    ]
    rows = decisions(calls, 100, every=True, colour=False)[1:]
    assert len({columns(row.split("because")[0]) for row in rows}) == 1
