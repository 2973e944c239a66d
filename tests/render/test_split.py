"""Where the splitter cuts."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.render.lines import Line, fence
from bridge.render.measure import units
from bridge.render.split import Splitter
from tests.render.markdown import untimed

LIMIT = 400
words = st.text("ab .!漢👍", max_size=900)


def split(lines: list[Line]) -> list[str]:
    splitter = Splitter(LIMIT)
    splitter.push(lines)
    return splitter.messages()


@untimed
@given(st.lists(words, max_size=12))
def test_a_framed_text_comes_back_whole(texts: list[str]) -> None:
    frame = fence("python", ("head", "----"))
    messages = split([Line(text, frame) for text in texts])
    bodies = [message.removeprefix("```python\n").removesuffix("\n```") for message in messages]
    bodies = bodies[:1] + [body.removeprefix("head\n----\n") for body in bodies[1:]]
    back = "".join("".join(bodies).split("\n")).replace("\u200b", "")
    assert back == "".join(texts)
    assert all(units(message) <= LIMIT for message in messages)


@untimed
@given(st.lists(words, max_size=12), st.integers(0, 12))
def test_a_copy_goes_on_where_the_original_was(texts: list[str], at: int) -> None:
    lines = [Line(text) for text in texts]
    splitter = Splitter(LIMIT)
    splitter.push(lines[:at])
    copy = splitter.copy()
    splitter.push([Line("something else " * 40)])
    copy.push(lines[at:])
    assert copy.messages() == split(lines)


def test_a_quote_and_a_subtext_go_on_as_such() -> None:
    for prefix in ("> ", "-# "):
        messages = split([Line(prefix + "some words here " * 60)])
        assert len(messages) > 2
        assert all(message.startswith(prefix) for message in messages)


def test_a_text_without_spaces_is_cut_at_the_limit() -> None:
    assert [len(message) for message in split([Line("x" * 1000)])] == [400, 400, 200]


def test_a_short_line_moves_whole_when_the_alternative_is_a_cut_word() -> None:
    assert split([Line("a" * 150), Line("b" * 380)]) == ["a" * 150, "b" * 380]


def test_a_small_code_block_moves_whole() -> None:
    frame = fence()
    messages = split([Line("word " * 50), Line(""), *[Line("code " * 4, frame)] * 12])
    assert messages[0] == ("word " * 50).strip()
    assert messages[1].count("code") == 48


def test_a_sentence_is_a_better_end_than_a_word() -> None:
    messages = split([Line("Ten words make one sentence that is neither long nor short. " * 10)])
    assert all(message.endswith("short.") for message in messages)


def test_a_bullet_is_not_left_behind_by_its_text() -> None:
    for marker in ("- ", "> ", "1. ", "  - ", "> - "):
        messages = split([Line("x" * (LIMIT - 12)), Line(marker + "y" * 300 + " end" * 200)])
        assert messages[0] == "x" * (LIMIT - 12)
        assert messages[1].startswith((marker + "y").strip())


def test_a_link_in_a_text_without_spaces_moves_whole() -> None:
    link = "[two words](https://example.org/path)"
    messages = split([Line("字" * (LIMIT - 20) + link + "字" * LIMIT)])
    assert messages[0] == "字" * (LIMIT - 20)
    assert messages[1].startswith(link)
