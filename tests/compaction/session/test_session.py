"""One session from its file to a smaller one beside it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import lineage
from compaction.archive import Settings
from compaction.choice import STRATEGIES
from compaction.session import NothingToDo, Refused, Request, compact_session
from compaction.transcript import Transcript
from tests.compaction.session.test_archive import NAMED
from tests.compaction.session.work import SECRET, log, outputs, save, tree, working
from tests.compaction.transcript import law
from tests.compaction.transcript.random_sessions import Random
from tests.compaction.transcript.sessions import call, text

ROOT = Path(__file__).parents[3]
CALLS = 24
WINDOW = 20_000
"""Tokens; so small that the sessions fill it."""


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_writes_a_smaller_session_and_leaves_the_old_one(
    tmp_path: Path, strategy: str
) -> None:
    path = save(working(CALLS), tmp_path)
    before = path.read_bytes()
    old = Transcript.read(path)
    outcome = compact_session(path, Request(strategy, target=old.tokens // 2, window=WINDOW))
    assert path.read_bytes() == before
    assert outcome.path is not None and outcome.sid == outcome.path.stem
    assert law.violations(outcome.path) == []
    new = Transcript.read(outcome.path)
    assert new.tokens < old.tokens == outcome.before_tokens
    assert outcome.after_tokens == pytest.approx(new.tokens, rel=0.02)
    for role in ("user", "assistant"):
        assert law.texts(new.records, role) == law.texts(old.records, role)
    assert outcome.kept + outcome.trimmed + outcome.removed == len(outputs(old))
    manifest = lineage.manifest_of(outcome.path)
    assert manifest is not None
    assert (manifest.source, manifest.strategy) == (path.stem, outcome.strategy)
    assert lineage.origin(outcome.path) == [path]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_second_run_changes_nothing(tmp_path: Path, strategy: str) -> None:
    path = save(working(CALLS), tmp_path)
    request = Request(strategy, target=Transcript.read(path).tokens // 3, window=WINDOW)
    outcome = compact_session(path, request)
    assert outcome.path is not None
    before = tree(tmp_path)
    with pytest.raises(NothingToDo):
        compact_session(outcome.path, request)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_text_that_went_is_in_the_archive(tmp_path: Path, strategy: str) -> None:
    session = working(CALLS)
    path = save(session, tmp_path)
    outcome = compact_session(path, Request(strategy, target=0, window=WINDOW))
    assert outcome.path is not None
    before, after = outputs(Transcript.read(path)), outputs(Transcript.read(outcome.path))
    files = {each.tool_use_id: each.file for each in outcome.calls if each.action != "keep"}
    assert files
    for key, file in files.items():
        assert file is not None
        kept = Path(file).read_text()
        assert before[key] == (json.loads(kept)["output"] if file.endswith("json") else kept)
        if key in after and after[key] != before[key] and file.endswith("txt"):
            assert NAMED.findall(after[key]) == [file]


@given(
    st.data(), st.sampled_from(list(STRATEGIES)), st.floats(0, 1), st.sampled_from([False, True])
)
@settings(max_examples=60)
def test_whatever_the_transcript_holds_the_result_is_lawful_or_nothing(
    data: st.DataObject, strategy: str, share: float, images: bool
) -> None:
    made = Random(data)
    session = made.make()
    with tempfile.TemporaryDirectory() as folder:
        path = session.save(Path(folder), made.tail)
        before = tree(Path(folder))
        target = round(Transcript.read(path).tokens * share)
        try:
            request = Request(strategy, target=target, window=max(target, 1), images=images)
            outcome = compact_session(path, request)
        except Refused:
            assert tree(Path(folder)) == before
            assert [*path.parent.iterdir()] == [path]
            return
        assert outcome.path is not None
        assert law.violations(outcome.path) == []
        after = tree(Path(folder))
        assert {key: after[key] for key in before} == before
        assert not [entry for entry in path.parent.iterdir() if entry.name.startswith(".")]


@pytest.mark.parametrize("counted", [False, True], ids=["estimated", "counted"])
@pytest.mark.parametrize("percent", [95, 80, 60, 40, 25])
def test_auto_comes_down_to_its_target_and_hardly_below(
    tmp_path: Path, percent: int, counted: bool
) -> None:
    session = working(60)
    tokens = Transcript.read(save(session, tmp_path)).tokens
    if counted:
        tokens = round(tokens * 0.9)
        save(session, tmp_path, tokens)
    target = tokens * percent // 100
    path = tmp_path / "projects" / "-home-me" / f"{session.sid}.jsonl"
    assert Transcript.read(path).counted is counted
    outcome = compact_session(path, Request("auto", target=target))
    assert outcome.before_tokens == tokens
    assert outcome.after_tokens <= target * 1.02
    lossless = compact_session(path, Request("auto", target=tokens, dry_run=True)).after_tokens
    assert outcome.after_tokens >= min(target * 0.9, lossless * 0.99)


def test_a_target_out_of_reach_takes_all_but_what_is_never_touched(tmp_path: Path) -> None:
    path = save(working(CALLS), tmp_path)
    outcome = compact_session(path, Request("auto", target=0))
    assert outcome.path is not None
    old, new = Transcript.read(path), Transcript.read(outcome.path)
    assert outputs(new)["toolu_failed"] == outputs(old)["toolu_failed"]
    assert law.errors(new.records) == law.errors(old.records)
    assert new.messages[-6:] == old.messages[-6:]


def test_a_credential_goes_without_a_copy_and_the_stub_says_so(tmp_path: Path) -> None:
    session = working(3)
    session.assistant([call("toolu_env", "Bash", command="printenv")])
    session.result("toolu_env", f"{log(50, 60)}\nGITHUB_TOKEN={SECRET}\n")
    for _ in range(5):
        session.assistant([text("Fine.")])
        session.user("Go on.")
    session.assistant([text("Done.")])
    path = save(session, tmp_path)
    outcome = compact_session(path, Request("auto", target=0))
    assert outcome.path is not None
    stub = outputs(Transcript.read(outcome.path))["toolu_env"]
    assert "looks like it holds credentials" in stub
    made = tree(outcome.path.with_suffix(""))
    assert made
    assert not any(SECRET.encode() in data for data in made.values())
    assert SECRET.encode() not in outcome.path.read_bytes()


def test_a_dry_run_decides_the_same_and_writes_nothing(tmp_path: Path) -> None:
    path = save(working(CALLS), tmp_path)
    before = tree(tmp_path)
    dry = compact_session(path, Request("balanced", dry_run=True))
    assert (dry.path, dry.sid) == (None, None)
    assert tree(tmp_path) == before
    assert [*path.parent.iterdir()] == [path]
    wet = compact_session(path, Request("balanced"))
    assert dry.after_tokens == pytest.approx(wet.after_tokens, rel=0.02)
    assert [(c.tool_use_id, c.action) for c in dry.calls] == [
        (c.tool_use_id, c.action) for c in wet.calls
    ]


def test_the_outcome_can_be_told_in_json(tmp_path: Path) -> None:
    outcome = compact_session(save(working(CALLS), tmp_path), Request("balanced"))
    told = json.loads(json.dumps(outcome.to_json()))
    assert told["sid"] == outcome.sid
    assert told["removed"] + told["kept"] + told["trimmed"] == len(told["calls"])
    assert told["calls"][0]["title"] == "/home/me/project/module_0.py"


def test_the_steps_are_told_as_they_begin(tmp_path: Path) -> None:
    steps: list[str] = []
    compact_session(save(working(), tmp_path), Request("balanced"), progress=steps.append)
    assert steps == ["read", "decide", "archive", "write"]


def test_too_small_a_gain_is_none(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    with pytest.raises(NothingToDo, match="what is left is needed"):
        compact_session(path, Request("conservative", min_saving=0.99))
    assert [*path.parent.iterdir()] == [path]


def test_unknown_strategies_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    with pytest.raises(ValueError, match="no strategy"):
        compact_session(path, Request("magic"))
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize("dry", [False, True], ids=["wet", "dry"])
def test_a_session_that_ends_with_an_open_call_is_refused(tmp_path: Path, dry: bool) -> None:
    session = working()
    session.assistant([call("toolu_open")])
    path = save(session, tmp_path)
    with pytest.raises(Refused, match="ends with a call that has no result"):
        compact_session(path, Request("aggressive", dry_run=dry))
    assert [*path.parent.iterdir()] == [path]


def test_a_session_that_a_process_has_open_is_refused_without_a_trace(tmp_path: Path) -> None:
    path = save(working(), tmp_path)
    register = tmp_path / "sessions" / f"{os.getpid()}.json"
    register.parent.mkdir()
    register.write_text(json.dumps({"pid": os.getpid(), "sessionId": path.stem}))
    with pytest.raises(Refused, match="has the session open"):
        compact_session(path, Request("balanced"))
    assert [*path.parent.iterdir()] == [path]


def test_a_session_that_grows_meanwhile_is_refused_without_a_trace(tmp_path: Path) -> None:
    path = save(working(), tmp_path)

    def grow(step: str) -> None:
        if step == "write":
            with path.open("ab") as file:
                file.write(b'{"type":"mode","mode":"plan"}\n')

    with pytest.raises(Refused, match="has changed"):
        compact_session(path, Request("balanced"), progress=grow)
    assert [*path.parent.iterdir()] == [path]


def test_plain_texts_are_the_strategys_own(tmp_path: Path) -> None:
    path = save(working(CALLS), tmp_path)
    plain = Request("jev-library", archive=Settings(keep=False, format="plain"))
    outcome = compact_session(path, plain)
    assert outcome.path is not None
    assert b"<persisted-output>" not in outcome.path.read_bytes()
    assert sorted(p.name for p in outcome.path.with_suffix("").iterdir()) == ["compaction.json"]


# --- crashes --------------------------------------------------------------------------------------
DYING = """
import os, sys
from pathlib import Path
from compaction.session import Request, compact_session

