"""What a person said to a request: the answer that the CLI gets, and the word for the people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.interact.grant import grant_of
from bridge.protocol import PermissionRequest, allow, deny
from bridge.protocol.questions import PLAN, Asked, answered
from bridge.render.inline import escaped
from bridge.render.measure import clip
from bridge.render.reply import clean

WORD_LIMIT = 600
"""Characters of the word for the people, at most."""

_ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


@dataclass(frozen=True)
class Verdict:
    """`answer` is for the CLI."""

    answer: dict[str, Any]
    word: str


def allowed(request: PermissionRequest, by: str) -> Verdict:
    """This call may run."""
    return Verdict(allow(request.input), f"✅ allowed by {escaped(by)}")


def allowed_for_session(request: PermissionRequest, by: str) -> Verdict:
    """This call may run, and what the CLI suggests with it, until the session's process ends."""
    grant = grant_of(request)
    if grant is None:
        return allowed(request, by)
    answer = {**allow(request.input), "updatedPermissions": list(grant.updates)}
    return Verdict(answer, clip(f"✅ allowed for this session by {escaped(by)}", WORD_LIMIT))


def denied(by: str, reason: str = "") -> Verdict:
    """This call may not run; Claude is told the reason."""
    if not reason:
        return Verdict(deny("The person denied this."), f"🚫 denied by {escaped(by)}")
    word = clip(f"🚫 denied by {escaped(by)}: {escaped(clean(reason))}", WORD_LIMIT)
    return Verdict(deny(f"The person denied this: {reason}"), word)


def approved(request: PermissionRequest, by: str, *, edits: bool = False) -> Verdict:
    """The plan is to be carried out; with `edits`, files may be edited without asking."""
    answer = allow(request.input)
    if edits:
        answer["updatedPermissions"] = [_ACCEPT_EDITS]
    mode = ", edits are accepted from now on" if edits else ""
    return Verdict(answer, f"✅ plan approved by {escaped(by)}{mode}")


def kept_planning(by: str, comment: str = "") -> Verdict:
    """The plan is not good yet."""
    message = "The person wants you to keep planning and does not approve this plan yet."
    said = f": {escaped(clean(comment))}" if comment else ""
    if comment:
        message += f" Their comment: {comment}"
    return Verdict(deny(message), clip(f"✏️ {escaped(by)} asks to keep planning{said}", WORD_LIMIT))


def unanswered(by: str) -> Verdict:
    """The person does not want to be asked this."""
    message = "The person does not want to answer this. Go on without it, or ask differently."
    return Verdict(deny(message), f"🚫 not answered by {escaped(by)}")


def replied(
    request: PermissionRequest, questions: tuple[Asked, ...], answers: Mapping[int, str], by: str
) -> Verdict:
    """All questions have an answer; `answers` maps the index of each to what was said."""
    said = {asked.question: answers[index] for index, asked in enumerate(questions)}
    shown = " · ".join(escaped(clean(answer)) for answer in said.values())
    word = clip(f"✅ answered by {escaped(by)}: {shown}", WORD_LIMIT)
    return Verdict(answered(request, said), word)


def mode_after(request: PermissionRequest, answer: Mapping[str, Any]) -> str | None:
    """The mode in which the session goes on after a plan was approved; None if it was not."""
    if request.tool_name != PLAN or answer["behavior"] != "allow":
        return None
    return "acceptEdits" if "updatedPermissions" in answer else "default"
