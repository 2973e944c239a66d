"""What a fresh session is told of an old one, where nothing else helps: its last words."""

from collections.abc import Iterator

from compaction.estimate import tokens
from compaction.features import spoken
from compaction.messages import Message
from compaction.report import title
from compaction.transcript import Transcript

HEAD = (
    "An earlier conversation grew too long to go on. These are its last words; what came before "
    "them and what the tools gave back is left out, so look again before you rely on it."
)
END = (
    "This is the end of the earlier conversation. Go on from here with what the user says next; "
    "repeat nothing of it."
)
CUT = "[the beginning of this message is left out]\n"
HALVINGS = 32
"""Steps in which the place of a cut is found; enough for any length."""


def recent(transcript: Transcript, budget: int) -> str:
    """The newest words of user and assistant, verbatim, and each call as a line, oldest first.

    It takes at most `budget` estimated tokens. The newest message that does not fit ends it; if
    that is the very last one, its end is kept. Empty where there are no words, or no room for any.
    """
    left = budget - tokens(HEAD) - tokens(END)
    kept: list[str] = []
    for told in _newest_first(transcript.messages):
        if tokens(told) <= left:
            kept.append(told)
            left -= tokens(told)
            continue
        if not kept and (end := _end_of(told, left)):
            kept.append(end)
        break
    return "\n\n".join((HEAD, *reversed(kept), END)) if kept else ""


def _newest_first(messages: tuple[Message, ...]) -> Iterator[str]:
    people = set(spoken(messages))
    failed = {res.tool_use_id for m in messages for res in m.tool_results if res.is_error}
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role == "assistant":
            lines = [f"Assistant: {message.text}"] if message.text.strip() else []
            for use in message.tool_uses:
                outcome = " (failed)" if use.tool_use_id in failed else ""
                lines.append(f"[{use.tool}: {title(use.input)}{outcome}]")
            if lines:
                yield "\n".join(lines)
        elif at in people:
            yield f"User: {message.text}"


def _end_of(told: str, budget: int) -> str:
    """As much of the end as there is room for, marked as an end; empty where there is none."""
    low, high = 0, len(told)
    for _ in range(HALVINGS):
        middle = (low + high + 1) // 2
        if tokens(CUT + told[len(told) - middle :]) <= budget:
            low = middle
        else:
            high = max(middle - 1, low)
    return CUT + told[len(told) - low :] if low else ""
