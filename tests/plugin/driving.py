"""One Claude Code with the plugin in it, a scripted model behind it, and all that it says."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).parents[2] / "deploy" / "claude-plugin"
LIMIT = 64 * 1024 * 1024
PATIENCE = 30.0
"""Seconds that the CLI has for its next event."""

Event = dict[str, Any]


def bundled_cli() -> Path | None:
    """The CLI that the SDK brings, where it is installed."""
    spec = find_spec("claude_agent_sdk")
    path = Path(spec.origin or "").parent / "_bundled" / "claude" if spec else None
    return path if path and path.exists() else None


def environment(home: Path, url: str = "http://127.0.0.1:9") -> dict[str, str]:
    """Variables of a CLI that speaks to nobody but a model on loopback."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-x",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ENABLE_FUNCTION_HOOKS": "1",
        "IS_SANDBOX": "1",
        # The package as it stands here, for the interpreter that the plugin starts.
        "PYTHONPATH": str(PLUGIN.parents[1]),
    }


async def command(cli: Path, home: Path, *arguments: str) -> tuple[int, str]:
    """A subcommand of the CLI: its status, and what it wrote."""
    process = await asyncio.create_subprocess_exec(
        str(cli),
        *arguments,
        cwd=home,
        env=environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return process.returncode, out.decode()


class Session:
    """One CLI in stream-json mode."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self._in, self._out = process.stdin, process.stdout
        self.events: list[Event] = []

    async def turn(self, prompt: str) -> Event:
        """The result of a prompt."""
        message = {"role": "user", "content": prompt}
        line = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "x"}
        self._in.write(json.dumps(line).encode() + b"\n")
        return await self.until("result")

    async def until(self, kind: str) -> Event:
        """The next event of a type or a subtype."""
        while True:
            line = await asyncio.wait_for(self._out.readline(), PATIENCE)
            assert line, "the CLI ended"
            event: Event = json.loads(line)
            self.events.append(event)
            if kind in (event["type"], event.get("subtype")):
                return event

    def said(self, subtype: str) -> list[str]:
        """What the plugin said so far, by `ui_log` or `ui_toast`."""
        return [event["text"] for event in self.events if event.get("subtype") == subtype]


@asynccontextmanager
async def session(
    cli: Path, home: Path, url: str, options: Mapping[str, Any]
) -> AsyncGenerator[Session]:
    """A session with the plugin, its options as a person's settings hold them."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    known = {"python": sys.executable, **options}
    settings.write_text(json.dumps({"pluginConfigs": {"compaction": {"options": known}}}), "utf-8")
    process = await asyncio.create_subprocess_exec(
        str(cli),
        *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
        *("--permission-mode", "bypassPermissions", "--plugin-dir", str(PLUGIN)),
        cwd=home,
        env=environment(home, url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LIMIT,
    )
    try:
        yield Session(process)
        assert process.stdin
        process.stdin.close()
        await asyncio.wait_for(process.wait(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
