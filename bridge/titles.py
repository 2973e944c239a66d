"""A better name for a thread, once there is an answer: its first words may have said nothing."""

import re

from bridge.render.names import thread_name

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+)$", re.MULTILINE)
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+).*?(?:^\s{0,3}\1\s*$|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?\u3002])\s+")

_SMALL_WORDS = (
    "a again and are at can check claude continue could do for from go good have hello help hey "
    "hi i in is it let look me morning my now of ok okay on one please question see some "
    "something start test thanks thank that the there these thing this to try us we what with "
    "would yes yo you your here file files attached"
)
_SMALL_TALK = frozenset(_SMALL_WORDS.split())
"""Words that say nothing of what a conversation is about."""

_OPENINGS = ("i'll ", "i will ", "let me ", "sure", "okay", "of course", "hello", "hi ", "hi!")
_SHORTEST = 12
_LONGEST_SENTENCE = 80


def better(name: str, prompt: str, answer: str) -> str | None:
    """A name from the first exchange, where the one that the thread has tells nothing; else None.

    `prompt` and `answer` are Markdown. Only what the person asked for and Claude answered may be
    passed in: words about a failure are no title.
    """
    if _telling(prompt):
        return None
    found = next((title for title in map(thread_name, _offers(answer)) if _telling(title)), None)
    return found if found != name else None


def _telling(text: str) -> bool:
    """Whether a text has a word that could tell two conversations apart."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return any(word not in _SMALL_TALK and len(word) > 1 for word in words)


def _offers(answer: str) -> list[str]:
    """What of an answer may serve as its title, the best first."""
    prose = _FENCE.sub("", answer)
    headings = [found.strip(" #") for found in _HEADING.findall(prose)]
    lines = [line for line in prose.splitlines() if line.strip() and not _HEADING.match(line)]
    sentences = [part for line in lines[:10] for part in _SENTENCE.split(line.strip())]
    fitting = [
        sentence.rstrip(" .:")
        for sentence in sentences
        if _SHORTEST <= len(sentence) <= _LONGEST_SENTENCE
        and not sentence.casefold().startswith(_OPENINGS)
        and not sentence.endswith("?")
    ]
    return [*headings, *fitting]
