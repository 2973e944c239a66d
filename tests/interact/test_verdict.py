"""What a person says: to the CLI in full, to the people as one harmless line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.interact import verdict
from bridge.interact.verdict import WORD_LIMIT, Verdict
from bridge.protocol import PermissionRequest
from bridge.protocol.questions import questions_of

PLAN = PermissionRequest(tool_name="ExitPlanMode", input={"plan": "p"})
QUESTION = PermissionRequest(
    tool_name="AskUserQuestion", input={"questions": [{"question": "a?"}, {"question": "b?"}]}
)


def said(words: str) -> list[Verdict]:
    asked = questions_of(QUESTION)
    return [
        verdict.denied("Ann", words),
        verdict.kept_planning("Ann", words),
        verdict.replied(QUESTION, asked, {0: words, 1: "x"}, "Ann"),
        verdict.allowed(PLAN, words),
        verdict.unanswered(words),
    ]


@given(st.text(max_size=1200))
def test_a_word_is_one_line_without_mentions(words: str) -> None:
    for each in said(words)[:3]:
        assert "\n" not in each.word
        assert len(each.word) <= WORD_LIMIT
        assert "@everyone" not in each.word


def test_claude_reads_the_words_as_they_are() -> None:
    words = "first\n**second** @everyone"
    denied, kept, replied, *_ = said(words)
    assert denied.answer["message"].endswith(words)
    assert kept.answer["message"].endswith(words)
    assert replied.answer["updatedInput"]["answers"] == {"a?": words, "b?": "x"}


@pytest.mark.parametrize(("edits", "mode"), [(False, "default"), (True, "acceptEdits")])
def test_an_approved_plan_says_in_which_mode_it_goes_on(edits: bool, mode: str) -> None:
    answer = verdict.approved(PLAN, "Ann", edits=edits).answer
    assert verdict.mode_after(PLAN, answer) == mode
    assert answer["updatedInput"] == PLAN.input


def test_nothing_else_changes_the_mode() -> None:
    assert verdict.mode_after(PLAN, verdict.kept_planning("Ann").answer) is None
    assert verdict.mode_after(QUESTION, verdict.allowed(QUESTION, "Ann").answer) is None
