"""A live process: whole lines in order, prompts of any size, questions, and how it can end."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import process as module
from bridge.proc import identity
from bridge.process import (
    Exit,
    LiveProcess,
    ProcessGone,
    prepare_run_folder,
    read_exit,
    stderr_tail,
)
from bridge.protocol import Event, Malformed, Result, Unknown
from state import Process
from tests.shim.harness import ShimRun, Starter

SID = "00000000-0000-0000-0000-000000000001"
WITHIN = 30.0


def info(folder: Path, pid: int, marker: str = "m") -> Process:
    who = identity(pid)
    assert who is not None
    return Process(pid=pid, started=who.started, marker=marker, run_dir=str(folder), sid=SID)


class Heard:
    """A sink that can be waited for."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        self._queue.put_nowait(event)

    async def next(self) -> Event:
        async with asyncio.timeout(WITHIN):
            return await self._queue.get()

    async def kinds(self, count: int) -> list[str]:
        """The types of that many events."""
        return [_kind(await self.next()) for _ in range(count)]

    def rest(self) -> list[str]:
        return [_kind(self._queue.get_nowait()) for _ in range(self._queue.qsize())]


def _kind(event: Event) -> str:
    return event.type if isinstance(event, Unknown) else type(event).__name__


class Pipes:
    """The other end of a run folder's FIFOs, with a real process in the shim's place."""

    def __init__(self, base: Path) -> None:
        self.folder = prepare_run_folder(base, {"marker": "m"})
        self.program = subprocess.Popen(["sleep", "600"])
        self._in = os.open(self.folder / "in", os.O_RDWR | os.O_NONBLOCK)
        self._out = os.open(self.folder / "out", os.O_RDWR | os.O_NONBLOCK)

    def attach(self, *, adopted: bool = False) -> LiveProcess:
        return LiveProcess(info(self.folder, self.program.pid), adopted=adopted)

    async def say(self, *chunks: bytes) -> None:
        """Write chunk by chunk; the reader has its turn after each."""
        for chunk in chunks:
            left = memoryview(chunk)
            while left:
                with contextlib.suppress(BlockingIOError):
                    left = left[os.write(self._out, left) :]
                await asyncio.sleep(0)

    async def line(self) -> dict[str, Any]:
        """The next line that was sent to the process."""
        data = b""
        async with asyncio.timeout(WITHIN):
            while not data.endswith(b"\n"):
                with contextlib.suppress(BlockingIOError):
                    data += os.read(self._in, 1 << 16)
                await asyncio.sleep(0)
        return json.loads(data)

    def end(self) -> None:
        self.program.kill()
        self.program.wait()

    def close(self) -> None:
        self.end()
        os.close(self._in)
        os.close(self._out)


@pytest.fixture
def pipes(tmp_path: Path) -> Generator[Pipes]:
    made = Pipes(tmp_path)
    yield made
    made.close()


@pytest.fixture
def start(tmp_path: Path) -> Generator[Starter]:
    """Starts real shims around small real programs."""
    starter = Starter(tmp_path)
    yield starter
    starter.close()


@asynccontextmanager
async def attached(run: ShimRun) -> AsyncGenerator[tuple[LiveProcess, Heard]]:
    process, heard = (
        LiveProcess(info(run.folder, run.process.pid, run.marker), adopted=False),
        Heard(),
    )
    process.sink = heard
    yield process, heard
    process.detach()


def event(kind: str, **more: Any) -> bytes:
    return json.dumps({"type": kind, **more}, ensure_ascii=False).encode() + b"\n"


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


# --- lines ----------------------------------------------------------------------------------------
kinds = st.lists(
    st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: f"made up {text}"),
    max_size=6,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[asyncio.Runner, Pipes]]:
    """One pair of pipes, and one loop, for all of a property's examples."""
    with asyncio.Runner() as runner:
        made = Pipes(tmp_path_factory.mktemp("shared"))
        yield runner, made
        made.close()


