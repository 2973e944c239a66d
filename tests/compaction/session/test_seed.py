"""What a fresh session is told of one that cannot go on."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from compaction.estimate import tokens
from compaction.seed import CUT, END, HEAD, recent
from compaction.transcript import Transcript
from tests.compaction.session.work import save, working
from tests.compaction.transcript.random_sessions import Random
from tests.compaction.transcript.sessions import Session, call, text

FRAME = tokens(HEAD) + tokens(END)


def talk(folder: Path, *words: str) -> Transcript:
    """A person and the assistant by turns."""
    session = Session()
    for at, said in enumerate(words):
        if at % 2:
            session.assistant([text(said)])
        else:
            session.user(said)
    return Transcript.read(save(session, folder))


def test_words_stand_verbatim_in_their_order_and_calls_on_a_line_each(tmp_path: Path) -> None:
    session = Session()
    session.user("Look\n  twice.")
    session.assistant([text("I look."), call("a", "Read", file_path="/x.py"), call("b")])
    session.result("a", "SECRET OUTPUT")
    session.result("b", "no such file", error=True)
    session.user("<system-reminder>nobody said this</system-reminder>")
    session.assistant([text("There it is.")])
    assert recent(Transcript.read(save(session, tmp_path)), 1000) == "\n\n".join(
        [
            HEAD,
            "User: Look\n  twice.",
            "Assistant: I look.\n[Read: /x.py]\n[Bash: ls (failed)]",
            "Assistant: There it is.",
            END,
        ]
    )


def test_the_newest_words_are_kept_first(tmp_path: Path) -> None:
    found = talk(tmp_path, "one " * 50, "two " * 50, "three " * 50, "four " * 50)
    told = recent(found, FRAME + 120)
    assert "one" not in told.removeprefix(HEAD).removesuffix(END)
    assert "two " not in told
    assert told.index("three") < told.index("four")


def test_what_does_not_fit_ends_it_even_if_older_words_would_fit(tmp_path: Path) -> None:
    told = recent(talk(tmp_path, "first", "long " * 500, "last"), FRAME + 60)
    assert told == f"{HEAD}\n\nUser: last\n\n{END}"


def test_of_a_last_message_that_is_too_long_the_end_is_kept(tmp_path: Path) -> None:
    words = " ".join(f"word{at}" for at in range(3000))
    told = recent(talk(tmp_path, "Tell me all.", words), FRAME + 200)
    kept = told.removeprefix(HEAD).removesuffix(END).strip().removeprefix(CUT)
    assert words.endswith(kept)
    assert FRAME + 190 <= tokens(told) <= FRAME + 200


def test_without_words_or_room_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert recent(talk(tmp_path / "a"), 1000) == ""
    for budget in (-5, 0, FRAME, FRAME + 3):
        assert recent(talk(tmp_path / "b", "Hello.", "Hello to you."), budget) == ""


def test_outputs_are_never_told(tmp_path: Path) -> None:
    told = recent(Transcript.read(save(working(), tmp_path)), 100_000)
    assert "Go on with part 1." in told
    assert "compute_" not in told
    assert "PASSED" not in told


@given(st.data(), st.integers(0, 3000))
def test_it_never_takes_more_than_its_budget(data: st.DataObject, budget: int) -> None:
    made = Random(data)
    session = made.make()
    with tempfile.TemporaryDirectory() as folder:
        told = recent(Transcript.read(session.save(Path(folder), made.tail)), budget)
    assert tokens(told) <= budget
    assert not told or (told.startswith(HEAD) and told.endswith(END))
