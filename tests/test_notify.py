"""sd_notify against a real datagram socket in the service manager's place."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.notify import notify, watchdog_interval


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A listening manager and the NOTIFY_SOCKET that leads to it."""
    abstract = request.param == "abstract"
    name = f"bridge-{uuid4()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(10)
        listener.bind("\0" + name if abstract else name)
        yield listener, "@" + name if abstract else name


def test_a_state_reaches_the_manager(manager: tuple[socket.socket, str]) -> None:
    listener, address = manager
    assert notify("READY=1\nSTATUS=3 threads", {"NOTIFY_SOCKET": address})
    assert listener.recv(4096) == b"READY=1\nSTATUS=3 threads"


def test_states_arrive_in_order(manager: tuple[socket.socket, str]) -> None:
    listener, address = manager
    states = ["READY=1", "WATCHDOG=1", "STOPPING=1"]
    assert all(notify(state, {"NOTIFY_SOCKET": address}) for state in states)
    assert [listener.recv(4096).decode() for _ in states] == states


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:99"}])
def test_without_a_manager_nothing_is_sent(environ: dict[str, str]) -> None:
    assert notify("READY=1", environ) is False


def test_a_manager_that_went_away_is_no_error(tmp_path: Path) -> None:
    assert notify("WATCHDOG=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")}) is False


@given(st.integers(min_value=1, max_value=10**12))
def test_the_watchdog_is_fed_twice_in_its_limit(limit: int) -> None:
    assert watchdog_interval({"WATCHDOG_USEC": str(limit)}) == limit / 1e6 / 2


@pytest.mark.parametrize("limit", ["", "0", "-5", "soon", "1.5"])
def test_no_usable_limit_means_no_watchdog(limit: str) -> None:
    assert watchdog_interval({"WATCHDOG_USEC": limit}) is None


def test_a_watchdog_for_another_process_is_not_ours() -> None:
    mine = {"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}
    theirs = {"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid() + 1)}
    assert watchdog_interval(mine) == 30.0
    assert watchdog_interval(theirs) is None
