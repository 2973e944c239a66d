"""A session as it was before a prompt: all of what came before, and nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bridge.rewind import NothingBefore, before

SID = "11111111-1111-4111-8111-111111111111"


def session(folder: Path, *records: Mapping[str, object]) -> Path:
    path = folder / f"{SID}.jsonl"
    lines = (json.dumps({**r, "sessionId": SID}, separators=(",", ":")) for r in records)
    path.write_text("\n".join(lines) + "\n")
    return path


ONE = {"type": "user", "uuid": "one"}
SAID = {"type": "assistant", "uuid": "said", "message": {"content": f'"sessionId":"{SID}" two'}}
TWO = {"type": "user", "uuid": "two"}
LATE = {"type": "assistant", "uuid": "late"}


def test_it_ends_before_the_prompt_under_an_id_of_its_own(tmp_path: Path) -> None:
    path = session(tmp_path, ONE, SAID, TWO, LATE)
    old = path.read_bytes()
    found = before(path, "two")
    assert path.read_bytes() == old
    assert found.stat().st_mode & 0o777 == 0o600
    kept = [json.loads(line) for line in found.read_text().splitlines()]
    assert [record["uuid"] for record in kept] == ["one", "said"]
    assert {record["sessionId"] for record in kept} == {found.stem} != {SID}
    assert kept[1]["message"] == SAID["message"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_session_that_does_not_know_the_prompt_stands_for_itself(tmp_path: Path) -> None:
    path = session(tmp_path, ONE, SAID)
    path.write_text(path.read_text() + '{"uuid":"two","type":"us')
    assert before(path, "two") == path


def test_before_the_first_prompt_there_is_nothing(tmp_path: Path) -> None:
    path = session(tmp_path, ONE, SAID)
    with pytest.raises(NothingBefore):
        before(path, "one")
    assert list(tmp_path.iterdir()) == [path]
