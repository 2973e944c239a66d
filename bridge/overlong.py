"""What is done about a session that no longer fits the model's window, in the order of the policy.

Each step asks the prompt in a session that does not know it yet: the one before it stays as it is.
"""

import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from bridge import context, ledger
from bridge.compactor import Wish
from bridge.outcome import Answered, Outcome, is_too_long
from bridge.prompt import Prompt
from bridge.render.measure import clip
from bridge.rewind import NothingBefore
from bridge.session import Session
from bridge.turn import ActiveTurn
from compaction.policy import FALLBACKS, Step
from compaction.session import Refused

log = logging.getLogger(__name__)

Compose = Callable[[], Coroutine[Any, Any, Prompt]]


async def rescue(session: Session, turn: ActiveTurn, compose: Compose, outcome: Outcome) -> Outcome:
    """Make room and ask the same prompt again, until a step helps; the last outcome if none does.

    A turn in which work was done before is left as it is: asked again, it would be done twice.
    """
    if turn.item is None or await session.worked(turn):
        return outcome
    for step in FALLBACKS:
        if not is_too_long(outcome) or turn.stopped_by is not None:
            break
        log.warning("thread %d: the session is too long; next: %s", session.thread, step)
        turn.again()
        try:
            await session.rewind(turn)
            asking = await _STEPS[step](session, turn, compose)
        except NothingBefore:
            return outcome
        except Refused as refused:
            turn.narration.note(f"🗜️ The session was not made smaller: {clip(str(refused), 600)}")
            continue
        except Exception as fault:
            log.exception("thread %d: %s failed", session.thread, step)
            words = clip(f"{type(fault).__name__}: {fault}", 600)
            turn.narration.note(f"🗜️ The session was not made smaller: {words}")
            continue
        turn.refresh()
        outcome = turn.done.result() if turn.over else await session.run(turn, asking)
    return outcome


async def _compaction(session: Session, turn: ActiveTurn, compose: Compose) -> Compose:
    _say(turn, "The conversation no longer fits the model's window: making the session smaller …")
    outcome = await session.compacting.now(Wish())
    turn.narration.note(
        f"🗜️ The conversation no longer fitted the model's window: {context.brief(outcome)}"
    )
    return compose


async def _summary(session: Session, turn: ActiveTurn, compose: Compose) -> Compose:
    """Let the CLI sum up; under an id of its own, so that the prompt's is still unknown there."""
    turn.narration.note("🗜️ It still does not fit: Claude sums the conversation up")
    turn.refresh()
    asked, turn.prompt_id = turn.prompt_id, str(uuid.uuid4())
    try:
        outcome = await session.run(turn, _command)
    finally:
        turn.prompt_id = asked
    if isinstance(outcome, Answered):
        turn.again()
    else:
        turn.end(outcome)
    return compose


async def _seed(session: Session, turn: ActiveTurn, compose: Compose) -> Compose:
    """Start afresh, with the last words of the session in front of the prompt."""
    words = await session.last_words()
    session.change(ledger.started_over, turn)
    turn.narration.note(
        "🗜️ A fresh session takes over: it knows the last words of this conversation only"
    )

    async def seeded() -> Prompt:
        prompt = await compose()
        if isinstance(prompt.content, str):
            return replace(prompt, content="\n\n".join(filter(None, (words, prompt.content))))
        block = {"type": "text", "text": words}
        return replace(prompt, content=[block, *prompt.content] if words else prompt.content)

    return seeded


async def _command() -> Prompt:
    return Prompt("/compact")


def _say(turn: ActiveTurn, text: str) -> None:
    turn.narration.passing(f"🗜️ {text}")
    turn.refresh()


_STEPS: dict[Step, Callable[[Session, ActiveTurn, Compose], Coroutine[Any, Any, Compose]]] = {
    "compaction": _compaction,
    "summary": _summary,
    "seed": _seed,
}
