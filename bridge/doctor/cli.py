"""Whether the Claude Code CLI is there, new enough, and logged in."""

import asyncio
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bridge.doctor.finding import Finding
from bridge.launch import Launch, arguments

__all__ = ["examine_cli", "needed_flags"]

_LIMIT = 20.0
_UNLISTED = frozenset({"--permission-prompt-tool"})  # works, but --help does not tell
_UPDATE = (
    "claude update, or: npm install -g @anthropic-ai/claude-code@latest",
    "or install the bundled one: pip install 'claude-thread-bridge[cli]'",
)


@dataclass(frozen=True)
class _Output:
    code: int
    text: str


async def examine_cli(claude: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Version, flags and login of this executable; `environ` is what sessions will see."""
    found = await asyncio.gather(_version(claude, environ), _login(claude, environ))
    return list(found)


def needed_flags() -> frozenset[str]:
    """Every flag that a start of the CLI may use and that its --help lists."""
    sid = "00000000-0000-4000-8000-000000000000"
    fork = sid.replace("4", "5")
    starts = (
        Launch(thread=0, sid=sid, cwd=Path(), readable=Path(), model="any", effort="any"),
        Launch(thread=0, sid=fork, cwd=Path(), readable=Path(), resume=sid),
    )
    used = {word for start in starts for word in arguments(start) if word.startswith("--")}
    return frozenset(used - _UNLISTED)


async def _version(claude: Path, environ: Mapping[str, str]) -> Finding:
    name = "claude"
    try:
        version, usage = await asyncio.gather(
            _run([str(claude), "--version"], environ), _run([str(claude), "--help"], environ)
        )
    except TimeoutError:
        detail = f"{claude} gave no version in {_LIMIT:.0f} s"
        return Finding(name, False, detail, ("try it by hand: claude --version", *_UPDATE))
    except OSError as error:
        return Finding(name, False, f"{claude} does not run: {error.strerror}", _UPDATE)
    first = version.text.strip().partition("\n")[0]
    if version.code != 0:
        return Finding(name, False, f"{claude} --version failed: {first or 'no output'}", _UPDATE)
    missing = needed_flags() - set(re.findall(r"--[a-z][A-Za-z-]*", usage.text))
    if missing:
        detail = f"{first} at {claude} is too old: no {', '.join(sorted(missing))}"
        return Finding(name, False, detail, _UPDATE)
    return Finding(name, True, f"{first} at {claude}")


async def _login(claude: Path, environ: Mapping[str, str]) -> Finding:
    name = "login"
    try:
        output = await _run([str(claude), "auth", "status"], environ)
    except OSError as error:  # TimeoutError is one, without a text
        reason = error.strerror or f"no answer in {_LIMIT:.0f} s"
        return Finding(name, None, f"`claude auth status` did not work: {reason}")
    status = _object(output.text)
    if not isinstance(status.get("loggedIn"), bool):
        todo = (f"try it by hand: {shlex.quote(str(claude))} auth status", *_log_in(claude))
        return Finding(name, None, "`claude auth status` told nothing that is understood", todo)
    if not status["loggedIn"]:
        return Finding(name, False, "Claude Code is not logged in", _log_in(claude))
    method = status.get("authMethod", "unknown")
    source = status.get("apiKeySource")
    return Finding(name, True, f"{method} (from {source})" if source else str(method))


def _log_in(claude: Path) -> tuple[str, ...]:
    program = shlex.quote(str(claude))  # the bundled one is not on PATH
    return (
        f"as the user that runs the bot: {program} auth login",
        f"or set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from: {program} setup-token",
    )


def _object(text: str) -> dict[str, Any]:
    """The JSON object that the text is, or an empty one."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


async def _run(command: Sequence[str], environ: Mapping[str, str]) -> _Output:
    """Run to the end; TimeoutError after the limit, OSError if it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(environ),
    )
    try:
        async with asyncio.timeout(_LIMIT):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _Output(process.returncode or 0, output.decode(errors="replace"))
