"""The short text that stands for a result that was cut, and how to know one."""

import re

from compaction.decisions import CLEARED

SLACK_CHARS = 120
"""A result is only cut where that saves more than the note costs."""

_NOTES = re.compile(
    r"\[[^\n\]]*: \d+ chars of this tool result removed(?: \(error\))?; [^\n\]]*\]\Z"
    r"|\n\n\[Tool result trimmed: kept first \d+ chars and last \d+ chars of \d+ chars\.\]\Z"
)
_LONGEST_NOTE = 500


def truncate_result(text: str, *, tool: str, head_chars: int, is_error: bool = False) -> str:
    """The head of a result and a note of what is missing; short results stay as they are."""
    if len(text) <= head_chars + SLACK_CHARS:
        return text
    head = f"{text[:head_chars]}\n" if head_chars else ""
    return head + _note(tool, len(text) - head_chars, is_error)


def saved_chars(chars: int, *, tool: str, head_chars: int, is_error: bool = False) -> int:
    """How many characters shorter `truncate_result` makes a result of so many."""
    if chars <= head_chars + SLACK_CHARS:
        return 0
    removed = chars - head_chars
    return removed - len(_note(tool, removed, is_error)) - bool(head_chars)


def is_stub(text: str) -> bool:
    """Whether a result was cut before, by this package or by the CLI itself."""
    bare = text.strip()
    persisted = bare.startswith("<persisted-output>") and bare.endswith("</persisted-output>")
    return persisted or bare == CLEARED or bool(_NOTES.search(text[-_LONGEST_NOTE:]))


def _note(tool: str, removed: int, is_error: bool) -> str:
    name = re.sub(r"[\s\[\]]+", " ", tool)
    error = " (error)" if is_error else ""
    return (
        f"[{name}: {removed} chars of this tool result removed{error}; "
        "run the tool again if you need them]"
    )
