"""Random Markdown whose words are numbered, so that a test can tell what became of each."""

import re
from collections.abc import Callable, Sequence

from hypothesis import settings
from hypothesis import strategies as st

untimed = settings(deadline=None)
"""For properties: how long an example takes depends on who else works on the machine."""

Block = Callable[["Words"], str]


class Words:
    """Hands out w1, w2, ... and h1, h2, ... (for table heads, which may be repeated)."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, count: int) -> list[str]:
        self.count += count
        return [f"w{i}" for i in range(self.count - count + 1, self.count + 1)]


def numbers(text: str) -> list[int]:
    """The numbers of the words in the order in which they stand."""
    return [int(number) for number in re.findall(r"(?<![A-Za-z0-9])w(\d+)(?!\d)", text)]


WRAPS = (
    "{}",
    "{}",
    "{}",
    "**{}**",
    "*{}*",
    "`{}`",
    "~~{}~~",
    "[{}](https://example.org/x)",
    "||{}||",
)
ENDS = (" ", " ", " ", ". ", ", ", " @everyone ", " <@12345> ", " 👩‍👩‍👧 ", " 漢字 ", " ``` ", "\n")


def _prose(length: int, wraps: Sequence[str], ends: Sequence[str], lead: str) -> Block:
    def write(words: Words) -> str:
        taken = words.take(length)
        parts = [wrap.format(word) for wrap, word in zip(_cycle(wraps, length), taken, strict=True)]
        text = "".join(part + end for part, end in zip(parts, _cycle(ends, length), strict=True))
        return "\n".join(lead + line for line in text.rstrip().split("\n"))

    return write


def _cycle(items: Sequence[str], length: int) -> list[str]:
    return [items[i % len(items)] for i in range(length)]


def _fence(marks: str, info: str, indent: str, rows: Sequence[int], *, closed: bool) -> Block:
    def write(words: Words) -> str:
        inner = "```" if len(marks) > 3 else ""
        body = [f"{indent}  {' '.join(words.take(count))} {inner}" for count in rows]
        end = [f"{indent}{marks}"] if closed else []
        return "\n".join([f"{indent}{marks}{info}", *body, *end])

    return write


def _table(columns: int, rows: int, cell: int) -> Block:
    def write(words: Words) -> str:
        head = "|".join(f" h{i} " for i in range(columns))
        lines = [f"|{head}|", f"|{'---|' * columns}"]
        cells = ([" ".join(words.take(cell)) for _ in range(columns)] for _ in range(rows))
        lines += ["| " + " | ".join(row) + " |" for row in cells]
        return "\n".join(lines)

    return write


proses = st.builds(
    _prose,
    st.integers(1, 200),
    st.lists(st.sampled_from(WRAPS), min_size=1, max_size=7),
    st.lists(st.sampled_from(ENDS), min_size=1, max_size=7),
    st.sampled_from(["", "", "- ", "> ", "# ", "#### ", "1. ", "- [ ] ", "> > "]),
)
fences = st.builds(
    _fence,
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python", "c++", 'js title="a"']),
    st.sampled_from(["", "", "   "]),
    st.lists(st.integers(0, 30), max_size=40),
    closed=st.sampled_from([True, True, True, False]),
)
tables = st.builds(_table, st.integers(1, 5), st.integers(0, 50), st.integers(1, 6))
rules: st.SearchStrategy[Block] = st.sampled_from([lambda _: "---", lambda _: "<!-- x -->"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, int]:
    """A document and the count of its words."""
    words = Words()
    chosen = draw(st.lists(st.one_of(proses, fences, tables, rules), max_size=8))
    return "\n\n".join(write(words) for write in chosen), words.count


raw = st.text(
    st.sampled_from("qz1 .\n\n`~|-*_#>[]()<@&!:/\\\t+=漢👍\u200d\ud83d\u0301\r\0$xhtps"),
    max_size=1500,
)
"""Text in which nothing is where it belongs."""
