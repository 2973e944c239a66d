"""The diff of an edit: what goes and what comes, all of it."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.render.diff import diff

lines = st.lists(st.sampled_from(["a", "b", "", " c", "-", "@@"]), max_size=12)


@given(lines, lines)
def test_every_line_that_goes_or_comes_is_in_it(before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in side) for side in (before, after))
    shown = diff(old, new).split("\n") if old != new else []
    went = [line[1:] for line in shown if line.startswith("-")]
    came = [line[1:] for line in shown if line.startswith("+")]
    for line in {*before, *after}:
        balance = after.count(line) - before.count(line)
        assert came.count(line) - went.count(line) == balance
    assert bool(shown) == (before != after)


def test_what_is_far_from_a_change_is_passed_over() -> None:
    text = "".join(f"{n}\n" for n in range(20))
    assert diff(text, text.replace("10\n", "ten\n")) == " 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13"
    twice = diff(text, text.replace("1\n", "I\n", 1).replace("19\n", "XIX\n"))
    assert twice.count("@@ -") == 2


def test_a_line_end_that_goes_is_a_change() -> None:
    assert diff("a\n", "a") == " a\n+(no line end)"
    assert diff("a", "a\n") == " a\n-(no line end)"
    assert diff("", "a") == "+a"
    assert diff("a", "") == "-a"


def test_a_great_change_is_shown_without_a_comparison() -> None:
    old, new = "x\n" * 1500, "y\n" * 1500
    assert diff(old, new) == "\n".join(["-x"] * 1500 + ["+y"] * 1500)
