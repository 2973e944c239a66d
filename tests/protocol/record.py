"""Records what the real CLI prints, turn by turn, into `recorded/`: python -m tests.protocol.record

One `NAME.jsonl` holds a scenario's stream, `NAME.transcript.jsonl` the conversation that the CLI
wrote to its transcript meanwhile. What differs from run to run (ids, times, paths) is replaced, the
same by the same, so that what belongs together still does.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from bridge import history
from bridge.config import ClaudeNotFound, Config, find_claude
from bridge.launch import Launch, arguments
from bridge.protocol import allow, control_line, deny, reply_line, user_line
from bridge.rehearsal.model import ScriptedModel
from bridge.rehearsal.stage import QUIET

RECORDED = Path(__file__).parent / "recorded"
LINE_LIMIT = 64 << 20
WITHIN = 60.0

Event = dict[str, Any]


@dataclass
class Recording:
    """What came out of the CLI, and what it kept on disk of the conversation."""

    events: list[Event] = field(default_factory=list[Event])
    transcript: list[Event] = field(default_factory=list[Event])


class Talk:
    """A conversation with one real CLI, all of whose output is kept."""

    def __init__(self, cli: asyncio.subprocess.Process, model: ScriptedModel) -> None:
        assert cli.stdin and cli.stdout
        self.model = model
        self.events: list[Event] = []
        self._in, self._out = cli.stdin, cli.stdout

    def send(self, line: bytes) -> None:
        self._in.write(line)

    def say(self, prompt: str) -> str:
        """Send a prompt; returns its id."""
        prompt_id = str(uuid.uuid4())
        self.send(user_line(prompt, prompt_id))
        return prompt_id

    async def until(self, wanted: Callable[[Event], object]) -> Event:
        """Read on until this event has come."""
        async with asyncio.timeout(WITHIN):
            while line := await self._out.readline():
                event = json.loads(line)
                self.events.append(event)
                if wanted(event):
                    return event
        raise EOFError(f"the CLI ended: {self.events[-2:]}")

    async def result(self) -> Event:
        return await self.until(lambda event: event["type"] == "result")

    async def turn(self, prompt: str) -> Event:
        self.say(prompt)
        return await self.result()

    async def rest(self) -> None:
        """Close stdin and read what still comes."""
        self._in.close()
        async with asyncio.timeout(WITHIN):
            while line := await self._out.readline():
                self.events.append(json.loads(line))


# --- scenarios ----------------------------------------------------------------------------------
async def _text(talk: Talk) -> None:
    await talk.turn("alpha one")
    await talk.turn("beta two")


async def _repeated(talk: Talk) -> None:
    prompt_id = talk.say("alpha one")
    await talk.result()
    talk.send(user_line("alpha one", prompt_id))
    await talk.turn("beta two")


async def _tool(talk: Talk) -> None:
    await talk.turn("RUN: echo hello")


async def _tool_error(talk: Talk) -> None:
    await talk.turn("RUN: echo broken >&2; exit 3")


async def _parallel(talk: Talk) -> None:
    calls = [{"name": "Bash", "input": {"command": f"echo {word}"}} for word in ("one", "two")]
    await talk.turn(f"TOOLS: {json.dumps(calls)}")


async def _steps(talk: Talk) -> None:
    steps = "THINK first ;; RUN: echo 1 ;; SAY: In between. ;; RUN: echo 2 ;; SAY: Done."
    await talk.turn(f"STEPS: {steps}")


async def _thinking(talk: Talk) -> None:
    await talk.turn("THINK hard")


def _agent(*, background: bool) -> Callable[[Talk], Awaitable[None]]:
    task = {"description": "Look around", "prompt": "RUN: echo inner"}
    kind = {"subagent_type": "general-purpose", "run_in_background": background}
    call = {"name": "Agent", "input": {**task, **kind}}

    async def scenario(talk: Talk) -> None:
        await talk.turn(f"TOOL: {json.dumps(call)}")
        if background:  # its end begins a turn of its own
            await talk.result()

    return scenario


def _permission(answer: Callable[[Event], Mapping[str, Any]]) -> Callable[[Talk], Awaitable[None]]:
    async def scenario(talk: Talk) -> None:
        talk.say("RUN: touch made")
        asked = await talk.until(lambda event: event["type"] == "control_request")
        talk.send(reply_line(asked["request_id"], answer(asked["request"]["input"])))
        await talk.result()

    return scenario


async def _interrupt(talk: Talk) -> None:
    talk.say("SLOW 60 omega")
    await talk.until(lambda event: event.get("event", {}).get("type") == "content_block_delta")
    talk.send(control_line("host-1", "interrupt"))
    await talk.result()
    await talk.turn("beta two")


async def _interrupted_question(talk: Talk) -> None:
    talk.say("RUN: touch made")
    await talk.until(lambda event: event["type"] == "control_request")
    talk.send(control_line("host-1", "interrupt"))
    await talk.result()


async def _stale(talk: Talk) -> None:
    talk.say("alpha one")
    await talk.result()


async def _api_error(talk: Talk) -> None:
    await talk.turn("ERROR invalid")
    await talk.turn("ERROR 401")


async def _api_retry(talk: Talk) -> None:
    await talk.turn("ERROR 529 times=1")


async def _midstream(talk: Talk) -> None:
    await talk.turn("ERROR overloaded-midstream times=1")


async def _compact(talk: Talk) -> None:
    await talk.turn("alpha one")
    await talk.turn("/compact")
    await talk.turn("beta two")


async def _compact_nothing(talk: Talk) -> None:
    await talk.turn("/compact")


async def _slash(talk: Talk) -> None:
    await talk.turn("/context")


async def _asks(talk: Talk) -> None:
    talk.send(control_line("host-1", "set_model", model="claude-haiku-4-5"))
    await talk.until(lambda event: event["type"] == "control_response")
    talk.send(control_line("host-2", "no_such_subtype"))
    await talk.until(lambda event: event["type"] == "control_response")


@dataclass(frozen=True)
class Scenario:
    """What is done, and with which arguments the CLI is started for it."""

    play: Callable[[Talk], Awaitable[None]]
    mode: str = "bypassPermissions"
    resume: bool = False


SCENARIOS: Mapping[str, Scenario] = {
    "text": Scenario(_text),
    "repeated": Scenario(_repeated),
    "tool": Scenario(_tool),
    "tool_error": Scenario(_tool_error),
    "parallel": Scenario(_parallel),
    "steps": Scenario(_steps),
    "thinking": Scenario(_thinking),
    "subagent": Scenario(_agent(background=False)),
    "background": Scenario(_agent(background=True)),
    "allowed": Scenario(_permission(allow), mode="default"),
    "denied": Scenario(_permission(lambda _: deny("not now")), mode="default"),
    "interrupt": Scenario(_interrupt),
    "interrupted_question": Scenario(_interrupted_question, mode="default"),
    "stale": Scenario(_stale, resume=True),
    "api_error": Scenario(_api_error),
    "api_retry": Scenario(_api_retry),
    "midstream": Scenario(_midstream),
    "compact": Scenario(_compact),
    "compact_nothing": Scenario(_compact_nothing),
    "slash": Scenario(_slash),
    "asks": Scenario(_asks),
}


# --- the recorder -------------------------------------------------------------------------------
def find_cli() -> Path | None:
    """The CLI that the bot would run."""
    nowhere = Path("/nonexistent")
    try:
        return find_claude(Config(state_dir=nowhere, project_dir=nowhere), os.environ)
    except ClaudeNotFound:
        return None


async def record(name: str, cli: Path) -> Recording:
    """Play one scenario with the real CLI and a scripted model."""
    scenario = SCENARIOS[name]
    with tempfile.TemporaryDirectory(prefix="claude-bridge-record-") as scratch:
        home, work = _folders(scratch)
        sid = str(uuid.uuid4())
        launch = Launch(
            thread=1,
            sid=sid,
            cwd=work,
            readable=work,
            resume=sid if scenario.resume else None,
            permission_mode=scenario.mode,
        )
        async with _model() as model:
            process = await asyncio.create_subprocess_exec(
                str(cli),
                *arguments(launch),
                cwd=work,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "HOME": str(home),
                    **QUIET,
                    "ANTHROPIC_BASE_URL": model.url,
                },
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE_LIMIT,
            )
            talk = Talk(process, model)
            try:
                await scenario.play(talk)
                await talk.rest()
            except BaseException:
                process.kill()
                raise
            finally:
                await process.wait()
        path = history.find_transcript(home / ".claude" / "projects", sid, str(work))
        lines = path.read_bytes().splitlines() if path else []
        kept = [r for r in map(json.loads, lines) if r.get("type") in ("user", "assistant")]
        scrub = Scrubber(scratch, model.url)
        return Recording([scrub(e) for e in talk.events], [scrub(r) for r in kept])


def _folders(scratch: str) -> tuple[Path, Path]:
    home, work = Path(scratch, "home"), Path(scratch, "work")
    for folder in (home, work):
        folder.mkdir()
    return home, work


@asynccontextmanager
async def _model() -> AsyncGenerator[ScriptedModel]:
    model = ScriptedModel()
    await model.start()
    try:
        yield model
    finally:
        await model.stop()


class Scrubber:
    """Replaces what differs from run to run, the same by the same."""

    _UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    _ID = re.compile(r"\b(msg|toolu|req)_\w+")
    _TASK = re.compile(r"\ba[0-9a-f]{16}\b")
    _TEMPORARY = re.compile(r"/tmp/claude-\d+")
    _TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
    _FAST_CHANGING = re.compile(r".*(_ms|Ms|_at|duration|pid|durationSeconds)|memory_paths")
    _LONGEST_LIST = 4

    def __init__(self, scratch: str, url: str) -> None:
        self._places = ((scratch, "/scratch"), (history.project_folder_name(scratch), "-scratch"))
        self._url = url
        self._known: dict[str, str] = {}

    def __call__(self, event: Event) -> Event:
        return cast("Event", self._value(event))

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self._string(value)
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {key: self._entry(key, item) for key, item in items}
            case list():
                # Lists of names (tools, commands, models) are long, and of no interest here.
                kept = [self._value(item) for item in cast("list[Any]", value)]
                return kept[: self._LONGEST_LIST] if len(kept) > 12 else kept
            case _:
                return value

    def _entry(self, key: str, value: Any) -> Any:
        if self._FAST_CHANGING.fullmatch(key) and isinstance(value, int | float):
            return 0
        return self._value(value)

    def _string(self, text: str) -> str:
        for place, name in self._places:
            text = text.replace(place, name)
        text = text.replace(self._url, "http://model")
        text = self._UUID.sub(lambda m: self._same(m[0], f"{{:08x}}{'-0000' * 3}-{'0' * 12}"), text)
        text = self._ID.sub(lambda m: self._same(m[0], f"{m[1]}_{{:04}}"), text)
        text = self._TASK.sub(lambda m: self._same(m[0], "task{:04}"), text)
        text = self._TEMPORARY.sub("/tmp/claude", text)
        return self._TIME.sub("2026-01-01T00:00:00.000Z", text)

    def _same(self, found: str, form: str) -> str:
        return self._known.setdefault(found, form.format(len(self._known) + 1))


def load(name: str) -> Recording:
    """A scenario as it was recorded."""
    return Recording(
        _read(RECORDED / f"{name}.jsonl"), _read(RECORDED / f"{name}.transcript.jsonl")
    )


def _read(path: Path) -> list[Event]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def _write(path: Path, items: list[Event]) -> None:
    if items:
        path.write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in items))
    else:
        path.unlink(missing_ok=True)


async def main(names: list[str]) -> None:
    cli = find_cli()
    assert cli, "there is no Claude Code CLI"
    RECORDED.mkdir(exist_ok=True)
    for name in names or SCENARIOS:
        recording = await record(name, cli)
        _write(RECORDED / f"{name}.jsonl", recording.events)
        _write(RECORDED / f"{name}.transcript.jsonl", recording.transcript)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
