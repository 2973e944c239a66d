"""How a turn can end, and the words for it that stand below the answer."""

import time
from dataclasses import dataclass
from enum import Enum

from bridge.narration import Narration
from bridge.process import Exit
from bridge.protocol import Result
from bridge.render.footer import footer
from bridge.render.limits import usage_limit
from bridge.render.trouble import trouble

_TOO_LONG = "prompt is too long"
_KEPT = "The session is kept: write again to go on."


class Limit(Enum):
    """A time limit that ended a turn."""

    SILENCE = "silence"
    LENGTH = "length"


@dataclass(frozen=True)
class Answered:
    """The CLI ended the turn itself; `result` says how. None: only the transcript is left of it."""

    result: Result | None


@dataclass(frozen=True)
class Died:
    """The process ended in mid-turn."""

    exit: Exit


@dataclass(frozen=True)
class TimedOut:
    """A time limit was over."""

    limit: Limit
    seconds: float


@dataclass(frozen=True)
class Refused:
    """The turn could not be run: one sentence says what happened, one what to do."""

    what: str
    todo: str
    detail: str = ""


@dataclass(frozen=True)
class Stopped:
    """Somebody stopped it."""

    by: str


@dataclass(frozen=True)
class Cut:
    """Its end was lost with the machine or the CLI; the transcript tells how far it came."""


Outcome = Answered | Died | TimedOut | Refused | Stopped | Cut


def session_is_gone(outcome: Outcome) -> bool:
    """The CLI says that the session to resume does not exist."""
    if isinstance(outcome, Answered) and outcome.result:
        return outcome.result.unknown_session
    return isinstance(outcome, Died) and "No conversation found" in outcome.exit.stderr


def is_too_long(outcome: Outcome) -> bool:
    """The session does not fit the model's window any more."""
    result = outcome.result if isinstance(outcome, Answered) else None
    return result is not None and _TOO_LONG in result.trouble.lower()


def tail(outcome: Outcome, narration: Narration, seconds: float, cost: float | None) -> str:
    """The footer of a good answer, or what went wrong and what to do about it."""
    match outcome:
        case Answered(Result(is_error=True) as result) if not result.interrupted:
            return _failure(result)
        case Answered(result):
            return _footer(narration, result, seconds, cost)
        case Stopped(by):
            return _footer(narration, None, seconds, cost, note=f"⏹️ stopped by {by}")
        case Died(ended):
            return trouble(f"Claude Code ended in mid-turn: {ended.reason}.", _KEPT, ended.stderr)
        case TimedOut(Limit.SILENCE, limit):
            what = f"Claude Code gave no sign of life for {_span(limit)} and was stopped."
            return trouble(what, f"{_KEPT} The limit is BRIDGE_SILENCE_TIMEOUT.")
        case TimedOut(_, limit):
            what = f"The turn took longer than {_span(limit)} and was stopped."
            return trouble(what, f"{_KEPT} The limit is BRIDGE_TURN_TIMEOUT.")
        case Refused(what, todo, detail):
            return trouble(what, todo, detail)
        case Cut():
            what = "Claude Code was stopped in the middle of this turn while the bot was away."
            return trouble(what, _KEPT)


def _footer(
    narration: Narration, result: Result | None, seconds: float, cost: float | None, note: str = ""
) -> str:
    return footer(
        seconds=seconds,
        context_tokens=narration.usage.context_tokens if narration.usage else None,
        context_window=result.context_window if result else None,
        cost_usd=cost,
        note=" · ".join(filter(None, (note, narration.aside))),
    )


def _failure(result: Result) -> str:
    """The model's side failed: which fault it is decides what the person can do."""
    words = result.trouble or result.terminal_reason or result.subtype
    limit = usage_limit(words, now=time.time())
    if limit is not None:
        return trouble(limit.text, "Your message was not answered: send it again then.")
    lower = words.lower()
    if "not logged in" in lower or "/login" in lower or result.api_error_status == 401:
        return trouble(
            "Claude Code is not logged in on this machine.",
            "The operator runs `claude` there once and logs in (or sets ANTHROPIC_API_KEY); "
            "then send the message again.",
            words,
        )
    if _TOO_LONG in lower:
        return trouble(
            "The conversation no longer fits the model's window.",
            "`/compact` makes it smaller, `/new` starts a clean one; then say how to go on.",
            words,
        )
    if "image" in lower and result.api_error_status == 400:
        return trouble(
            "The model refuses an image of this conversation.",
            "`/new` starts a session without it.",
            words,
        )
    if "tool_use" in lower and "tool_result" in lower:
        return trouble(
            "The session's history is damaged: a call of a tool has no result.",
            "`/new fork:True` branches off what is intact, `/new` starts clean.",
            words,
        )
    return trouble("The turn failed.", _KEPT, words)


def _span(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} seconds"
