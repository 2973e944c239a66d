"""deploy/try and deploy/test on a bare machine: a shell, Python, a project that installs fast."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
STANDIN = Path(__file__).with_name("standin")
TOOLS = ("cat", "cksum", "dirname", "grep", "id", "sh", "uname")
"""All that the scripts may use of the system, besides Python."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the bridge is for Linux")


@dataclass
class Bare:
    """A machine with nothing on PATH but TOOLS, and a checkout in a path with spaces."""

    place: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.root = self.place / "a checkout"
        self.programs = self.place / "programs"
        for folder in (self.programs, self.place / "home", self.root / ".ci"):
            folder.mkdir(parents=True)
        shutil.copytree(STANDIN, self.root, dirs_exist_ok=True)
        shutil.copytree(ROOT / "deploy", self.root / "deploy")
        shutil.copy(ROOT / ".ci" / "run", self.root / ".ci" / "run")
        (self.root / "pytest_standin.py").rename(self.root / "pytest.py")
        sdk = self.root / "claude_agent_sdk"
        sdk.mkdir()
        (sdk / "__init__.py").touch()
        for tool in TOOLS:
            real = shutil.which(tool)
            assert real, tool
            (self.programs / tool).symlink_to(real)
        self.environ = {
            "PATH": str(self.programs),
            "HOME": str(self.place / "home"),
            "PIP_NO_INDEX": "1",  # nothing here may come from a network
            "PIP_CONFIG_FILE": os.devnull,
        }

    def program(self, name: str, body: str) -> Path:
        """Put a program on PATH."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def python(self) -> "Bare":
        """The same machine with a Python that has all it needs."""
        self.program("python3", f'exec "{Path(sys.executable).resolve()}" "$@"')
        return self

    def run(self, script: str, *arguments: str, **environ: str) -> "Run":
        done = subprocess.run(
            [str(self.root / script), *arguments],
            env={**self.environ, **environ},
            cwd=self.place / "home",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    @property
    def installs(self) -> int:
        log = self.root / "installs"
        return len(log.read_text().splitlines()) if log.exists() else 0


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.out.splitlines()[-1]

    @property
    def started(self) -> Mapping[str, Any]:
        """What `claude-bridge` was started with."""
        assert self.code == 0, self.out + self.err
        return json.loads(self.last)


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return Bare(tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """A machine on which both scripts ran before; tests leave it as it is."""
    machine = Bare(tmp_path_factory.mktemp("ready")).python()
    for script in ("deploy/try", "deploy/test"):
        first = machine.run(script)
        assert first.code == 0, first.out + first.err
    return machine


def test_without_a_token_the_rehearsal_starts_where_the_person_is(ready: Bare) -> None:
    started = ready.run("deploy/try", "--port", "0", "--no-browser").started
    assert started["arguments"] == ["rehearsal", "--port", "0", "--no-browser"]
    assert started["folder"] == str(ready.place / "home")


def test_an_empty_token_is_none(ready: Bare) -> None:
    assert ready.run("deploy/try", DISCORD_TOKEN="").started["arguments"] == ["rehearsal"]


@pytest.mark.parametrize("variable", ["DISCORD_TOKEN", "DISCORD_TOKEN_FILE"])
def test_with_a_token_the_bot_starts(ready: Bare, variable: str) -> None:
    assert ready.run("deploy/try", **{variable: "something"}).started["arguments"] == ["run"]


def test_a_systemd_credential_is_a_token(ready: Bare, tmp_path: Path) -> None:
    (tmp_path / "discord-token").write_text("something")
    started = ready.run("deploy/try", CREDENTIALS_DIRECTORY=str(tmp_path)).started
    assert started["arguments"] == ["run"]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("discord_token = 'x'", "run"),
        ("discord_token_file = 'x'", "run"),
        ("# discord_token_file = 'x'", "rehearsal"),
    ],
)
def test_a_configuration_file_may_hold_the_token(
    ready: Bare, tmp_path: Path, text: str, command: str
) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text(f"channels = [1]\n{text}\n")
    started = ready.run("deploy/try", BRIDGE_CONFIG=str(file)).started
    assert started["arguments"] == [command]


def test_an_unreadable_configuration_file_is_left_to_the_bot_to_tell(ready: Bare) -> None:
    started = ready.run("deploy/try", BRIDGE_CONFIG="/no/such/file").started
    assert started["arguments"] == ["run"]


def test_the_token_is_never_shown(ready: Bare) -> None:
    done = ready.run("deploy/try", DISCORD_TOKEN="very.secret.token")
    assert "very.secret.token" not in done.out + done.err


def test_help_installs_nothing(bare: Bare) -> None:
    for script in ("deploy/try", "deploy/test"):
        done = bare.run(script, "--help")
        assert done.code == 0
        assert done.out.startswith(f"usage: {script} ")
    assert not (bare.root / ".venv").exists()


def test_a_second_run_installs_nothing(ready: Bare) -> None:
    before = ready.installs
    done = ready.run("deploy/try")
    assert "up to date" in done.out
    assert ready.installs == before


def test_the_environment_follows_the_project_its_python_and_its_place(bare: Bare) -> None:
    bare.python()
    assert bare.run("deploy/try").code == 0
    with (bare.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    changed = bare.run("deploy/try")
    assert "Installing" in changed.out
    assert "Making" not in changed.out

    (bare.root / ".venv" / "bin" / "python").unlink()
    assert "Making" in bare.run("deploy/try").out

    bare.root = bare.root.rename(bare.place / "moved")
    moved = bare.run("deploy/try")
    assert "Making" in moved.out
    assert moved.started["arguments"] == ["rehearsal"]
    assert bare.installs == 4


def test_an_interrupted_installation_is_done_again(bare: Bare) -> None:
    bare.python()
    shutil.move(bare.root / "backend.py", bare.root / "elsewhere")
    broken = bare.run("deploy/try")
    assert broken.code != 0
    assert "-> " in broken.err
    shutil.move(bare.root / "elsewhere", bare.root / "backend.py")
    assert bare.run("deploy/try").started["arguments"] == ["rehearsal"]


def test_without_python_the_next_step_is_told(bare: Bare) -> None:
    done = bare.run("deploy/try")
    assert done.code == 1
    assert "none was found" in done.err
    assert "apt install python3 python3-venv" in done.err


def test_an_old_python_is_named(bare: Bare) -> None:
    bare.program("python3", '[ "$1" = --version ] && echo Python 3.9.2; exit 1')
    done = bare.run("deploy/test")
    assert done.code == 1
    assert "Python 3.11 or newer is needed, Python 3.9.2 was found" in done.err


def test_a_python_without_venv_is_told_apart(bare: Bare) -> None:
    bare.program("python3", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    done = bare.run("deploy/try")
    assert done.code == 1
    assert "apt install python3-venv" in done.err


def test_a_newer_python_is_found_behind_an_old_one(bare: Bare) -> None:
    bare.python()
    (bare.programs / "python3").rename(bare.programs / "python3.12")
    bare.program("python3", "exit 1")
    assert bare.run("deploy/try").code == 0


def test_another_system_is_refused_with_a_way_out(bare: Bare) -> None:
    (bare.programs / "uname").unlink()
    bare.program("uname", "echo Darwin")
    done = bare.run("deploy/try")
    assert done.code == 1
    assert "docker compose" in done.err


def test_a_claude_of_ones_own_is_used(ready: Bare) -> None:
    claude = ready.program("claude", "echo '  --autocompact <auto|tokens>'")
    try:
        done = ready.run("deploy/try")
    finally:
        claude.unlink()
    assert str(claude) in done.out
    assert 'extra "cli"' not in done.out
    assert done.started["claude"] is None


def test_an_old_claude_on_the_path_gives_way_to_the_bundled_one(ready: Bare) -> None:
    claude = ready.program("claude", "echo '  --resume [value]'")
    try:
        done = ready.run("deploy/try")
    finally:
        claude.unlink()
    assert "too old" in done.out
    assert done.started["claude"] == str(ready.root / "claude_agent_sdk" / "_bundled" / "claude")


def test_a_named_claude_is_not_questioned(ready: Bare) -> None:
    assert ready.run("deploy/try", BRIDGE_CLAUDE="/opt/claude").started["claude"] == "/opt/claude"


@pytest.mark.parametrize("script", ["deploy/test", ".ci/run"])
def test_pytest_has_the_last_word(ready: Bare, script: str) -> None:
    done = ready.run(script, "-k", "a rule")
    assert done.code == 0
    assert done.last == "===== 1 passed in 0.01s ====="
    assert "-k a rule" in done.out.splitlines()[-2]


def test_failing_tests_fail_the_run(ready: Bare) -> None:
    done = ready.run("deploy/test", STANDIN_PYTEST="1")
    assert done.code == 1
    assert done.last == "===== 1 passed in 0.01s ====="


def test_a_failing_step_fails_the_run_but_not_the_next_steps(ready: Bare) -> None:
    done = ready.run("deploy/test", STANDIN_RUFF="1")
    assert done.code == 1
    assert "FAILED" in done.out
    assert done.last == "===== 1 passed in 0.01s ====="


def test_missing_programs_are_told_to_a_person(ready: Bare) -> None:
    assert "will be skipped: chromium" in ready.run("deploy/test").out


@pytest.mark.parametrize(
    ("ci", "user", "installed"),
    [("true", "0", True), ("true", "1000", False), ("", "0", False)],
)
def test_programs_are_installed_only_by_root_in_continuous_integration(
    ready: Bare, tmp_path: Path, ci: str, user: str, installed: bool
) -> None:
    log = tmp_path / "log"
    standins = tmp_path / "standins"
    standins.mkdir()
    for name, body in (("apt-get", f'echo "$@" >>"{log}"'), ("id", f"echo {user}")):
        (standins / name).write_text(f"#!/bin/sh\n{body}\n")
        (standins / name).chmod(0o755)
    path = f"{standins}:{ready.programs}"
    assert ready.run("deploy/test", PATH=path, CI=ci).code == 0
    assert log.exists() is installed
    if installed:
        assert " chromium systemd" in log.read_text()


@pytest.mark.parametrize("script", ["deploy/try", "deploy/test", ".ci/run"])
def test_scripts_are_executable_posix_shell(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", str(path)], check=True)
