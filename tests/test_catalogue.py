"""Sessions of a folder are listed by what they are about, whatever their files look like."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge import catalogue
from bridge.catalogue import Listed
from tests.compaction.transcript.sessions import Session, name, text

CWD = "/home/me"


def put(root: Path, number: int, *, said: Any = "Fix the login", **titles: str) -> Path:
    session = Session(name(number))
    session.user(said)
    session.assistant([text("Done.")])
    for kind, (key, value) in {
        "custom-title": ("customTitle", titles.get("custom")),
        "ai-title": ("aiTitle", titles.get("ai")),
        "summary": ("summary", titles.get("summary")),
    }.items():
        if value:
            session.meta(kind, **{key: value})
    path = session.save(root)
    os.utime(path, (1000 + number, 1000 + number))
    return path


def projects(root: Path) -> Path:
    return root / "projects"


def titles(root: Path) -> list[str]:
    return [found.title for found in catalogue.sessions(projects(root), CWD)]


def test_the_newest_session_comes_first_by_the_best_title_that_it_has(tmp_path: Path) -> None:
    put(tmp_path, 1)
    put(tmp_path, 2, summary="Summed up", ai="By the CLI")
    put(tmp_path, 3, summary="Summed up")
    put(tmp_path, 4, custom="By a\nperson", ai="By the CLI")
    assert titles(tmp_path) == ["By a person", "Summed up", "By the CLI", "Fix the login"]


def test_what_was_not_said_by_the_person_is_no_title(tmp_path: Path) -> None:
    session = Session(name(1))
    session.user("<command-name>/clear</command-name>")
    session.user("<local-command-stdout></local-command-stdout>")
    session.user("Injected", isMeta=True)
    session.user([{"type": "text", "text": "The real question"}])
    session.save(tmp_path)
    assert titles(tmp_path) == ["The real question"]


def test_files_that_are_no_sessions_are_passed_over(tmp_path: Path) -> None:
    folder = put(tmp_path, 1).parent
    (folder / f"{name(2)}.jsonl").write_bytes(b"")
    (folder / f"{name(3)}.jsonl").write_bytes(b'{"type":"summary"\n\xff\xfe[1]\n')
    (folder / "notes.jsonl").write_text(json.dumps({"type": "user", "customTitle": "x"}))
    (folder / f"{name(4)}.jsonl").mkdir()
    side = Session(name(5))
    side.put({"type": "user", "isSidechain": True, "message": {"content": "agent"}})
    side.save(tmp_path)
    assert titles(tmp_path) == ["Fix the login"]
    assert catalogue.sessions(projects(tmp_path), "/elsewhere") == []


def test_a_title_is_found_at_the_end_of_a_long_session(tmp_path: Path) -> None:
    session = Session(name(1))
    session.user("Begin")
    for at in range(60):
        session.assistant([text("x" * 10_000)], f"m{at}")
    session.meta("ai-title", aiTitle="At the end")
    session.meta("cost-state", totalCostUSD=1.25)
    found = catalogue.look(session.save(tmp_path))
    assert found is not None
    assert (found.title, found.cost_usd, found.cwd) == ("At the end", 1.25, CWD)


def test_a_session_is_found_by_its_id_in_any_folder_and_by_nothing_else(tmp_path: Path) -> None:
    path = put(tmp_path, 1)
    found = catalogue.find(projects(tmp_path), path.stem, "/elsewhere")
    assert found is not None
    assert found.path == path
    assert catalogue.find(projects(tmp_path), name(9), CWD) is None
    assert catalogue.find(projects(tmp_path), f"../-home-me/{path.stem}", CWD) is None


def test_words_in_any_order_find_a_session(tmp_path: Path) -> None:
    put(tmp_path, 1)
    put(tmp_path, 2, said="Write the manual")
    found = catalogue.sessions(projects(tmp_path), CWD)
    assert [s.title for s in catalogue.matching(found, "LOGIN fix")] == ["Fix the login"]
    assert len(catalogue.matching(found, "")) == 2
    assert catalogue.matching(found, "other") == []
    assert [s.sid for s in catalogue.matching(found, found[0].sid[:8])] == [found[0].sid]


def register(root: Path, pid: int, sid: str) -> None:
    folder = root / "sessions"
    folder.mkdir(exist_ok=True)
    (folder / f"{pid}.json").write_text(json.dumps({"pid": pid, "sessionId": sid}))


def test_a_session_that_a_process_has_open_has_a_holder(tmp_path: Path) -> None:
    path = put(tmp_path, 1)
    assert catalogue.holder(path) is None
    register(tmp_path, os.getpid(), path.stem)
    assert catalogue.holder(path) == os.getpid()
    assert catalogue.held(projects(tmp_path), path.stem, CWD) == os.getpid()
    assert catalogue.held(projects(tmp_path), name(9), CWD) is None


def test_a_process_that_has_ended_holds_nothing(tmp_path: Path) -> None:
    path = put(tmp_path, 1)
    ended = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert ended.stdout is not None
    ended.stdout.read()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    register(tmp_path, ended.pid, path.stem)
    assert catalogue.holder(path) is None
    ended.stdout.close()
    ended.wait()


@given(st.text(max_size=300), st.floats(0, 1e8), st.integers(0, 10**11))
def test_a_choice_always_fits(title: str, age: float, size: int) -> None:
    shown = Listed("x", Path("x"), title, 0, size).choice(age)
    assert len(shown) <= catalogue.LONGEST_CHOICE
    assert shown.endswith((" kB", " MB"))
