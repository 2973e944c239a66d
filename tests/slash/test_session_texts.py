"""The words of /sessions and /handoff."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bridge.slash.sessions import handoff_text, sessions_text
from state import Record
from tests.state.samples import SID, plain, records


def at(last_used: float, sid: str | None = SID) -> Record:
    return plain(sid=sid).model_copy(update={"last_used": last_used})


def test_sessions_stand_with_the_latest_first() -> None:
    lines = sessions_text({1: at(5), 2: at(9, None), 3: at(7)}, live=[3]).splitlines()
    assert [line[:4] for line in lines[1:]] == ["<#2>", "<#3>", "<#1>"]
    assert "not begun" in lines[1]
    assert "ready" in lines[2]
    assert "asleep" in lines[3]
    assert "no sessions yet" in sessions_text({}, [])


@given(st.lists(records, max_size=12))
def test_any_number_of_sessions_fits_one_message(found: list[Record]) -> None:
    many = {10**18 + n: record for n, record in enumerate(found * 8)}
    text = sessions_text(many, [])
    assert len(text.encode("utf-16-le", "replace")) // 2 <= 2000
    assert not many or f"{len(many)} sessions" in text


def test_the_command_of_a_handoff_can_be_pasted(tmp_path: Path) -> None:
    record = plain(sid=SID).model_copy(update={"cwd": "/my project/$HOME; rm -rf"})
    text = handoff_text(record, Path.home() / ".claude" / "projects")
    assert f"cd '/my project/$HOME; rm -rf' && claude --resume {SID}" in text
    assert "CLAUDE_CONFIG_DIR" not in text
    assert f"export CLAUDE_CONFIG_DIR={tmp_path}\n" in handoff_text(record, tmp_path / "projects")
