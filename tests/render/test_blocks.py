"""What becomes of each kind of Markdown block."""

from textwrap import dedent

import pytest

from bridge.render import Text, render


def shown(markdown: str) -> str:
    return "\n\f\n".join(render([Text(markdown)]))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# One\n## Two\n### Three ###", "# One\n## Two\n### Three"),
        ("#### Four **bold** `code`", "**Four bold `code`**"),
        ("###### Six", "**Six**"),
        ("#hashtag and #!shebang", "#hashtag and #!shebang"),
        ("Title\n=====\ntext", "# Title\ntext"),
        ("Title\n-----\ntext", "## Title\ntext"),
        ("two\nlines\n---\ntext", "two\nlines\n────────────\ntext"),
        ("a\n\n---\n\nb", "a\n\n────────────\n\nb"),
        ("a\n\n* * *\n\nb", "a\n\n────────────\n\nb"),
        ("- [ ] open\n  - [x] done\n1. [X] also", "- ☐ open\n  - ☑ done\n1. ☑ also"),
        ("+ plus\n  + nested\n* star", "- plus\n  - nested\n* star"),
        ("> one\n>two\n> > three\n>>> four", "> one\n> two\n> three\n> four"),
        ("> - [ ] open", "> - ☐ open"),
        ("> # Title\n> #### Small", "> # Title\n> **Small**"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\r\nb", "a\nb"),
    ],
)
def test_prose_is_translated(markdown: str, expected: str) -> None:
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (
            "```py\nx  = '@everyone'\n\n# no heading\n```",
            "```py\nx  = '@everyone'\n\n# no heading\n```",
        ),
        ("~~~\n~~\n~~~", "```\n~~\n```"),
        ("````md\n```py\nx\n```\n````", "```md\n``\u200b`py\nx\n``\u200b`\n```"),
        ("```\n    ```\n```", "```\n    ``\u200b`\n```"),
        ("```\nopen", "```\nopen\n```"),
        ("```c++\nx\n```", "```c++\nx\n```"),
        ("```{.python .x}\nx\n```", "-# {.python .x}\n```\nx\n```"),
        ('```js title="a.js"\nx\n```', '-# js title="a.js"\n```js\nx\n```'),
        ("```\n```", "```\n\u200b\n```"),
        ("```a\n1\n```\n```a\n2\n```", "```a\n1\n```\n```a\n2\n```"),
        ("> ```sh\n> ls\n> ```\n> after", "```sh\nls\n```\n> after"),
        ("> ```sh\n> ls\nafter", "```sh\nls\n```\nafter"),
        ("- ```sh\n  ls\n    -l\n  ```\n- b", "-\n```sh\nls\n  -l\n```\n- b"),
        ("1. a\n   ```sh\n   ls\n   ```\n2. b", "1. a\n```sh\nls\n```\n2. b"),
    ],
)
def test_code_keeps_its_letters_between_plain_fences(markdown: str, expected: str) -> None:
    assert shown(markdown) == expected


def test_a_small_table_becomes_aligned_columns() -> None:
    markdown = dedent("""\
        | Name | Size | 漢字 |
        |:-----|-----:|:----:|
        | `a`  | 1    | x |
        | **long name** | 2000 | 字 |
        | a \\| b | | |
        after""")
    assert shown(markdown) == dedent("""\
        ```
        Name       Size  漢字
        ─────────  ────  ────
        a             1   x
        long name  2000   字
        a | b
        ```
        after""")


def test_a_wide_table_becomes_a_list_of_its_rows() -> None:
    text = "many words " * 6
    markdown = f"| Key | Value |\n|---|---|\n| a | {text}|\n| b | see [x](https://x.org) |"
    assert shown(markdown) == (
        f"- **Key:** a\n  **Value:** {text.strip()}\n- **Key:** b\n  **Value:** see [x](https://x.org)"
    )


def test_a_quoted_table_is_a_table() -> None:
    assert shown("> | a | b |\n> |---|---|\n> | 1 | 2 |\n> text") == (
        "```\na  b\n─  ─\n1  2\n```\n> text"
    )


def test_the_head_of_a_table_stands_over_each_of_its_parts() -> None:
    rows = "".join(f"| {i} | value number {i} |\n" for i in range(300))
    messages = render([Text(f"| No | Value |\n|---|---|\n{rows}")])
    assert len(messages) > 3
    assert all(message.split("\n")[1].split() == ["No", "Value"] for message in messages)


def test_columns_stay_while_rows_fit_and_begin_anew_where_one_does_not() -> None:
    rows = [f"| {i} | x |" for i in range(30)] + ["| 30 | much wider |", "| 31 | y |"]
    text = shown("\n".join(["| n | v |", "|---|---|", *rows]))
    assert text.count("```") == 4
    assert text.endswith("```\nn   v\n──  ──────────\n30  much wider\n31  y\n```")


def test_a_row_with_too_many_cells_loses_none() -> None:
    assert shown("| a | b |\n|---|---|\n| 1 | 2 | 3 |") == "- **a:** 1\n  **b:** 2\n  3"


def test_a_line_with_a_pipe_is_no_table() -> None:
    assert shown("cat x | grep y\nnext line") == "cat x | grep y\nnext line"


def test_the_wide_head_of_a_table_without_rows_is_shown() -> None:
    names = ["a rather long name"] * 4
    assert shown(f"| {' | '.join(names)} |\n|---|---|---|---|") == f"**{' · '.join(names)}**"
