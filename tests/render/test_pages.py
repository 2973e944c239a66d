"""A reply with questions in between: each stretch stands in messages of its own."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bridge.render import Note, Segment, Text, render
from bridge.render.pages import Pages
from bridge.render.segments import Break, Part

FOOTER = "-# 1 s"
segments = st.one_of(
    st.text("ab \n`*", max_size=600).map(Text), st.text("ab ", min_size=1, max_size=9).map(Note)
)


def parts(stretches: Sequence[Sequence[Segment]]) -> list[Part]:
    found: list[Part] = []
    for stretch in stretches:
        found += [*stretch, Break()]
    return found[:-1]


@given(st.lists(st.lists(segments, max_size=4), min_size=1, max_size=4))
def test_each_stretch_is_shown_as_if_it_were_alone(stretches: list[list[Segment]]) -> None:
    shown = Pages().render(parts(stretches))
    assert shown == [message for stretch in stretches for message in render(stretch)]


@given(st.lists(st.lists(segments, max_size=3), min_size=1, max_size=3))
def test_what_is_shown_while_it_grows_is_what_is_shown_at_once(
    stretches: list[list[Segment]],
) -> None:
    growing, whole = Pages(limit=400), parts(stretches)
    for end in range(len(whole) + 1):
        shown = growing.render(whole[:end])
        assert shown == Pages(limit=400).render(whole[:end])


def test_the_footer_stands_below_the_last_words() -> None:
    assert Pages().render([Text("a"), Break(), Text("b")], footer=FOOTER) == ["a", f"b\n{FOOTER}"]
    assert Pages().render([Text("a"), Break()], footer=FOOTER) == [f"a\n{FOOTER}"]
    assert Pages().render([Break()], footer=FOOTER) == [FOOTER]