@given(kinds, st.lists(st.integers(0, 400), max_size=30), st.booleans())
def test_lines_arrive_whole_and_in_order_wherever_the_chunks_end(
    shared: tuple[asyncio.Runner, Pipes], names: list[str], places: list[int], blank: bool
) -> None:
    runner, pipes = shared
    between = b"\n \r\n" if blank else b""
    data = between + b"".join(event(name) + between for name in names)

    async def example() -> list[str]:
        process, heard = pipes.attach(), Heard()
        process.sink = heard
        try:
            await pipes.say(*cut(data, places), event("the end"))
            return await heard.kinds(len(names) + 1)
        finally:
            process.detach()

    assert runner.run(example()) == [*names, "the end"]


async def test_a_line_of_megabytes_is_one_event(pipes: Pipes) -> None:
    process, heard = pipes.attach(), Heard()
    process.sink = heard
    text = "long " * 1_000_000
    await pipes.say(event("result", result=text) + event("next"))
    result = await heard.next()
    assert isinstance(result, Result)
    assert result.result == text
    assert await heard.kinds(1) == ["next"]
    process.detach()


@pytest.mark.parametrize("size", [1500, 5000, 200_000])
async def test_a_line_over_the_limit_is_skipped_and_its_neighbours_are_not(
    pipes: Pipes, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 1000)
    monkeypatch.setattr(module, "READ_SIZE", 300)
    process, heard = pipes.attach(), Heard()
    process.sink = heard
    await pipes.say(event("before"), event("x" * size), event("after"), event("y" * 900))
    assert await heard.kinds(3) == ["before", "after", "y" * 900]
    process.detach()


async def test_what_is_no_json_is_an_event_too_and_costs_no_other(pipes: Pipes) -> None:
    process, heard = pipes.attach(), Heard()
    process.sink = heard
    await pipes.say(b"Debugger attached.\n", event("next"))
    assert await heard.next() == Malformed(head="Debugger attached.")
    assert await heard.kinds(1) == ["next"]
    process.detach()


async def test_a_listener_that_fails_costs_neither_the_line_nor_the_next(pipes: Pipes) -> None:
    process, heard = pipes.attach(), Heard()

    def sink(event: Event) -> None:
        heard(event)
        raise RuntimeError("a fault of the listener")

    process.sink = sink
    await pipes.say(event("one"), event("two"))
    assert await heard.kinds(2) == ["one", "two"]
    process.detach()


async def test_nothing_is_read_before_somebody_listens(pipes: Pipes) -> None:
    process, heard = pipes.attach(), Heard()
    await pipes.say(event("early"), event("too"))
    process.sink = heard
    assert await heard.kinds(2) == ["early", "too"]
    process.detach()


async def test_another_listener_takes_over_between_two_lines(pipes: Pipes) -> None:
    process, first, second = pipes.attach(), Heard(), Heard()
    process.sink = first
    await pipes.say(event("one"))
    assert await first.kinds(1) == ["one"]
    process.sink = second
    await pipes.say(event("two"))
    assert await second.kinds(1) == ["two"]
    assert first.rest() == []
    process.detach()


# --- what goes in ---------------------------------------------------------------------------------
async def test_prompts_of_any_size_arrive_whole_and_in_order_at_a_slow_reader(
    start: Starter, tmp_path: Path
) -> None:
    sent = [b"a" * 3_000_000 + b"\n", b"b\n", b"c" * 100_000 + b"\n"]
    whole = b"".join(sent)
    script = f'sleep 0.3; head -c {len(whole)} > got; echo \'{{"type":"all"}}\'; cat'
    run = start("sh", "-c", script, cwd=tmp_path)
    async with attached(run) as (process, heard):
        for line in sent:
            process.send(line)
        assert await heard.kinds(1) == ["all"]
        assert (tmp_path / "got").read_bytes() == whole
        process.send(event("echoed"))
        assert await heard.kinds(1) == ["echoed"]
        process.close_input()
        assert (await process.ended).reason == "it exited with code 0"


async def test_a_prompt_may_be_written_before_the_program_reads(pipes: Pipes) -> None:
    process = pipes.attach()
    process.send(b'{"early": true}\n')
    assert await pipes.line() == {"early": True}
    process.detach()


