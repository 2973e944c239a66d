"""The command, run as a process on files and in folders of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compaction.command.options import target
from compaction.page import page
from compaction.session import Request, compact_session
from compaction.transcript import Transcript
from tests.compaction.session.work import SECRET, save, tree, working

ROOT = Path(__file__).parents[3]
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "compaction", *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_dry_run_tells_and_writes_nothing(tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    before = tree(tmp_path)
    done = run(tmp_path, str(path), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "tokens (-" in done.stdout and "\x1b" not in done.stdout + done.stderr
    assert tree(tmp_path) == before


def test_json_is_all_that_is_printed_and_undo_leads_back(tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    before = tree(tmp_path)
    done = run(tmp_path, str(path), "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    undone = run(tmp_path, outcome["path"], "--undo")
    assert f"claude --resume {path.stem}" in undone.stdout
    assert tree(tmp_path) == before


def test_statuses_tell_refusal_from_usage(tmp_path: Path) -> None:
    assert run(tmp_path, "no-such-session").returncode == 1
    assert run(tmp_path, "x", "--target", "many").returncode == 2
    assert "examples:" in run(tmp_path).stdout


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
