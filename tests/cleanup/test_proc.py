"""What /proc says, and that a signal reaches the process that is meant or nobody."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import proc
from bridge.proc import Identity, parse_stat

pytestmark = pytest.mark.timeout(30)


@pytest.fixture
def child() -> Generator[subprocess.Popen[bytes]]:
    """A process that carries the marker m1."""
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, proc.MARKER: "m1"})
    yield process
    process.kill()
    process.wait()


def known(process: subprocess.Popen[bytes]) -> Identity:
    who = proc.identity(process.pid)
    assert who is not None
    return who


def test_a_process_is_seen_as_it_is(child: subprocess.Popen[bytes]) -> None:
    who = known(child)
    assert proc.cmdline(who.pid) == ("sleep", "600")
    assert proc.marker(who.pid) == "m1"
    assert (proc.environ(who.pid) or {})["PATH"] == os.environ["PATH"]
    assert proc.parent(who.pid) == os.getpid()
    assert who in proc.children(os.getpid())
    assert who.pid in set(proc.pids(os.geteuid()))
    assert 0 < proc.rss(who.pid) < 1 << 30
    assert 0 <= proc.age(who) < 30


def test_a_grandchild_is_a_descendant_and_no_child() -> None:
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
    assert shell.stdout is not None
    with shell.stdout as told:
        grandchild = proc.identity(int(told.readline()))
    assert grandchild is not None
    try:
        assert grandchild in proc.descendants(os.getpid())
        assert grandchild not in proc.children(os.getpid())
        assert proc.descendants(shell.pid) == [grandchild]
    finally:
        proc.signal_exactly(grandchild, None, signal.SIGKILL)
        shell.wait()


def test_what_has_ended_is_nobody_even_before_it_is_reaped() -> None:
    process = subprocess.Popen(["sleep", "600"])
    who = known(process)
    process.kill()
    assert proc.wait_gone([who], timeout=10)
    assert proc.identity(who.pid) is None
    process.wait()
    assert proc.identity(who.pid) is None
    assert proc.environ(who.pid) is None
    assert proc.marker(who.pid) is None
    assert proc.parent(who.pid) is None
    assert proc.cmdline(who.pid) == ()
    assert proc.rss(who.pid) == 0
    assert not proc.signal_exactly(who, None, signal.SIGKILL)


def test_a_signal_needs_pid_and_start_and_marker(child: subprocess.Popen[bytes]) -> None:
    who = known(child)
    assert not proc.signal_exactly(Identity(who.pid, who.started - 1), "m1", signal.SIGKILL)
    assert not proc.signal_exactly(who, "m2", signal.SIGKILL)
    assert not proc.wait_gone([who], timeout=0.05)
    assert proc.signal_exactly(who, "m1", signal.SIGKILL)
    assert proc.wait_gone([who], timeout=10)


def test_waiting_for_somebody_else_who_has_the_pid_is_over_at_once(
    child: subprocess.Popen[bytes],
) -> None:
    assert proc.wait_gone([Identity(child.pid, 1)], timeout=0)


def test_the_age_of_a_process_is_counted_from_its_start() -> None:
    before = time.monotonic()
    code = "import time; print(flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-I", "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as told:
        told.readline()
    try:
        age = proc.age(known(process))
        tick = 2 / os.sysconf("SC_CLK_TCK")
        assert age <= time.monotonic() - before + tick
    finally:
        process.kill()
        process.wait()


@given(
    name=st.binary(max_size=15).filter(lambda name: b"\0" not in name),
    state=st.sampled_from(list("RSDZTtXI")),
    numbers=st.lists(st.integers(-1, 2**63), min_size=49, max_size=49),
)
def test_a_name_of_any_bytes_does_not_confuse_the_stat_line(
    name: bytes, state: str, numbers: list[int]
) -> None:
    line = b"77 (%b) %b %b\n" % (name, state.encode(), " ".join(map(str, numbers)).encode())
    stat = parse_stat(line)
    assert stat.identity == Identity(77, numbers[18])
    assert stat.parent == numbers[0]
    assert stat.zombie == (state in "ZX")


def test_a_broken_stat_line_is_refused() -> None:
    with pytest.raises(ValueError, match="not a stat line"):
        parse_stat(b"77 (sh) S 1")
