"""The systemd unit, checked by systemd's own tool."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "deploy" / "claude-thread-bridge.service"
PROGRAM = "/opt/claude-thread-bridge/.venv/bin/claude-bridge"


class _Unit(configparser.RawConfigParser):
    """systemd's names are case-sensitive."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture
def service() -> configparser.SectionProxy:
    unit = _Unit(strict=False)
    unit.read(UNIT)
    return unit["Service"]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)
def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    # The program is not installed here, and systemd wants to see one.
    text = UNIT.read_text()
    assert PROGRAM in text
    copy = tmp_path / UNIT.name
    copy.write_text(text.replace(PROGRAM, shutil.which("true") or "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_sessions_outlive_a_restart_of_the_bot(service: configparser.SectionProxy) -> None:
    assert service["KillMode"] == "process"
    # A private /tmp would be removed under them, and so would a runtime folder.
    assert "PrivateTmp" not in service
    assert "RuntimeDirectory" not in service


def test_a_wrong_setting_is_not_tried_again(service: configparser.SectionProxy) -> None:
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == "78"


def test_the_token_is_a_credential_and_no_variable(service: configparser.SectionProxy) -> None:
    assert service["LoadCredential"].startswith("discord-token:")
    assert "DISCORD_TOKEN=" not in UNIT.read_text()


def test_node_and_sandboxes_can_work_in_a_session(service: configparser.SectionProxy) -> None:
    assert not {
        "MemoryDenyWriteExecute",
        "RestrictNamespaces",
        "ProtectKernelTunables",
        "ProtectProc",
        "ProcSubset",
        "SystemCallFilter",
    } & set(service)
