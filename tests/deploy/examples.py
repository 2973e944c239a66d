"""Writes deploy/example.env and deploy/example.toml from the table of settings.

After a change of the settings: python -m tests.deploy.examples
"""

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from bridge.config import Row, describe

DEPLOY = Path(__file__).parents[2] / "deploy"

Value = str | int | list[int] | list[str]

EXAMPLES: Mapping[str, Value] = MappingProxyType(
    {
        "discord_token": "put-the-token-here",
        "discord_token_file": "/etc/claude-thread-bridge/discord-token",
        "": "/etc/claude-thread-bridge/bridge.toml",
        "channels": [123456789012345678, 234567890123456789],
        "allowed_users": [345678901234567890],
        "allowed_roles": [456789012345678901],
        "project_dir": "/srv/projects/mine",
        "state_dir": "/var/lib/claude-thread-bridge/state",
        "claude": "/usr/local/bin/claude",
        "model": "opus",
        "effort": "high",
        "pass_env": ["GH_TOKEN", "MY_*"],
        "discord_url": "http://127.0.0.1:8080/api/v10",
    }
)
"""What a value may look like, where the default does not show it."""

_ENV_HEAD = """\
# Settings of claude-thread-bridge as environment variables: for EnvironmentFile= of systemd, for
# env_file: of compose, or for `set -a; . ./bridge.env`. Take the # away from what you set.
"""
_ENV_TAIL = """\
# Claude's login, if the user that runs the bot is not logged in with `claude auth login`: a key of
# the API, or the token that `claude setup-token` prints for a subscription.
#ANTHROPIC_API_KEY=sk-ant-...
#CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-...
"""
_TOML_HEAD = """\
# Settings of claude-thread-bridge as a file: BRIDGE_CONFIG=/path/to/this.toml. Variables of the
# environment win. Relative paths start at this file's folder. Take the # away from what you set.
"""


def env() -> str:
    """The text of deploy/example.env."""
    return "\n".join((_ENV_HEAD, *map(_env_entry, describe()), _ENV_TAIL))


def toml() -> str:
    """The text of deploy/example.toml."""
    return "\n".join((_TOML_HEAD, *(_toml_entry(row) for row in describe() if row.name)))


def _env_entry(row: Row) -> str:
    value = _value(row)
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return "\n".join((*_comment(row), f"#{row.env}={text}", ""))


def _toml_entry(row: Row) -> str:
    return "\n".join((*_comment(row), f"#{row.name} = {json.dumps(_value(row))}", ""))


def _value(row: Row) -> Value:
    return EXAMPLES.get(row.name, int(row.default) if row.default.isdecimal() else row.default)


def _comment(row: Row) -> Iterator[str]:
    default = f" Default: {row.default}." if row.default else ""
    yield from textwrap.wrap(
        f"{row.meaning}{default}", 96, initial_indent="# ", subsequent_indent="# "
    )


if __name__ == "__main__":
    (DEPLOY / "example.env").write_text(env())
    (DEPLOY / "example.toml").write_text(toml())
