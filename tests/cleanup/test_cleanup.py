"""What nobody owns is found by proof and ended; everything else survives."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from bridge import cleanup, proc
from tests.shim.harness import ShimRun, Starter, attached, wait_gone

pytestmark = pytest.mark.timeout(60)

MARKER = secrets.token_hex(16)
"""Random, as the runner's are: two runs of these tests may meet on one machine."""


def kill_shim(run: ShimRun) -> None:
    run.tree()
    run.process.kill()
    run.process.wait()


def busy_tree(run: ShimRun, kinds: str) -> set[proc.Identity]:
    """All below a shim, after its CLI has started descendants of these kinds."""
    with attached(run) as bot:
        bot.prompt(f"TREE {kinds}")
        bot.turn()
    return set(run.tree())


@pytest.fixture
def stranger() -> Generator[subprocess.Popen[bytes]]:
    """Somebody's own `claude`, started by hand as the same user."""
    process = subprocess.Popen(["bash", "-c", 'exec -a claude sleep 600 "$@"'])
    yield process
    process.kill()
    process.wait()


def test_a_whole_run_that_nobody_owns_is_found(start: Starter) -> None:
    run = start()
    below = busy_tree(run, "setsid,term")
    orphans = cleanup.scan(start.state_dir, ())
    assert {orphan.who for orphan in orphans} == below | {run.shim}
    shims = [orphan for orphan in orphans if orphan.is_shim]
    assert [orphan.who for orphan in shims] == [run.shim]
    cli = next(orphan for orphan in orphans if orphan.who == run.cli)
    assert (cli.pid, cli.started) == (run.cli.pid, run.cli.started)
    assert (cli.marker, cli.thread, cli.why) == (run.marker, "1234", "no thread owns it")
    assert cli.command.startswith("python")
    assert len(cli.command) <= 80
    assert 0 <= cli.age < 60
    assert cli.rss > 1 << 20


def test_an_owned_run_is_none_of_its_business(start: Starter) -> None:
    run = start()
    busy_tree(run, "setsid")
    assert cleanup.scan(start.state_dir, {run.marker}) == []


async def test_only_the_run_without_an_owner_ends(start: Starter) -> None:
    owned, forgotten = start(), start()
    report = await cleanup.end(cleanup.scan(start.state_dir, {owned.marker}), grace=10)
    assert {orphan.who for orphan in report.ended} == {forgotten.shim, forgotten.cli}
    assert report.failed == ()
    assert proc.alive(owned.shim)
    assert proc.alive(owned.cli)


async def test_a_living_shim_ends_its_tree_also_what_cleared_its_environment(
    start: Starter,
) -> None:
    run = start()
    below = busy_tree(run, "env,all,setsid")
    report = await cleanup.end(cleanup.scan(start.state_dir, ()), grace=10)
    assert report.failed == ()
    assert run.exit()["reason"] == "term"
    assert not [who for who in below if proc.alive(who)]


async def test_after_its_shim_was_killed_all_that_carry_the_marker_end(
    start: Starter, stranger: subprocess.Popen[bytes]
) -> None:
    run = start()
    below = busy_tree(run, "setsid,term,daemon,forks")
    kill_shim(run)
    orphans = cleanup.scan(start.state_dir, ())
    assert {orphan.why for orphan in orphans} == {"its shim is dead"}
    freed = sum(orphan.rss for orphan in orphans if orphan.who == run.cli)
    report = await cleanup.end(orphans, grace=0.5)
    assert report.failed == ()
    assert report.freed_bytes >= freed
    assert not [who for who in below if proc.alive(who)]
    assert cleanup.scan(start.state_dir, ()) == []
    assert stranger.poll() is None


async def test_a_deaf_shim_does_not_stop_the_cleanup(start: Starter) -> None:
    run = start()
    os.kill(run.process.pid, signal.SIGSTOP)
    shim, cli = run.shim, run.cli
    report = await cleanup.end(cleanup.scan(start.state_dir, ()), grace=0.2)
    assert report.failed == ()
    assert wait_gone(shim, cli)


