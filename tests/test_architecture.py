"""The shape of the program: who may import whom, who may do I/O, and how long a module may be."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("bridge", "compaction", "state")
LONGEST = 450

ALONE = {"bridge/shim.py": "it runs by its path, with no package around it"}
"""Modules that may be longer, and why."""

WORLD = frozenset(
    {"asyncio", "aiofiles", "aiohttp", "discord", "fcntl", "http", "httpx", "multiprocessing", "os"}
    | {"psutil", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess"}
    | {"tempfile", "threading"}
)
"""What leads out of a process: to files, sockets and other processes."""

MODULES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    """The full names of all that a module imports, within functions too."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports by a relative name"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("compaction", {"bridge", "state", "discord", "tests"}),
        ("state", {"bridge", "compaction", "discord", "tests"}),
        ("bridge", {"tests", "claude_agent_sdk"}),
    ],
)
def test_imports_go_one_way(package: str, never: set[str]) -> None:
    found = {name_of(path): roots(path) & never for path in within(package)}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize("folder", ["bridge/protocol", "bridge/render"])
def test_what_is_pure_reaches_for_nothing_outside(folder: str) -> None:
    found = {name_of(path): roots(path) & WORLD for path in within(folder)}
    assert {name: names for name, names in found.items() if names} == {}


def test_compaction_speaks_to_the_network_in_one_module_only() -> None:
    network = {"aiohttp", "http", "httpx", "socket", "ssl", "subprocess"}
    found = {name_of(path) for path in within("compaction") if roots(path) & network}
    assert found <= {"compaction/jev/client.py"}


@pytest.mark.parametrize("module", ["narration", "ledger", "outcome", "history"])
def test_what_decides_speaks_neither_to_discord_nor_to_processes(module: str) -> None:
    assert not roots(ROOT / "bridge" / f"{module}.py") & {"discord", "aiohttp", "subprocess"}


def test_the_bot_needs_no_part_of_the_rehearsal() -> None:
    own = [p for p in within("bridge") if not name_of(p).startswith("bridge/rehearsal/")]
    found = {
        name_of(path)
        for path in own
        if any(name.startswith("bridge.rehearsal") for name in imports(path))
    }
    assert found == {"bridge/__main__.py"}


def test_the_shim_needs_the_standard_library_only() -> None:
    assert roots(ROOT / "bridge" / "shim.py") <= sys.stdlib_module_names


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST or name_of(path) in ALONE


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "manager", "managers"}
    assert {name_of(path) for path in MODULES if path.stem in vague} == set()
