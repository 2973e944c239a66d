"""One line of prose, translated, quoted or bared."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.render.inline import atoms, broken_fences, code, escaped, inline, unmarked
from tests.render.markdown import raw, untimed


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("plain *words* and __more__", "plain *words* and __more__"),
        ("`@everyone` is code", "`@everyone` is code"),
        ("hello @everyone and @here", "hello @\u200beveryone and @\u200bhere"),
        ("<@1> <@!2> <@&3> <#4>", "<\u200b@1> <\u200b@!2> <\u200b@&3> <\u200b#4>"),
        ("</ask:99> <id:browse>", "<\u200b/ask:99> <\u200bid:browse>"),
        ("me@example.org", "me@example.org"),
        ("see <t:1700000000:R>", "see <t:1700000000:R>"),
        ("a || b || c", r"a \|\| b \|\| c"),
        ("![plot](https://x.org/a.png)", "[plot](https://x.org/a.png)"),
        ("![](https://x.org/a.png)", "[image](https://x.org/a.png)"),
        (
            "[![ci](https://x.org/b.svg)](https://x.org)",
            "[ci](https://x.org) ([image](https://x.org/b.svg))",
        ),
        ("[here](https://x.org/a_(b))", "[here](https://x.org/a_(b))"),
        ("[f.py:3](src/f.py#L3)", "f.py:3 (`src/f.py#L3`)"),
        ("[https://x.org](https://x.org)", "https://x.org"),
        ("[https://x.org](https://y.org)", "https://x.org (https://y.org)"),
        ("https://x.org/@here?a||b", "https://x.org/@here?a||b"),
        ("<https://x.org>", "<https://x.org>"),
        ("<!-- note --> <br> &amp;", "<!-- note --> <br> &amp;"),
        ("$x_1 \\cdot y$ and \\*stars\\*", "$x_1 \\cdot y$ and \\*stars\\*"),
        ("```js f()``` inline", "``js f()`` inline"),
        ("say ``` to open", r"say \`\`\` to open"),
        ("a note[^1] and [an item]", "a note[^1] and [an item]"),
    ],
)
def test_a_line_is_shown_in_discords_dialect(markdown: str, shown: str) -> None:
    assert inline(markdown) == shown


@untimed
@given(raw)
def test_prose_never_opens_a_code_block(text: str) -> None:
    assert "```" not in inline(text.replace("\n", " "))


@untimed
@given(st.text("`a\n", max_size=40))
def test_broken_fences_differ_by_zero_width_spaces_only(text: str) -> None:
    assert "```" not in broken_fences(text)
    assert broken_fences(text).replace("\u200b", "") == text


@untimed
@given(st.text(max_size=60))
def test_inline_code_holds_a_foreign_text_on_one_line(text: str) -> None:
    quoted = code(text)
    assert quoted.count("`") == 2
    assert "\n" not in quoted


@untimed
@given(st.text("ab*_~`|[]()<>#@\\ ", max_size=60))
def test_an_escaped_text_has_no_markup_left(text: str) -> None:
    bare = re.sub(r"\\.", "", escaped(text))
    assert not set("*_~`|[]<>#") & set(bare)
    assert "@\u200b" in bare or "@" not in bare


@pytest.mark.parametrize(
    ("markdown", "seen"),
    [
        ("**bold** and *leaning*", "bold and leaning"),
        ("***both*** ~~gone~~ __two words__", "both gone two words"),
        ("**`code`** `**kwargs`", "code **kwargs"),
        ("a*b*c 2 * 3 * 4 __init__ snake_case", "a*b*c 2 * 3 * 4 __init__ snake_case"),
        ("[label](https://x.org) \\*x", "label (https://x.org) *x"),
    ],
)
def test_unmarked_text_is_what_a_reader_sees(markdown: str, seen: str) -> None:
    assert unmarked(markdown) == seen


def test_atoms_are_what_a_cut_would_spoil() -> None:
    text = "see `some code` or [a b](https://x.org) or **so bold**"
    spans = [text[start:end] for start, end in atoms(text)]
    assert spans == ["`some code`", "[a b](https://x.org)", "**so bold**"]
