"""The words of /status and /cleanup: all that there is to know, in one message."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.cleanup import CleanupReport, Orphan, Run
from bridge.proc import Identity, identity
from bridge.render import MESSAGE_LIMIT
from bridge.render.measure import units
from bridge.status import Tree, cleanup_text, measure, status_text
from state import Lineage, Process, Queued, Record, Settings, Usage

SID = str(uuid.UUID(int=7))
SMALL = Tree(count=2, age=75, rss=300_000_000)


def record(**changes: object) -> Record:
    base = Record(cwd="/srv/work", guild=1, owner=2, title="t", created=0, last_used=0)
    return base.model_copy(update=changes)


def process(pid: int = 4242, started: int = 1) -> Process:
    return Process(pid=pid, started=started, marker="m", run_dir="/run/x", sid=SID)


def lines(of: Record, tree: Tree | None = None) -> dict[str, str]:
    """The rows by their names."""
    text = status_text(of, None, tree, now=100)
    rows = [line.removeprefix("**").split("** ", 1) for line in text.splitlines()]
    return {name: value for name, value in rows}


def test_a_thread_that_has_not_begun_says_so() -> None:
    assert lines(record()) == {
        "Session": "`none yet`",
        "Folder": "`/srv/work`",
        "Model": "not known yet",
        "Context": "0",
        "Used": "0 turns · $0.00",
        "Now": "idle",
        "Queue": "0 waiting",
        "Process": "none; the next message starts one",
    }


def test_a_thread_in_use_says_all_of_it() -> None:
    queued = Queued(message=1, author=1, author_name="A", content="x", at=0)
    usage = Usage(
        turns=3, cost_usd=1.234, model="opus", context_tokens=50_000, context_window=200_000
    )
    past = Lineage(sid=SID, reason="new", at=0)
    of = record(
        sid=SID,
        pending_fork=True,
        usage=usage,
        queue=(queued, queued),
        process=process(),
        lineage=(past, past),
    )
    assert lines(of, SMALL) == {
        "Session": f"`{SID}` · forks at the next message",
        "Folder": "`/srv/work`",
        "Model": "opus",
        "Context": "50k of 200k (25%)",
        "Used": "3 turns · $1.23",
        "Now": "idle",
        "Queue": "2 waiting",
        "Process": "pid 4242 · 1 min 15 s old · 300 MB in 3 processes",
        "Before": "2 earlier sessions, kept on disk",
    }


def test_the_model_that_was_chosen_shows_until_one_has_answered() -> None:
    assert lines(record(settings=Settings(model="haiku")))["Model"] == "haiku"


paths = st.text(st.characters(codec="utf-8", exclude_categories=("Mn", "Me", "Cf")), max_size=5000)


@given(paths, paths)
def test_status_is_one_message_whatever_a_folder_is_called(cwd: str, model: str) -> None:
    text = status_text(record(cwd=cwd, usage=Usage(model=model)), None, SMALL, now=0)
    assert units(text) <= MESSAGE_LIMIT
    assert len(text.splitlines()) == 8


def test_a_long_path_keeps_its_end() -> None:
    folder = lines(record(cwd="/deep" * 400 + "/here"))["Folder"]
    assert folder.startswith("`…")
    assert folder.endswith("/here`")


# --- what lives -----------------------------------------------------------------------------------
def test_a_process_is_measured_with_all_that_descends_from_it() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    try:
        who = identity(child.pid)
        assert who is not None
        while (tree := measure(process(who.pid, who.started))) is None:
            assert child.poll() is None
        assert tree.count == 1
        assert tree.rss > 1_000_000
        assert tree.age >= 0
    finally:
        assert child.stdin is not None
        child.stdin.close()
        child.wait()
    assert measure(process(who.pid, who.started)) is None


# --- /cleanup -------------------------------------------------------------------------------------
def orphan(pid: int, command: str = "claude -p", rss: int = 5_000_000) -> Orphan:
    run = Run(Path("/run"), "m", "1", 1, None)
    return Orphan(Identity(pid, 1), run, command, "its shim is dead", 61, rss)


def test_nothing_to_clean_up_is_said() -> None:
    assert "Nothing to clean up" in cleanup_text([], None)


def test_a_dry_run_lists_and_ends_nothing() -> None:
    text = cleanup_text([orphan(5), orphan(6)], None)
    assert text.splitlines()[0] == "🧹 2 processes have no owner (nothing was ended):"
    assert "`5` 1 min 1 s · 5 MB · `claude -p` · its shim is dead" in text


@pytest.mark.parametrize(("failed", "said"), [(0, False), (2, True)])
def test_a_report_counts_what_ended_and_what_did_not(failed: int, said: bool) -> None:
    found = [orphan(n) for n in range(4)]
    report = CleanupReport(tuple(found[failed:]), tuple(found[:failed]))
    head, *rows = cleanup_text(found, report).splitlines()
    freed = 5 * (4 - failed)
    assert head.startswith(f"🧹 {4 - failed} processes ended, {freed} MB freed.")
    assert (f"{failed} could not be ended" in head) == said
    assert len(rows) == 4


@given(
    st.lists(st.text(max_size=80).map(lambda c: orphan(4_000_000, c)), min_size=1, max_size=60),
    st.booleans(),
)
def test_a_list_of_any_length_is_one_message_and_counts_the_rest(
    found: list[Orphan], done: bool
) -> None:
    text = cleanup_text(found, CleanupReport(tuple(found), ()) if done else None)
    assert units(text) <= MESSAGE_LIMIT
    shown = text.count("`4000000`")
    if shown < len(found):
        assert text.endswith(f"… and {len(found) - shown} more")
