"""The strategies and the scorer over plain dictionaries, as a benchmark calls them."""

from collections.abc import Mapping, Sequence
from typing import Any

from compaction import relevance, strategies
from compaction.decisions import Strategy, apply
from compaction.messages import from_json, to_json

Messages = Sequence[Mapping[str, Any]]


def conservative(messages: Messages) -> list[dict[str, Any]]:
    """Leaves out what is repeated or stale."""
    return _compact(messages, strategies.CONSERVATIVE)


def balanced(messages: Messages) -> list[dict[str, Any]]:
    """Leaves out what is most likely not needed."""
    return _compact(messages, strategies.BALANCED)


def aggressive(messages: Messages) -> list[dict[str, Any]]:
    """Keeps what is most likely needed."""
    return _compact(messages, strategies.AGGRESSIVE)


def scores(messages: Messages) -> dict[str, float]:
    """For each paired call how much its result is still needed."""
    return relevance.score([from_json(message) for message in messages])


def _compact(messages: Messages, strategy: Strategy) -> list[dict[str, Any]]:
    parsed = [from_json(message) for message in messages]
    return [to_json(message) for message in apply(parsed, strategy(parsed))]
