"""Claude's Markdown, block by block, as the lines of Discord's dialect.

CommonMark with GitHub's additions comes in; headings of three levels, flat quotes, lists and
code blocks at the margin go out. What Discord cannot show is kept visible as text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bridge.render import table
from bridge.render.inline import broken_fences, inline
from bridge.render.lines import Line, fence

_QUOTE = re.compile(r" {0,3}>(?: ?>)* ?")
_FENCE = re.compile(
    r"(?P<indent>\s*)(?P<item>(?:[-*+]|\d{1,9}[.)])\s+)?(?P<marks>`{3,}|~{3,})(?P<info>.*)"
)
_LANGUAGE = re.compile(r"[\w+.#-]{1,30}(?=$|[\s:,{])", re.ASCII)
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*")
_RULE = re.compile(r" {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")
_TASK = re.compile(r"(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[([ xX])\](?=\s)")
_PLUS = re.compile(r"(\s*)\+(?=\s)")
_STRUCTURE = re.compile(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|\||<)|\s{4}")
_DRAWN_RULE = "─" * 12

_UNSETTLED = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\|.*|`{1,2}|`{3,}[^`]*|~{2,}\w*|[-=_*#>+]{1,3}|\d{1,9}[.)]?)\s*"
)
_HALF_DELIMITER = re.compile(r"[\s|:-]*")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines to show, and the number of source lines up to and with this block.

    What comes after a `settled` block is read the same whether or not one knows what came
    before it.
    """

    lines: list[Line]
    end: int
    heading: bool = False
    settled: bool = False


def blocks(markdown: str, *, growing: bool = False) -> Iterator[Block]:
    """The blocks of one text; of a `growing` one without an end that may yet mean something else.

    The first row of a table, half a fence or half a bullet would else be shown raw for a moment.
    """
    if growing:
        source = _without_unsettled(markdown.split("\n"))
    else:
        source = markdown.removesuffix("\n").split("\n")
    at = 0
    after_heading = False
    while at < len(source):
        block = _block(source, at)
        blank = not source[at].strip()
        if after_heading and block.lines:
            first = replace(block.lines[0], glued=True)
            block = replace(block, lines=[first, *block.lines[1:]])
        after_heading = block.heading or (after_heading and blank)
        yield replace(block, settled=True) if blank and not after_heading else block
        at = block.end


def _without_unsettled(source: list[str]) -> list[str]:
    last = source[-1]
    head_of_table = len(source) > 1 and source[-2].lstrip().startswith("|")
    in_table = len(source) > 2 and "|" in source[-3]
    if head_of_table and not in_table and _HALF_DELIMITER.fullmatch(last):
        return source[:-2]
    return source[:-1] if not last or _UNSETTLED.fullmatch(last) else source


def _block(source: list[str], at: int) -> Block:
    line = source[at]
    quote = _QUOTE.match(line)
    bare = line[quote.end() :] if quote else line
    if (opener := _FENCE.fullmatch(bare)) and _opens(opener):
        return _fenced(source, at, opener, quoted=quote is not None)
    if "|" in bare and at + 1 < len(source):
        below = _unquoted(source[at + 1], quoted=quote is not None)
        if below is not None and table.starts_table(bare, below):
            return _table(source, at, quoted=quote is not None)
    if not quote and at + 1 < len(source) and (mark := _underlined(source, at)):
        text = f"{mark} {inline(line.strip())}"
        return Block([Line(text)], at + 2, heading=True)
    text = f"> {_prose(bare)}" if quote else _prose(line)
    return Block([Line(text)], at + 1, heading=_HEADING.fullmatch(bare) is not None)


def _unquoted(line: str, *, quoted: bool) -> str | None:
    """The line without its quote marks; None where a quoted block has ended before it."""
    if not quoted:
        return line
    quote = _QUOTE.match(line)
    return line[quote.end() :] if quote else None


def _opens(opener: re.Match[str]) -> bool:
    return opener["marks"][0] == "~" or "`" not in opener["info"]


def _fenced(source: list[str], at: int, opener: re.Match[str], *, quoted: bool) -> Block:
    """A code block at the margin: Discord would show the indentation of a list's item in it."""
    marks, item = opener["marks"], opener["item"] or ""
    indent = len(opener["indent"]) + len(item)
    closing = re.compile(rf"\s{{0,{indent + 3}}}{re.escape(marks[0])}{{{len(marks)},}}\s*")
    language, rest = _info(opener["info"].strip())
    frame = fence(language)
    lines = [Line(opener["indent"] + item.rstrip())] if item else []
    if rest:
        lines.append(Line(f"-# {inline(rest)}"))
    body: list[Line] = []
    at += 1
    while at < len(source) and (text := _unquoted(source[at], quoted=quoted)) is not None:
        at += 1
        if closing.fullmatch(text):
            body = body or [Line("", frame)]
            break
        body.append(Line(broken_fences(_outdented(text, indent)), frame))
    return Block([*lines, *body], at)


def _info(info: str) -> tuple[str, str]:
    """The language for Discord, and the whole info string where it says more than that."""
    found = _LANGUAGE.match(info)
    language = found[0] if found else ""
    return language, "" if info == language else info


def _outdented(text: str, indent: int) -> str:
    return text[min(indent, len(text) - len(text.lstrip(" \t"))) :]


def _table(source: list[str], at: int, *, quoted: bool) -> Block:
    texts: list[str] = []
    for line in source[at:]:
        text = _unquoted(line, quoted=quoted)
        if text is None or "|" not in text:
            break
        texts.append(text)
    lines = table.laid_out(table.parse(texts[0], texts[1], texts[2:]))
    return Block(list(lines), at + len(texts))


def _underlined(source: list[str], at: int) -> str:
    """The marks of the heading that the next line makes of this one, or nothing."""
    below = _UNDERLINE.fullmatch(source[at + 1])
    if not below or len(below[1]) < 2 or not source[at].strip() or _STRUCTURE.match(source[at]):
        return ""
    if below[1][0] == "=":
        return "#"
    # Under a longer paragraph a dashed line is nearly always meant as a rule.
    return "##" if at == 0 or not source[at - 1].strip() else ""


def _prose(line: str) -> str:
    if not line.strip():
        return ""
    if _RULE.fullmatch(line):
        return _DRAWN_RULE
    if heading := _HEADING.fullmatch(line):
        return _heading(len(heading[1]), inline(heading[2]))
    line = _PLUS.sub(r"\1-", line, count=1) if line.lstrip().startswith("+") else line
    if task := _TASK.match(line):
        box = "☐" if task[2] == " " else "☑"
        return f"{task[1]}{box}{inline(line[task.end() :])}"
    return inline(line)


def _heading(level: int, text: str) -> str:
    if not text:
        return ""
    return f"{'#' * level} {text}" if level <= 3 else f"**{text.replace('**', '')}**"
