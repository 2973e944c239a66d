"""The message of a failure: what happened, what to do, and the technical end of it."""

from bridge.render.inline import broken_fences, inline, one_line
from bridge.render.measure import clip, fitting, units
from bridge.render.reply import MESSAGE_LIMIT, clean

_LONGEST_SENTENCE = 400


def trouble(what: str, todo: str, tail: str = "", limit: int = MESSAGE_LIMIT) -> str:
    """One message: both sentences, then as much of the tail's end as `limit` leaves room for."""
    sentences = [_sentence(f"⚠️ **{one_line(what)}**" if what.strip() else "⚠️"), _sentence(todo)]
    head = "\n".join(filter(None, sentences))
    body = broken_fences(clean(tail).strip("\n"))
    room = limit - units(head) - units("\n```\n\n```") - 2
    if not body.strip() or room < 20:
        return head
    return f"{head}\n```\n{_end(body, room)}\n```"


def _sentence(text: str) -> str:
    return inline(clip(one_line(clean(text)), _LONGEST_SENTENCE))


def _end(text: str, room: int) -> str:
    """The end of the text, from a line's start if one is near."""
    if units(text) <= room:
        return text
    kept = text[len(text) - fitting(text[::-1], room - 2) :]
    line = kept.find("\n")
    return "…\n" + kept[line + 1 :] if 0 <= line < len(kept) // 2 else f"…{kept}"