async def test_another_bot_is_left_alone(start: Starter, tmp_path: Path) -> None:
    other = start(state_dir=tmp_path / "another bot")
    start()
    report = await cleanup.end(cleanup.scan(start.state_dir, ()), grace=10)
    assert len(report.ended) == 2
    assert proc.alive(other.shim)
    assert proc.alive(other.cli)


def test_a_marker_without_its_proof_proves_nothing(start: Starter) -> None:
    run = start()
    proof = run.folder / "process.json"
    for text in ("", "{", "[]", '{"marker": 7}', '{"marker": "another"}'):
        proof.write_text(text)
        assert cleanup.scan(start.state_dir, ()) == []
    proof.unlink()
    assert cleanup.scan(start.state_dir, ()) == []


def test_the_searcher_does_not_find_itself(tmp_path: Path) -> None:
    """A bot that was started from within a session of its own carries that session's marker."""
    folder = tmp_path / "run" / "a"
    folder.mkdir(parents=True)
    (folder / "process.json").write_text(json.dumps({"marker": MARKER}))
    code = (
        "from pathlib import Path; from bridge import cleanup; import sys;"
        "print(cleanup.scan(Path(sys.argv[1]), ()))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, proc.MARKER: MARKER},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )
    assert told.stdout == b"[]\n"


async def test_an_orphan_that_is_another_by_now_is_not_signalled(
    start: Starter, stranger: subprocess.Popen[bytes]
) -> None:
    """The pid of an orphan went to a stranger between the list and the blow."""
    run = start()
    kill_shim(run)
    (orphan,) = cleanup.scan(start.state_dir, ())
    mistaken = cleanup.Orphan(
        who=proc.Identity(stranger.pid, orphan.started),
        run=orphan.run,
        command=orphan.command,
        why=orphan.why,
        age=orphan.age,
        rss=orphan.rss,
    )
    await cleanup.end([mistaken], grace=0.1)
    assert stranger.poll() is None


async def test_nothing_to_end_is_nothing_done(tmp_path: Path) -> None:
    assert cleanup.scan(tmp_path / "no such folder", ()) == []
    report = await cleanup.end([], grace=10)
    assert (report.ended, report.failed, report.freed_bytes) == ((), (), 0)


# --- run folders --------------------------------------------------------------------------------


def age(run: ShimRun) -> None:
    """Let a run be older than any start takes."""
    proof = run.read_json("process.json")
    proof["created"] = time.time() - 3600
    (run.folder / "process.json").write_text(json.dumps(proof))


def test_only_folders_without_owner_and_life_are_swept(start: Starter) -> None:
    living, owned, over = start(), start(), start()
    for run in (owned, over):
        run.signal(signal.SIGTERM)
        run.exit()
    for run in (living, owned, over):
        age(run)
    foreign = start.state_dir / "run" / "notes"
    foreign.mkdir()
    assert cleanup.sweep_run_dirs(start.state_dir, {owned.marker}) == [over.folder]
    assert living.folder.exists()
    assert owned.folder.exists()
    assert foreign.exists()
    assert not over.folder.exists()


def test_a_folder_stays_while_a_descendant_of_a_killed_shim_lives(start: Starter) -> None:
    run = start("sh", "-c", "setsid sleep 600 & exec cat")
    kill_shim(run)
    age(run)
    wait_gone(run.cli)
    assert cleanup.sweep_run_dirs(start.state_dir, ()) == []


def test_a_folder_whose_process_is_just_being_started_stays(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "a"
    folder.mkdir(parents=True)
    (folder / "process.json").write_text(json.dumps({"marker": MARKER, "created": time.time()}))
    assert cleanup.sweep_run_dirs(tmp_path, ()) == []
    (folder / "exit.json").touch()
    assert cleanup.sweep_run_dirs(tmp_path, ()) == [folder]
