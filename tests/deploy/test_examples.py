"""The example files show every setting, and every value that they show is understood."""

import re
from pathlib import Path

import pytest

from bridge.config import describe, load
from tests.deploy import examples

ENV = (examples.DEPLOY / "example.env").read_text()
TOML = (examples.DEPLOY / "example.toml").read_text()


@pytest.mark.parametrize(("shown", "made"), [(ENV, examples.env), (TOML, examples.toml)])
def test_the_examples_are_those_of_the_present_settings(shown: str, made: object) -> None:
    assert callable(made)
    assert shown == made(), "run: python -m tests.deploy.examples"


def test_as_they_stand_they_set_nothing() -> None:
    assert all(line.startswith("#") for line in (ENV + TOML).splitlines() if line)


def test_every_variable_can_be_set_as_shown(tmp_path: Path) -> None:
    environ = dict(re.findall(r"^#([A-Z_]+)=(.*)$", ENV, flags=re.MULTILINE))
    assert {row.env for row in describe()} <= environ.keys()
    file = tmp_path / "bridge.toml"
    file.touch()
    config = load(environ | {"BRIDGE_CONFIG": str(file)})
    assert config.channels == tuple(examples.EXAMPLES["channels"])  # pyright: ignore[reportArgumentType]
    assert config.max_processes == 4


def test_every_key_of_the_file_can_be_set_as_shown(tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text(re.sub(r"^#(\w+ = )", r"\1", TOML, flags=re.MULTILINE))
    token = tmp_path / "token"
    token.write_text("a.token")
    config = load({"BRIDGE_CONFIG": str(file), "DISCORD_TOKEN_FILE": str(token)})
    assert config.pass_env == ("GH_TOKEN", "MY_*")
    assert config.token.get_secret_value() == "a.token"
