"""Which session is meant, and which there are."""

import json
import os
from pathlib import Path

import pytest

from compaction.command.sessions import NotFound, find, project, projects
from tests.compaction.command.conftest import Run
from tests.compaction.session.work import save, working

HERE, THERE = Path("/home/me/here"), Path("/home/me/there")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "projects"


def put(root: Path, folder: Path, sid: str) -> Path:
    path = project(root, folder) / f"{sid}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def look(name: str, root: Path) -> Path:
    return find(name, {"CLAUDE_CONFIG_DIR": str(root.parent)}, HERE)


def test_an_id_is_looked_for_in_this_folders_project_first(root: Path) -> None:
    own = put(root, HERE, "aaaa-1")
    other = put(root, THERE, "aaaa-1")
    assert look("aaaa-1", root) == own
    own.unlink()
    assert look("aaaa-1", root) == other


def test_the_beginning_of_an_id_is_enough_where_one_session_has_it(root: Path) -> None:
    path = put(root, HERE, "aaaa-1")
    assert look("aa", root) == path
    other = put(root, THERE, "bbbb-1")
    assert look("b", root) == other


def test_a_whole_id_is_no_beginning_of_another(root: Path) -> None:
    path = put(root, THERE, "aaaa")
    put(root, HERE, "aaaa-1")
    assert look("aaaa", root) == path


def test_several_sessions_are_named_and_none_is_chosen(root: Path) -> None:
    for sid in ("aaaa-1", "aaaa-2"):
        put(root, HERE, sid)
    with pytest.raises(NotFound, match="2 sessions begin with aaaa: aaaa-1, aaaa-2"):
        look("aaaa", root)


def test_one_id_in_several_projects_asks_for_the_file(root: Path) -> None:
    for name in ("one", "two"):
        put(root, Path(name), "aaaa-1")
    with pytest.raises(NotFound, match="name its file instead"):
        look("aaaa-1", root)


@pytest.mark.parametrize("name", ["../x", "*", "no-such", "a b"])
def test_what_is_no_session_is_none(root: Path, name: str) -> None:
    put(root, HERE, "aaaa-1")
    with pytest.raises(NotFound, match="there is no"):
        look(name, root)


def test_the_list_shows_the_newest_session_first(run: Run, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    folder = project(projects({"CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}), work)
    folder.mkdir(parents=True)
    content = save(working(8), tmp_path).read_bytes()
    for age, name in enumerate(("newest", "older")):
        path = folder / f"{name}.jsonl"
        path.write_bytes(content)
        os.utime(path, (1e9 - age, 1e9 - age))
    shown = run("--list", cwd=work).stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["session", "newest", "older"]
    rows = json.loads(run("--list", "--json", cwd=work).stdout)
    assert rows[0]["sid"] == "newest" and rows[0]["tokens"] > 100
