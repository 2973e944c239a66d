"""Dockerfile and compose file, as far as they can be checked without a container engine."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
COMPOSE = ROOT / "deploy" / "compose.yaml"
HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which(
    "hadolint"
)


def instructions(name: str) -> list[str]:
    """The arguments of every instruction of that name, continued lines joined."""
    joined = re.sub(r"\\\n", " ", DOCKERFILE.read_text())
    return re.findall(rf"^{name}\s+(.*)$", joined, flags=re.MULTILINE)


@pytest.fixture
def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text())


@pytest.fixture
def service(compose: dict[str, Any]) -> dict[str, Any]:
    return compose["services"]["bridge"]


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_dockerfile_has_no_fault() -> None:
    done = subprocess.run(
        [str(HADOLINT), "--no-color", str(DOCKERFILE)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_all_that_is_copied_exists_and_is_in_the_build_context() -> None:
    context = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().split()
    sources = [
        source
        for copy in instructions("COPY")
        if not copy.startswith("--from")
        for source in copy.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in context, source


def test_every_package_of_the_wheel_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    copied = {source for copy in instructions("COPY") for source in copy.split()[:-1]}
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= copied


def test_the_entry_point_is_a_command_that_the_project_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    *init, command = json.loads(instructions("ENTRYPOINT")[0])
    assert command in project["project"]["scripts"]
    assert init == ["tini", "--"]
    assert any("tini" in run for run in instructions("RUN"))


def test_the_bot_is_not_root_and_stops_by_sigterm() -> None:
    assert instructions("USER") == ["${UID}"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


@pytest.mark.parametrize(("age", "healthy"), [(0, True), (60, True), (120, False), (None, False)])
def test_a_stale_heartbeat_is_unhealthy(tmp_path: Path, age: int | None, healthy: bool) -> None:
    program, *arguments = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    assert program == "python"
    assert "BRIDGE_STATE_DIR=/state" in instructions("ENV")[0]
    heartbeat = tmp_path / "heartbeat"
    if age is not None:
        heartbeat.touch()
        touched = time.time() - age
        os.utime(heartbeat, (touched, touched))
    command = [word.replace("/state/heartbeat", str(heartbeat)) for word in arguments]
    assert command != arguments
    done = subprocess.run([sys.executable, *command], capture_output=True, check=False)
    assert (done.returncode == 0) is healthy


def test_the_token_is_a_secret_file(compose: dict[str, Any], service: dict[str, Any]) -> None:
    assert set(service["secrets"]) <= set(compose["secrets"])
    assert service["environment"]["DISCORD_TOKEN_FILE"] == "/run/secrets/discord-token"
    assert "DISCORD_TOKEN" not in service["environment"]


def test_the_container_can_do_little_and_is_given_time_to_stop(service: dict[str, Any]) -> None:
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["stop_grace_period"] == "45s"
    assert {"pids_limit", "mem_limit"} <= set(service)


def test_state_home_and_project_outlive_the_container(
    compose: dict[str, Any], service: dict[str, Any]
) -> None:
    places = {volume.rpartition(":")[2]: volume.rpartition(":")[0] for volume in service["volumes"]}
    assert set(places) == {"/state", "/home/bridge", "/project"}
    assert {places["/state"], places["/home/bridge"]} == set(compose["volumes"])


def test_the_image_is_built_from_the_dockerfile(service: dict[str, Any]) -> None:
    context = (COMPOSE.parent / service["build"]["context"]).resolve()
    assert context == ROOT
    assert context / service["build"]["dockerfile"] == DOCKERFILE
    assert set(service["build"]["args"]) <= {arg.partition("=")[0] for arg in instructions("ARG")}
