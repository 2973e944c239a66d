"""How a CLI ends: by itself, when asked, when nobody comes; and its descendants with it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import proc, shim
from bridge.shim import CLOSED, GIVEN_UP, OPEN, TERMED, Ladder
from tests.shim.harness import Starter, attached, wait_gone

pytestmark = pytest.mark.timeout(30)

DEAF = ("sh", "-c", "trap '' TERM; exec sleep 600")
"""A CLI that heeds neither EOF nor SIGTERM."""


def test_eof_lets_a_running_turn_finish(start: Starter) -> None:
    run = start()
    with attached(run) as bot:
        bot.prompt("COUNT 5000")
        next(bot.events())
        bot.close_input()
        run.signal(signal.SIGHUP)
        assert list(bot.events())[-1]["type"] == "result"
    ended = run.exit()
    assert (ended["code"], ended["signal"], ended["reason"]) == (0, None, "eof")
    assert abs(ended["ended"] - time.time()) < 60


def test_closing_stdin_is_announced_before_it_happens(start: Starter, tmp_path: Path) -> None:
    run = start("sh", "-c", "cat; cat closing", cwd=tmp_path)
    (tmp_path / "closing").symlink_to(run.folder / "closing")
    with attached(run) as bot:
        bot.close_input()
        run.signal(signal.SIGHUP)
        assert list(bot.events()) == [{"reason": "eof"}]


@pytest.mark.parametrize(("prompt", "code", "number"), [("EXIT 3", 3, None), ("DIE 9", None, 9)])
def test_an_end_of_its_own_accord_is_reported_as_it_was(
    start: Starter, prompt: str, code: int | None, number: int | None
) -> None:
    run = start()
    with attached(run) as bot:
        bot.prompt(prompt)
        assert [event["type"] for event in bot.events()] == ["system"]
        ended = run.exit()
    assert (ended["code"], ended["signal"], ended["reason"]) == (code, number, "exit")


def test_a_cli_that_cannot_start_says_why(start: Starter) -> None:
    run = start("/nonexistent/claude")
    assert run.ready == b""
    assert run.exit()["code"] == 127
    assert (run.folder / "stderr").read_text() == (
        "cannot start /nonexistent/claude: No such file or directory\n"
    )


def test_sigterm_ends_an_idle_cli_by_eof(start: Starter) -> None:
    run = start(grace=600)
    run.signal(signal.SIGTERM)
    ended = run.exit()
    assert (ended["code"], ended["reason"]) == (0, "term")


def test_sigterm_climbs_to_sigkill(start: Starter) -> None:
    run = start(*DEAF, grace=0.05)
    run.signal(signal.SIGTERM)
    ended = run.exit()
    assert (ended["signal"], ended["reason"]) == (signal.SIGKILL, "term")


def test_each_further_sigterm_takes_the_next_rung_at_once(start: Starter) -> None:
    run = start(grace=600)
    with attached(run) as bot:
        bot.prompt("HANG")
        next(bot.events())
        run.signal(signal.SIGTERM)
        while not (run.folder / "closing").exists():
            time.sleep(0.005)
        run.signal(signal.SIGTERM)
        assert run.exit()["signal"] == signal.SIGTERM


def test_nobody_for_the_orphan_timeout_ends_an_idle_cli(start: Starter) -> None:
    run = start(orphan_timeout=0.1, grace=600)
    ended = run.exit()
    assert (ended["code"], ended["reason"]) == (0, "orphan")


def test_nobody_for_twice_the_orphan_timeout_ends_a_deaf_cli(start: Starter) -> None:
    run = start(*DEAF, orphan_timeout=0.1, grace=0.05)
    ended = run.exit()
    assert (ended["signal"], ended["reason"]) == (signal.SIGKILL, "orphan")


def test_a_shim_with_a_bot_is_no_orphan(start: Starter) -> None:
    run = start(orphan_timeout=0.1)
    with attached(run) as bot:
        for _ in range(3):
            bot.prompt("still here")
            bot.turn()
            assert not wait_gone(run.cli, timeout=0.2)


@pytest.mark.parametrize("kind", ["setsid", "env", "term", "daemon", "all", "forks"])
@pytest.mark.parametrize("ending", ["eof", "SIGKILL"])
def test_no_descendant_outlives_the_cli(start: Starter, kind: str, ending: str) -> None:
    run = start(grace=1)
    with attached(run) as bot:
        bot.prompt(f"TREE {kind}")
        bot.turn()
    tree = run.tree()
    assert len(tree) > 1
    if ending == "eof":
        run.signal(signal.SIGHUP)
    else:
        os.kill(run.cli.pid, signal.SIGKILL)
    assert run.exit()["left"] == 0
    assert not [who for who in tree if proc.alive(who)]


def test_a_chain_of_forks_that_never_stands_still_is_ended(start: Starter, tmp_path: Path) -> None:
    script = tmp_path / "chain.py"
    script.write_text(CHAIN)
    run = start("python3", "-I", "-S", str(script))
    assert run.exit()["left"] == 0
    carriers = [pid for pid in proc.pids(os.geteuid()) if proc.marker(pid) == run.marker]
    assert carriers == []


CHAIN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.monotonic() + 30
if os.fork():
    os._exit(0)
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


def test_a_run_folder_that_vanished_keeps_nothing_alive(start: Starter) -> None:
    run = start(*DEAF, grace=0.05)
    both = run.shim, run.cli
    shutil.rmtree(run.folder)
    run.signal(signal.SIGTERM)
    assert wait_gone(*both)
    assert run.process.wait() == 0


@pytest.mark.parametrize("argv", [[], ["dir"], ["dir", "--"], ["dir", "--what", "1", "--", "cat"]])
def test_a_wrong_command_line_is_refused(argv: list[str]) -> None:
    command = [sys.executable, "-I", "-S", shim.__file__, *argv]
    told = subprocess.run(command, capture_output=True, check=False)
    assert told.returncode == 64
    assert told.stderr.startswith(b"shim: ")


def test_zombies_are_reaped_while_the_cli_lives(start: Starter) -> None:
    run = start("sh", "-c", "(sh -c 'sleep 0.01 &' &); exec cat")
    with attached(run) as bot:
        bot.prompt("x")
        next(bot.events())
        # What is left of the others goes when the shim hears of their end, a moment later.
        while [pid for pid in proc.pids() if proc.parent(pid) == run.process.pid] != [run.cli.pid]:
            time.sleep(0.01)
        assert run.tree() == [run.cli]


# --- the ladder alone: a pure object -----------------------------------------------------------


@given(
    grace=st.floats(0, 100),
    steps=st.lists(
        st.tuples(st.sampled_from(["hang_up", "terminate", "forsake", "tick"]), st.floats(0, 200)),
        max_size=30,
    ),
)
def test_the_ladder_goes_up_a_rung_at_a_time_and_says_why(
    grace: float, steps: list[tuple[str, float]]
) -> None:
    ladder, now = Ladder(grace), 0.0
    for step, pause in steps:
        now += pause
        before = ladder.rung
        if step == "hang_up":
            ladder.hang_up()
        else:
            getattr(ladder, step)(now)
        assert before <= ladder.rung <= min(before + 1, GIVEN_UP)
        assert (ladder.rung == OPEN) == (ladder.reason == "exit")
        assert step != "tick" or ladder.due >= now


@given(grace=st.floats(0.01, 100))
def test_once_asked_to_terminate_the_ladder_ends_without_further_asking(grace: float) -> None:
    ladder = Ladder(grace)
    ladder.terminate(0.0)
    rungs = [ladder.rung]
    while ladder.rung < GIVEN_UP:
        ladder.tick(ladder.due)
        rungs.append(ladder.rung)
    assert rungs == list(range(CLOSED, GIVEN_UP + 1))


def test_a_forsaken_cli_is_given_one_more_timeout_after_eof() -> None:
    ladder = Ladder(1.0)
    ladder.forsake(0.0)
    ladder.tick(1e9)
    assert (ladder.rung, ladder.reason) == (CLOSED, "orphan")
    ladder.forsake(1e9)
    assert ladder.rung == TERMED