path, at = Path(sys.argv[1]), int(sys.argv[2])
count = 0

def die_in_time(event, arguments):
    # Every step that changes the file system is announced before it is taken.
    global count
    changes = event in ("open", "os.link", "os.remove", "os.rename", "os.mkdir", "os.rmdir")
    if changes and str(path.parent) in str(arguments[0]):
        count += 1
        if count == at:
            os._exit(9)

sys.addaudithook(die_in_time)
compact_session(path, Request("jev-library"))
"""


def test_a_crash_at_any_step_leaves_no_session_or_a_whole_one(tmp_path: Path) -> None:
    found: list[bool] = []
    for step in range(1, 60):
        path = save(working(4, 40), tmp_path / str(step))
        before = path.read_bytes()
        arguments = [sys.executable, "-c", DYING, str(path), str(step)]
        code = subprocess.run(arguments, cwd=ROOT, check=False).returncode
        assert path.read_bytes() == before
        sessions = [p for p in path.parent.glob("*.jsonl") if p != path]
        found.append(bool(sessions))
        for new in sessions:
            assert law.violations(new) == []
            assert lineage.manifest_of(new) is not None
            for named in NAMED.findall(new.read_text()):
                assert Path(named.split("\\n")[0]).is_file()
        lineage.sweep(path.parent, retention_days=0, now=9e9)
        kept = {path, *sessions, *(new.with_suffix("") for new in sessions)}
        assert {*path.parent.iterdir()} == kept, "a sweep finds all that a crash left"
        if code == 0:
            break
        assert code == 9
    assert found[0] is False
    assert found[-1] is True
    assert len(found) >= 8
