"""What a person reads."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.doctor import Finding, render

words = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
findings = st.builds(
    Finding,
    name=words,
    ok=st.sampled_from([True, False, None]),
    detail=words,
    todo=st.lists(words, max_size=3).map(tuple),
)


def test_a_fault_is_followed_by_what_to_do() -> None:
    report = render(
        [
            Finding("token", True, "valid"),
            Finding("disk", None, "0.5 GB free"),
            Finding("login", False, "not logged in", ("claude auth login", "try again")),
        ]
    )
    assert report.splitlines() == [
        "  ok  token  valid",
        "warn  disk   0.5 GB free",
        "FAIL  login  not logged in",
        "      -> claude auth login",
        "      -> try again",
        "",
        "1 fault and 1 warning.",
    ]


def test_further_lines_of_a_detail_stand_below_the_first() -> None:
    assert render([Finding("x", False, "one\ntwo")]).splitlines()[:2] == [
        "FAIL  x  one",
        "         two",
    ]


def test_a_clean_report_says_so() -> None:
    assert render([Finding("token", True, "valid")]).endswith("\nEverything is in order.")


@given(st.lists(findings, max_size=8))
def test_every_finding_and_every_step_is_one_line(found: list[Finding]) -> None:
    lines = render(found).splitlines()
    assert len(lines) == len(found) + sum(len(one.todo) for one in found) + 2
    assert sum(line.startswith("FAIL") for line in lines) == sum(one.ok is False for one in found)
