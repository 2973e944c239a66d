"""Names of threads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.render.measure import units
from bridge.render.names import thread_name
from tests.render.markdown import raw, untimed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Fix the login bug", "Fix the login bug"),
        ("# Title\n\nand *more* `code`", "Title and more code"),
        ("<@123> please <@&4> look at <#5>", "please look at"),
        ("@everyone look", "everyone look"),
        ("<:wave:123456> hello", ":wave: hello"),
        ("> - [ ] **buy** ~~milk~~", "buy milk"),
        ("see [docs](https://x.org)", "see docs (https://x.org)"),
        ("what is wrong?\n```py\nprint(1)\n```", "what is wrong? print(1)"),
        ("```\nTraceback\n```", "Traceback"),
        ("a || b ||", "a b"),
        ("", "New conversation"),
        ("** **\n\u200b", "New conversation"),
    ],
)
def test_a_thread_is_named_after_its_first_words(text: str, name: str) -> None:
    assert thread_name(text) == name


def test_a_long_name_ends_at_a_word() -> None:
    name = thread_name("Please have a look at " + "something " * 20)
    assert name.endswith("something…")
    assert 80 < len(name) <= 100


def test_files_name_a_thread_without_words() -> None:
    assert thread_name("", ["a.pdf"]) == "a.pdf"
    assert thread_name(" ", ["a.pdf", "b.png", "c.txt"]) == "a.pdf and 2 more"
    assert thread_name("", ["\n"]) == "New conversation"


@untimed
@given(st.one_of(raw, st.text(max_size=300)), st.lists(st.text(max_size=200), max_size=3))
def test_a_name_has_1_to_100_characters_on_one_line(text: str, files: list[str]) -> None:
    name = thread_name(text, files)
    assert 1 <= len(name.strip()) <= units(name) <= 100
    assert len(name.splitlines()) == 1
    name.encode()
