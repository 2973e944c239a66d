"""The pipes of a CLI belong to its shim: they outlive the bot, and nothing is lost in them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bridge import proc
from tests.shim.harness import Starter, attached, wait_gone

pytestmark = pytest.mark.timeout(30)


def test_the_cli_gets_its_three_streams_and_no_other_descriptor(start: Starter) -> None:
    run = start("cat")
    with attached(run) as bot:
        bot.prompt("until it is past its own start")
        next(bot.events())
    held = {fd.name: str(fd.readlink()) for fd in Path(f"/proc/{run.cli.pid}/fd").iterdir()}
    assert held.pop("2").startswith("pipe:")
    assert held == {"0": str(run.folder / "in"), "1": str(run.folder / "out")}


def test_stdin_and_stdout_are_plain_one_way_ends(start: Starter) -> None:
    run = start("cat")
    modes: dict[int, int] = {}
    for fd in (0, 1):
        info = Path(f"/proc/{run.cli.pid}/fdinfo/{fd}").read_text()
        modes[fd] = int(info.split("flags:")[1].split()[0], 8) & os.O_ACCMODE
    assert modes == {0: os.O_RDONLY, 1: os.O_WRONLY}


def test_the_pipes_are_private_and_hold_a_megabyte(start: Starter) -> None:
    run = start("cat")
    assert [(run.folder / name).stat().st_mode & 0o777 for name in ("in", "out")] == [0o600] * 2
    with attached(run) as bot:
        bot.prompt("x" * 1_000_000)  # `cat` may read or not: nothing blocks


def test_signals_that_the_bot_ignores_or_blocks_reach_the_cli(start: Starter) -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        run = start("cat")
    finally:
        signal.signal(signal.SIGHUP, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    status = Path(f"/proc/{run.cli.pid}/status").read_text()
    reserved = 1 << 31 | 1 << 32  # The C library's own two, which only it can use.
    for mask in ("SigBlk", "SigIgn"):
        assert int(status.split(f"{mask}:")[1].split()[0], 16) & ~reserved == 0, mask


def test_a_prompt_written_before_the_cli_runs_is_answered(start: Starter) -> None:
    run = start("sh", "-c", "sleep 0.2; exec cat")
    with attached(run) as bot:
        bot.prompt("early")
        assert next(bot.events())["message"]["content"] == "early"


def test_a_prompt_written_before_the_shim_runs_is_answered(start: Starter) -> None:
    run = start("cat", early=b'{"very": "early"}\n')
    with attached(run) as bot:
        assert next(bot.events()) == {"very": "early"}


def test_turns_go_on_while_bots_come_and_go(start: Starter) -> None:
    run = start()
    for word in ("one", "two", "three"):
        with attached(run) as bot:
            bot.prompt(word)
            assert bot.turn()[-1]["result"] == f"Echo: {word}"


def test_what_was_written_while_the_bot_was_dead_is_read_by_the_next_one(start: Starter) -> None:
    """The bot is killed while the CLI writes more than the pipe holds."""
    run = start()
    doomed = subprocess.Popen(
        [sys.executable, "-c", DOOMED_BOT, str(run.folder)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert doomed.stdout is not None
    with doomed.stdout as told:
        assert told.readline() == b"attached and prompted\n"
    doomed.send_signal(signal.SIGKILL)
    doomed.wait()
    with attached(run) as bot:
        events = bot.turn()
        texts = [e["event"]["delta"]["text"] for e in events if e["type"] == "stream_event"]
        assert texts[:-1] == [f"[{count}]" for count in range(8000)]
        bot.prompt("and now?")
        assert bot.turn()[-1]["result"] == "Echo: and now?"
    assert proc.alive(run.cli)


DOOMED_BOT = """
import sys, time
from pathlib import Path
from tests.shim.harness import Bot

bot = Bot(Path(sys.argv[1]))
bot.prompt("COUNT 8000")
print("attached and prompted", flush=True)
time.sleep(600)
"""


def test_output_that_nobody_read_outlives_the_shim(start: Starter) -> None:
    run = start()
    with attached(run) as bot:
        bot.prompt("COUNT 100")
    run.signal(signal.SIGHUP)
    assert run.exit()["code"] == 0
    with attached(run) as bot:
        kinds = [event["type"] for event in bot.events()]
    assert (kinds[0], kinds[-1], len(kinds)) == ("system", "result", 104)


def test_output_that_a_bot_is_still_reading_goes_to_that_bot(start: Starter) -> None:
    run = start()
    with attached(run) as bot:
        bot.prompt("COUNT 100")
        bot.close_input()
        run.signal(signal.SIGHUP)
        wait_gone(run.cli)
        assert list(bot.events())[-1]["type"] == "result"
        assert run.exit()["reason"] == "eof"
    assert not (run.folder / "out.rest").exists()


def test_output_is_kept_when_the_bot_dies_between_the_end_and_its_reading(start: Starter) -> None:
    run = start()
    with attached(run) as bot:
        bot.prompt("COUNT 100")
        bot.close_input()
        run.signal(signal.SIGHUP)
        while not (run.folder / "exit.json").exists():
            time.sleep(0.005)
        assert proc.alive(run.shim)
    run.exit()
    with attached(run) as bot:
        assert list(bot.events())[-1]["type"] == "result"


def test_how_it_ended_is_known_when_the_output_ends(start: Starter) -> None:
    run = start()
    with attached(run) as bot:
        bot.prompt("EXIT 3")
        kinds = [event["type"] for event in bot.events()]
        assert kinds == ["system"]
        assert run.read_json("exit.json")["code"] == 3


def test_a_line_of_megabytes_passes_unharmed(start: Starter) -> None:
    run = start()
    size = 5_000_000
    with attached(run) as bot:
        bot.prompt(f"LINE {size}")
        assert bot.turn()[-1]["result"] == "x" * size


def test_a_prompt_of_megabytes_passes_unharmed(start: Starter) -> None:
    run = start()
    text = "word " * 600_000
    with attached(run) as bot:
        bot.prompt(text)
        assert bot.turn()[-1]["result"] == f"Echo: {text}"


def test_a_megabyte_on_stderr_blocks_nothing_and_is_kept_within_bounds(start: Starter) -> None:
    limit = 100_000
    run = start(stderr_limit=limit)
    with attached(run) as bot:
        bot.prompt("STDERR 1000000")
        assert bot.turn()[-1]["is_error"] is False
    run.signal(signal.SIGTERM)
    run.exit()
    sizes = [(run.folder / name).stat().st_size for name in ("stderr.1", "stderr")]
    assert sizes[0] == limit
    assert 0 < sizes[1] <= limit
