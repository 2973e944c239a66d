"""One turn, however many attempts it takes: a process that dies, a session that is gone or full."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from bridge import ledger
from bridge.outcome import Died, Outcome, is_too_long, session_is_gone
from bridge.overlong import rescue
from bridge.prompt import Prompt
from bridge.session import Session
from bridge.turn import ActiveTurn

log = logging.getLogger(__name__)

Compose = Callable[[], Coroutine[Any, Any, Prompt]]


async def answer(session: Session, turn: ActiveTurn, compose: Compose) -> Outcome:
    """Give the prompt to a process and wait for the end of the turn; try again where that helps."""
    if not turn.sent and (refused := session.spent()) is not None:
        return refused
    outcome = await session.run(turn, compose)
    if isinstance(outcome, Died) and await session.untouched(turn):
        log.warning(
            "thread %d: its process was dying already, another one is asked", session.thread
        )
        turn.again()
        outcome = await session.run(turn, compose)
    if session_is_gone(outcome):
        log.warning("thread %d: its session is gone, a fresh one starts", session.thread)
        session.change(ledger.without_session, turn)
        turn.narration.note(
            "⚠️ The earlier session is not on this machine any more: "
            "Claude starts afresh and does not know what was said before"
        )
        turn.again()
        outcome = await session.run(turn, compose)
    if is_too_long(outcome):
        outcome = await rescue(session, turn, compose, outcome)
    if isinstance(outcome, Died):
        outcome = turn.died(outcome.exit)  # somebody may have stopped it meanwhile
    return outcome