async def test_after_the_input_was_closed_nothing_goes_in(start: Starter) -> None:
    run = start("sh", "-c", "cat; sleep 600", grace=0.2)
    async with attached(run) as (process, _):
        assert process.takes_prompts
        process.close_input()
        assert not process.takes_prompts
        assert process.alive
        with pytest.raises(ProcessGone):
            process.send(b"late\n")
        process.signal(signal.SIGTERM)
        assert (await process.ended).signal == signal.SIGTERM


# --- questions ------------------------------------------------------------------------------------
def reply(request_id: str, **body: Any) -> bytes:
    return event("control_response", response={"request_id": request_id, **body})


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"subtype": "success", "response": {"model": "x"}}, {"model": "x"}),
        ({"subtype": "success"}, {}),
        ({"subtype": "error", "error": "Unsupported"}, {"error": "Unsupported"}),
        ({"subtype": "error"}, {"error": "error"}),
    ],
)
async def test_a_question_is_answered_by_the_reply_that_names_it(
    pipes: Pipes, body: dict[str, Any], answer: dict[str, Any]
) -> None:
    process, heard = pipes.attach(), Heard()
    process.sink = heard
    asking = asyncio.create_task(process.ask("set_model", within=WITHIN, model="x"))
    line = await pipes.line()
    assert line["request"] == {"subtype": "set_model", "model": "x"}
    await pipes.say(reply("another", subtype="success"), reply(line["request_id"], **body))
    assert await asking == answer
    await pipes.say(reply(line["request_id"], subtype="success"), event("next"))
    assert await heard.kinds(1) == ["next"]
    process.detach()


async def test_questions_may_be_answered_in_any_order(pipes: Pipes) -> None:
    process = pipes.attach()
    process.sink = Heard()
    asking: list[asyncio.Task[dict[str, Any]]] = []
    names: list[str] = []
    for number in range(3):
        asking.append(asyncio.create_task(process.ask("s", within=WITHIN, n=number)))
        names.append((await pipes.line())["request_id"])
    for number in (2, 0, 1):
        await pipes.say(reply(names[number], subtype="success", response={"n": number}))
    assert [(await task)["n"] for task in asking] == [0, 1, 2]
    process.detach()


async def test_a_question_that_is_not_answered_times_out(pipes: Pipes) -> None:
    process = pipes.attach()
    process.sink = Heard()
    with pytest.raises(TimeoutError):
        await process.ask("interrupt", within=0.01)
    process.detach()


async def test_a_question_ends_with_the_process(pipes: Pipes) -> None:
    process = pipes.attach()
    process.sink = Heard()
    asking = asyncio.create_task(process.ask("interrupt", within=WITHIN))
    await pipes.line()
    pipes.end()
    with pytest.raises(ProcessGone):
        await asking
    with pytest.raises(ProcessGone):
        await process.ask("interrupt")


# --- one after the other --------------------------------------------------------------------------
async def test_two_cannot_be_attached_at_once(pipes: Pipes) -> None:
    first = pipes.attach()
    with pytest.raises(BlockingIOError):
        pipes.attach()
    first.detach()
    pipes.attach().detach()


async def test_the_next_one_goes_on_where_the_last_one_let_go(start: Starter) -> None:
    run = start()
    async with attached(run) as (process, heard):
        process.send(event("user", message={"role": "user", "content": "one"}))
        while not isinstance(await heard.next(), Result):
            pass
    assert not process.alive
    with pytest.raises(ProcessGone):
        process.send(b"late\n")
    async with attached(run) as (process, heard):
        assert process.alive
        process.send(event("user", message={"role": "user", "content": "two"}))
        while not isinstance(result := await heard.next(), Result):
            pass
        assert result.result == "Echo: two"


async def test_what_came_while_nobody_was_attached_is_read_by_the_next_one(pipes: Pipes) -> None:
    first, heard = pipes.attach(), Heard()
    first.sink = heard
    await pipes.say(event("one"), event("to", rn=1)[:8])
    assert await heard.kinds(1) == ["one"]
    first.detach()
    await pipes.say(event("torn")[8:], event("two"))
    second, heard = pipes.attach(adopted=True), Heard()
    second.sink = heard
    assert await heard.kinds(2) == ["Malformed", "two"]
    second.detach()


