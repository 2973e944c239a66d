"""Names of threads, made from what a person wrote first."""

import re
from collections.abc import Sequence

from bridge.render.inline import one_line, unmarked
from bridge.render.measure import fitting, units, visible, whole

_LONGEST = 100
_DEFAULT = "New conversation"

_FENCE_LINE = re.compile(r"\s*(?:`{3,}|~{3,})[\w+.#-]*\s*")
_LEAD = re.compile(r"\A\s*(?:>+\s*|-#\s+|#{1,6}\s+|(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?)+")
_MENTION = re.compile(r"<(?:@[!&]?|#|t:|/[^<>\n]{1,80}:|id:)\w[\w:-]*>|@(?=everyone|here)")
_EMOJI = re.compile(r"<a?(:\w{2,32}:)\d+>")
_MARK = re.compile(r"\|\||\*\*|~~|`+|(?<!\w)__|__(?!\w)")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060-\u206f\ufeff\u202a-\u202e\ud800-\udfff]"
)


def thread_name(text: str, attachments: Sequence[str] = ()) -> str:
    """A name of 1-100 characters on one line, without Markdown and mentions.

    A text without words leaves the name to the `attachments` (file names).
    """
    lines = [_bare(line) for line in text.splitlines() if not _FENCE_LINE.fullmatch(line)]
    name = one_line(" ".join(lines))
    if not visible(name):
        name = one_line(_UNSEEN.sub("", _listed(attachments)))
    return _shortened(name) if visible(name) else _DEFAULT


def _bare(line: str) -> str:
    line = _UNSEEN.sub("", line)
    line = _EMOJI.sub(r"\1", _MENTION.sub("", line))
    return _MARK.sub("", unmarked(_LEAD.sub("", line, count=1)))


def _listed(attachments: Sequence[str]) -> str:
    if len(attachments) <= 2:
        return " and ".join(attachments)
    return f"{attachments[0]} and {len(attachments) - 1} more"


def _shortened(name: str) -> str:
    if units(name) <= _LONGEST:
        return name
    cut = whole(name, fitting(name, _LONGEST - 1))
    word_end = name.rfind(" ", _LONGEST // 2, cut + 1)
    return name[: word_end if word_end > 0 else cut].rstrip(" ,;:-") + "…"
