"""The command with a Jev on the loopback interface, watched on a pseudo-terminal."""

import asyncio
import json
import os
import pty
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from aiohttp import web

from tests.compaction.command.conftest import command, environment
from tests.compaction.jev.server import refusal, running
from tests.compaction.session.work import save, working

KEY = "ts_live_Qm44Zx81pRak"
LIMIT = 60


async def ask(path: Path, url: str, *words: str) -> tuple[int, str, str]:
    """Status and outputs of the command, with a key and that address of Jev."""
    process = await asyncio.create_subprocess_exec(
        *command(str(path), "--strategy", "jev-needed", "--dry-run", *words),
        cwd=path.parent,
        env=environment(
            path.parent,
            TYPESAFE_API_KEY=KEY,
            TYPESAFE_BASE_URL=url,
            # Python tells on stderr of a connection that was not closed.
            PYTHONWARNINGS="always::ResourceWarning",
        ),
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.timeout(LIMIT):
        out, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


async def test_jev_is_asked_where_there_is_a_key_and_let_go_afterwards(tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    async with running() as jev:
        status, out, errors = await ask(path, jev.url, "--json")
    assert (status, errors) == (0, "")
    assert json.loads(out)["strategy"] == "jev-needed"
    assert jev.bodies and KEY in json.dumps(jev.headers)
    assert KEY not in out


async def test_a_jev_that_refuses_is_replaced_and_a_note_tells_so(tmp_path: Path) -> None:
    path = save(working(24), tmp_path)
    async with running() as jev:
        jev.handlers = [refusal(401, f"bad key {KEY}")] * 9
        status, out, errors = await ask(path, jev.url)
    assert (status, errors) == (0, "")
    assert "note: the scorer could not be used (Jev request failed with status 401" in out
    assert KEY not in out


async def test_a_bar_is_drawn_on_a_terminal_while_it_takes_long_and_wiped_away(
    tmp_path: Path,
) -> None:
    path = save(working(24), tmp_path)
    seen, wiped = asyncio.Event(), asyncio.Event()
    told = bytearray()
    main, side = pty.openpty()

    def read() -> None:
        told.extend(os.read(main, 65536))
        if b"decide" in told:
            seen.set()
        if seen.is_set() and told.endswith(b"\r\x1b[K"):
            wiped.set()

    async def wait(_: web.Request) -> web.StreamResponse:
        """Jev answers when the bar has been seen."""
        async with asyncio.timeout(LIMIT):
            await seen.wait()
        return web.Response(status=401)

    asyncio.get_running_loop().add_reader(main, read)
    try:
        async with running() as jev:
            jev.handlers = [wait] * 9
            process = await asyncio.create_subprocess_exec(
                *command(str(path), "--strategy", "jev-needed", "--dry-run"),
                env=environment(tmp_path, TYPESAFE_API_KEY=KEY, TYPESAFE_BASE_URL=jev.url),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=side,
            )
            async with asyncio.timeout(LIMIT):
                assert await process.wait() == 0
                await wiped.wait()
    finally:
        asyncio.get_running_loop().remove_reader(main)
        os.close(main)
        os.close(side)
    assert "█" in told.decode()
