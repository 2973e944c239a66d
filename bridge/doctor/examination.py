"""The whole examination: every check at once, in the order in which a person mends things."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from itertools import chain
from typing import TypeVar

from bridge.config import (
    ClaudeNotFound,
    Config,
    ConfigError,
    child_environment,
    find_claude,
    load,
)
from bridge.doctor import machine
from bridge.doctor.application import examine_application
from bridge.doctor.cli import examine_cli
from bridge.doctor.finding import Finding, render
from bridge.doctor.rest import OFFICIAL, Rest

__all__ = ["examine", "main"]

_LIMIT = 30.0

_T = TypeVar("_T")


async def examine(config: Config | ConfigError, environ: Mapping[str, str]) -> list[Finding]:
    """Check the configuration and all that it points to.

    With a faulty configuration only what can still be trusted is looked at.
    """
    if isinstance(config, ConfigError):
        findings = [
            Finding("configuration", False, str(config), ("all settings: claude-bridge config",))
        ]
        usable = _without_token(environ)
        if usable is None:
            return [*findings, machine.linux()]
        return findings + await _examine_machine(usable, environ)
    findings = [Finding("configuration", True, "every setting is understood")]
    discord, machine_side = await asyncio.gather(
        _within("discord", _examine_discord(config)), _examine_machine(config, environ)
    )
    return findings + discord + machine_side


async def main(environ: Mapping[str, str] = os.environ) -> int:
    """Print the report; 0 if nothing is at fault (warnings may be left), else 1."""
    try:
        config = load(environ)
    except ConfigError as error:
        config = error
    findings = await examine(config, environ)
    sys.stdout.write(f"{render(findings)}\n")
    return int(any(finding.ok is False for finding in findings))


def _without_token(environ: Mapping[str, str]) -> Config | None:
    """The configuration, if the token was all that was wrong with it."""
    try:
        return load(environ, require_token=False)
    except ConfigError:
        return None


async def _examine_discord(config: Config) -> list[Finding]:
    async with Rest(config.token.get_secret_value(), config.discord_url or OFFICIAL) as rest:
        return await examine_application(
            rest,
            channels=config.channels,
            users=config.allowed_users,
            roles=config.allowed_roles,
        )


async def _examine_machine(config: Config, environ: Mapping[str, str]) -> list[Finding]:
    seen_by_claude = child_environment(config, environ)
    state, project = config.state_dir, config.project_dir
    # Threads, because a folder on a dead network disk makes any question about it hang.
    groups = await asyncio.gather(
        _within("claude", _examine_claude(config, environ, seen_by_claude)),
        _within("state folder", asyncio.to_thread(_one, machine.state_folder, state)),
        _within("project folder", asyncio.to_thread(_one, machine.project_folder, project)),
        _within("Claude's folder", asyncio.to_thread(_one, machine.claude_folder, seen_by_claude)),
        _within("disk", asyncio.to_thread(_one, machine.disk, (state, project))),
    )
    user = machine.user(config.permission_mode, seen_by_claude, os.geteuid())
    return [*chain.from_iterable(groups), machine.linux(), user]


async def _examine_claude(
    config: Config, environ: Mapping[str, str], seen_by_claude: Mapping[str, str]
) -> list[Finding]:
    try:
        claude = await asyncio.to_thread(find_claude, config, environ)
    except ClaudeNotFound as error:
        detail, _, todo = str(error).partition(". ")
        return [Finding("claude", False, detail, (todo,) if todo else ())]
    return await examine_cli(claude, seen_by_claude)


def _one(check: Callable[[_T], Finding], subject: _T) -> list[Finding]:
    return [check(subject)]


async def _within(name: str, check: Awaitable[list[Finding]]) -> list[Finding]:
    """The check's findings, or one that says that it took too long."""
    try:
        async with asyncio.timeout(_LIMIT):
            return await check
    except TimeoutError:
        return [Finding(name, False, f"no answer within {_LIMIT:.0f} s")]
