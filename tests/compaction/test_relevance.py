"""The offline scorer: what makes a line or a result worth keeping."""

import pytest

from compaction.features import distinctive
from compaction.jev import JevAsker
from compaction.relevance import OfflineAsker, Valued, score, value
from tests.compaction.sessions_of_files import Session, function


def worths(session: Session, key: str, part: str = "result") -> dict[str, float]:
    """The worth of each line of a passage, by the line."""
    each = next(one for one in value(session.messages) if _is(one, key, part))
    return dict(zip(each.passage.bare, each.worths, strict=True))


def _is(valued: Valued, key: str, part: str) -> bool:
    return valued.passage.call.tool_use_id == key and valued.passage.part == part


def test_names_are_what_one_would_search_for() -> None:
    text = "the parser in src/core/parse.py calls read_token and nextToken, see 8f3a2c1 or MAX_LEN"
    expected = {"src/core/parse.py", "parse.py", "read_token", "nextToken", "8f3a2c1", "MAX_LEN"}
    assert distinctive(text) == expected
    assert distinctive("plain words are no names, however characteristic") == set()


def test_a_line_that_a_later_result_repeats_is_worth_nothing() -> None:
    session = Session()
    first = session.read("/p/a.py", *function("read_token"))
    second = session.read("/p/a.py", *function("read_token"))
    session.rest()
    assert not any(worths(session, first).values())
    assert all(worths(session, second).values())


def test_a_line_that_a_later_edit_removed_is_worth_nothing() -> None:
    session = Session()
    key = session.read("/p/a.py", *function("read_token"))
    session.edit("/p/a.py", "    read_token_value_1 = compute(1)", "    pass_over = None")
    session.rest()
    by_line = worths(session, key)
    assert by_line["read_token_value_1 = compute(1)"] == 0
    assert by_line["read_token_value_2 = compute(2)"] > 0


def test_an_edit_that_failed_removed_nothing() -> None:
    session = Session()
    key = session.read("/p/a.py", *function("read_token"))
    line = "read_token_value_1 = compute(1)"
    edit = {"file_path": "/p/a.py", "old_string": line, "new_string": "pass"}
    session.call("Edit", edit, "no such text", is_error=True)
    session.rest()
    assert worths(session, key)[line] > 0


def test_a_rewritten_file_makes_every_earlier_view_worthless() -> None:
    session = Session()
    key = session.read("/p/a.py", *function("read_token"))
    session.call("Write", {"file_path": "/p/a.py", "content": "empty = True"}, "written")
    session.rest()
    lines = worths(session, key)
    assert not any(worth for line, worth in lines.items() if len(line) >= 6)


def test_a_name_that_stands_nowhere_else_is_worth_more_than_a_plain_line() -> None:
    session = Session()
    output = "all is well here\nwrote build/out/report-1f3a.json\nnothing else to say"
    key = session.call("Bash", {"command": "make"}, output)
    session.rest()
    lines = worths(session, key)
    assert lines["wrote build/out/report-1f3a.json"] > 10 * lines["all is well here"]


def test_a_file_read_in_this_turn_is_worth_more_than_one_of_an_earlier_turn() -> None:
    session = Session()
    old = session.read("/p/old.py", "a plain line of the old file")
    session.say("Now the other one")
    new = session.read("/p/new.py", "a plain line of the new file")
    for number in range(12):
        session.call("Bash", {"command": f"step {number}"}, "done")
    lines = worths(session, old), worths(session, new)
    assert max(lines[0].values()) < max(lines[1].values())
    scores = score(session.messages)
    assert scores[old] < scores[new]


def test_scores_are_between_0_and_1_and_pinned_calls_have_1() -> None:
    session = Session()
    old = session.read("/p/a.py", *function("read_token"))
    session.rest()
    recent = session.read("/p/b.py", *function("next_token"))
    scores = score(session.messages)
    assert 0 < scores[old] < 1
    assert scores[recent] == 1


async def test_the_asker_answers_each_question_about_each_call() -> None:
    session = Session()
    session.read("/p/a.py", *function("read_token"))
    session.read("/p/a.py", *function("read_token"))
    session.call("Bash", {"command": "make"}, "failed badly", is_error=True)
    session.rest()
    asker: JevAsker = OfflineAsker(session.messages)
    keys = [f"{about}_t{n}" for n in (1, 2, 3) for about in ("call", "result")]
    answers = await asker.ask({}, {key: {"type": "noul"} for key in keys})
    found = {key: answer["noul"] for key, answer in answers.items()}
    assert set(found) == set(keys)
    assert found["result_t1"] < found["result_t2"]
    assert found["result_t3"] == 1
    assert all(found[f"call_t{n}"] >= 0.5 for n in (1, 2, 3))


async def test_the_asker_does_not_guess_about_a_call_it_does_not_know() -> None:
    with pytest.raises(KeyError):
        await OfflineAsker(Session().messages).ask({}, {"result_t9": {"type": "noul"}})