async def test_letting_go_leaves_the_process_alive(start: Starter) -> None:
    run = start()
    async with attached(run):
        pass
    assert run.process.poll() is None


def open_files() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


async def test_a_folder_that_cannot_be_opened_leaves_nothing_open(pipes: Pipes) -> None:
    who = info(pipes.folder, pipes.program.pid)
    (pipes.folder / "out").unlink()
    before = open_files()
    with pytest.raises(FileNotFoundError):
        LiveProcess(who, adopted=True)
    assert open_files() == before


# --- the end --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("script", "code", "number", "reason"),
    [
        ("exit 0", 0, None, "it exited with code 0"),
        ("exit 3", 3, None, "it exited with code 3"),
        ("kill -9 $$", None, 9, "it was ended by SIGKILL"),
        ("kill -SEGV $$", None, 11, "it was ended by SIGSEGV"),
    ],
)
async def test_an_end_tells_its_reason_and_what_stderr_said(
    start: Starter, script: str, code: int | None, number: int | None, reason: str
) -> None:
    run = start("sh", "-c", f"read go; echo last words >&2; {script}")
    async with attached(run) as (process, _):
        process.send(b"go\n")
        async with asyncio.timeout(WITHIN):
            ended = await process.ended
        assert ended == Exit(code, number, "last words")
        assert ended.reason == reason
        assert not process.alive
        assert not process.takes_prompts


async def test_all_that_was_printed_is_delivered_before_the_end(start: Starter) -> None:
    script = "for i in $(seq 400); do echo '{\"type\":\"n'$i'\"}'; done; printf torn; exit 1"
    run = start("sh", "-c", f"read go; {script}")
    async with attached(run) as (process, heard):
        process.send(b"go\n")
        async with asyncio.timeout(WITHIN):
            await process.ended
        assert heard.rest() == [f"n{i}" for i in range(1, 401)]


async def test_the_end_of_a_process_that_nobody_listens_to_waits_for_nobody(start: Starter) -> None:
    run = start("sh", "-c", "echo ready; cat; echo last words")
    process = LiveProcess(info(run.folder, run.process.pid, run.marker), adopted=True)
    process.close_input()
    async with asyncio.timeout(WITHIN):
        assert (await process.ended).code == 0


async def test_a_killed_shim_is_an_end_too_and_what_is_left_in_the_pipe_still_counts(
    pipes: Pipes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_SIZE", 4)
    process, heard = pipes.attach(), Heard()
    process.sink = heard
    pipes.end()
    await pipes.say(event("last"))
    async with asyncio.timeout(WITHIN):
        ended = await process.ended
    assert (ended.code, ended.signal) == (None, None)
    assert ended.reason == "its supervisor was killed"
    assert heard.rest() == ["last"]


@pytest.mark.parametrize("written", [b"", b"{", b'{"code": 1', b"\xff"])
def test_a_torn_exit_file_is_an_end_without_a_reason(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "exit.json").write_bytes(written)
    assert read_exit(tmp_path) == Exit(None, None, "")


@given(st.integers(0, 9000), st.integers(0, 9000))
def test_the_tail_of_stderr_is_its_newest_part(
    tmp_path_factory: pytest.TempPathFactory, older: int, newer: int
) -> None:
    folder = tmp_path_factory.mktemp("stderr")
    text = "".join(chr(ord("a") + n % 26) for n in range(older + newer))
    if older:
        (folder / "stderr.1").write_text(text[:older])
    if newer:
        (folder / "stderr").write_text(text[older:])
    assert stderr_tail(folder) == text[-4000:]


def test_a_run_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = prepare_run_folder(tmp_path, {"marker": "secret", "thread": "5"})
    assert folder.parent == tmp_path / "run"
    assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("in", "out"):
        assert (folder / name).is_fifo()
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    proof = json.loads((folder / "process.json").read_text())
    assert (proof["marker"], proof["thread"]) == ("secret", "5")
    assert proof["created"] > 0
