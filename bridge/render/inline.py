"""One line of Claude's prose in Discord's dialect, and the ways to quote a foreign text.

Mentions are broken with a zero-width space although the bot never allows one to notify
anybody: a highlighted "@everyone" alarms its readers even where nobody was called. Bare links
stay as they are, the sender turns their previews off for the whole message. `||` is escaped
because it means "or" to Claude and "hide this" to Discord.

Every construct is recognised within a bounded length. What a line's start looks like can
therefore not depend on text that arrives much later.
"""

import re

ZERO_WIDTH = "\u200b"
_LOOK_ALIKE = "\u02cb"  # of a backtick

_CODE = r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
_TARGET = r"[^()\s]{0,1000}(?:\([^()\s]{0,200}\)[^()\s]{0,200}){0,4}"
_LINK = (
    rf"(?P<image>!?)\[(?P<label>[^\[\]\n]{{0,300}})\]"
    rf"\((?P<target><[^<>\n]{{0,1000}}>|{_TARGET})(?P<title>\s{{1,3}}\"[^\"\n]{{0,200}}\")?\)"
)
_BADGE = rf"\[!\[(?P<alt>[^\[\]\n]{{0,300}})\]\((?P<picture>{_TARGET})\)\]\((?P<around>{_TARGET})\)"
_TOKEN = re.compile(
    rf"(?P<escape>\\[!-/:-@\[-`{{-~])|{_CODE}|(?P<fence>`{{3,}})|{_BADGE}|{_LINK}"
    r"|(?P<url><?https?://[^\s<>]{1,1000}>?)"
    r"|@(?P<everybody>everyone|here)|<(?P<mention>[@#][!&]?\d+|/[^<>\n]{1,80}:\d+|id:\w+)>"
    r"|(?P<spoiler>\|\|+)"
)
_SPECIAL = re.compile(r"[`\[<@|\\]")
_ATOM = re.compile(
    rf"{_CODE}|\[[^\[\]\n]{{0,300}}\]\([^()\s]{{0,1000}}\)|<?https?://[^\s<>]{{1,1000}}>?"
    r"|\*\*[^*\n]{1,200}\*\*|\\."
)
_EMPHASIS = re.compile(
    r"(?<![\w*])(?P<star>\*{1,3})(?=\S)(?P<stars>[^*\n]{0,300}\S)(?P=star)(?![\w*])"
    r"|(?<![\w~])~~(?=\S)(?P<tildes>[^~\n]{0,300}\S)~~(?![\w~])"
    r"|(?<!\w)__(?=[^\s_]{1,100} )(?P<lines>[^_\n]{1,300}\S)__(?!\w)"
)
_MARKUP = re.compile(r"([\\*_~`|\[\]<>#])")


def inline(text: str) -> str:
    """The line's prose as Discord shows it best; inline code stays as it is."""
    return _TOKEN.sub(_translate, text) if _SPECIAL.search(text) else text


def _translate(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "code":
            return _code_span(found["ticks"], found["code"])
        case "fence":
            return r"\`" * len(found["fence"])
        case "around":
            picture = _link("image", found["picture"])
            return f"{_link(found['alt'] or 'link', found['around'])} ({picture})"
        case "target" | "title":
            label = found["label"] or ("image" if found["image"] else "")
            return _link(label, found["target"].strip("<>"), found["title"] or "")
        case "everybody":
            return f"@{ZERO_WIDTH}{found['everybody']}"
        case "mention":
            return f"<{ZERO_WIDTH}{found['mention']}>"
        case "spoiler":
            return r"\|" * len(found["spoiler"])
        case _:
            return found[0]


def _code_span(ticks: str, body: str) -> str:
    # Three backticks open a block in Discord wherever they stand.
    ticks = ticks if len(ticks) < 3 else "``"
    return f"{ticks}{broken_fences(body)}{ticks}"


def _link(label: str, target: str, title: str = "") -> str:
    """A link that Discord can follow, else its label and its target side by side."""
    shown = inline(label)
    if not re.match(r"https?://\S", target):
        return f"{shown} ({code(target)})" if target else f"[{shown}]()"
    if not label.strip() or label == target:
        return target
    if "://" in label:  # Discord takes such a link for a trick and shows it raw
        return f"{shown} ({target})"
    return f"[{shown}]({target}{title})"


def broken_fences(text: str) -> str:
    """The text without three backticks in a row: Discord ends a code block at any of them."""
    if "```" not in text:
        return text
    return re.sub(r"``(?=`)", f"``{ZERO_WIDTH}", text)


def unmarked(text: str) -> str:
    """What a reader sees of one line of Markdown: for places that render none."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(_seen(found))
        return "\0"

    bare = _EMPHASIS.sub(_unemphasised, _TOKEN.sub(keep, text.replace("\0", "")))
    pieces = bare.split("\0")
    return "".join(piece + part for piece, part in zip(pieces, [*kept, ""], strict=True))


def _seen(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "escape":
            return found["escape"][1]
        case "code":
            return found["code"]
        case "target" | "title" if found["label"] and found["label"] != found["target"]:
            return f"{unmarked(found['label'])} ({found['target']})"
        case "target" | "title":
            return found["target"]
        case _:
            return found[0]


def _unemphasised(found: re.Match[str]) -> str:
    return next(part for part in found.group("stars", "tildes", "lines") if part is not None)


def one_line(text: str) -> str:
    """The text with every run of white space, line ends included, as one space."""
    return " ".join(text.split())


def code(text: str) -> str:
    """A foreign text as inline code on one line; a look-alike stands for its backticks."""
    return f"`{one_line(text).replace('`', _LOOK_ALIKE)}`"


def escaped(text: str) -> str:
    """A foreign text as prose on one line that Discord shows letter by letter."""
    return _MARKUP.sub(r"\\\1", one_line(text)).replace("@", f"@{ZERO_WIDTH}")


def atoms(text: str) -> list[tuple[int, int]]:
    """Spans of a Discord line that a cut would spoil: code, links, bold words, escapes."""
    return [found.span() for found in _ATOM.finditer(text)]
