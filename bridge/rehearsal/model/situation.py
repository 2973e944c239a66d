"""Where a conversation stands: the person's own words, and how far their answer has come."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bridge.rehearsal.model.wire import ContentBlock, Message, MessagesRequest

_ADDED_BY_THE_CLI = (
    "<system-reminder>",
    "<local-command",
    "<command-name>",
    "<command-message>",
    "<task-notification>",
    "[Request interrupted by user",
    "Caveat: The messages below",
    "Continue from where you left off.",
    "This session is being continued from a previous conversation",
)

_PLAN_FILE = re.compile(r"/\S+/plans/[\w-]+\.md\b")


@dataclass(frozen=True)
class Situation:
    """What a script may look at."""

    prompts: tuple[str, ...]
    step: int = 0
    """How many messages the model has sent since the last prompt."""
    results: tuple[str, ...] = ()
    """The texts of the tool results that this request brings, in the order of their calls."""
    failed: int = 0
    """How often this very request was answered with an error before."""
    plan_file: str = ""
    """Where the CLI wants the plan to be written, if it plans."""

    @property
    def prompt(self) -> str:
        return self.prompts[-1] if self.prompts else ""

    @property
    def earlier(self) -> tuple[str, ...]:
        return self.prompts[:-1]

    @property
    def after_tool(self) -> bool:
        return bool(self.results)


def read(request: MessagesRequest, failed: int = 0) -> Situation:
    """Find out where the conversation of a request stands."""
    prompts: list[str] = []
    step = 0
    calls: list[str | None] = []
    results: dict[str | None, str] = {}
    spoken = [message for message in request.messages if message.role != "system"]
    for before, message in pairwise((None, *spoken)):
        if message is None:
            continue
        if message.role == "assistant":
            # Neighbours of the same role are one message to the API.
            if before is None or before.role != "assistant":
                step, calls, results = step + 1, [], {}
            calls += [block.id for block in message.blocks if block.type == "tool_use"]
            continue
        results |= {b.tool_use_id: _text(b) for b in message.blocks if b.type == "tool_result"}
        if own := own_words(message):
            prompts += own
            step, results = 0, {}
    in_order = tuple(results[call] for call in calls if call in results)
    return Situation(tuple(prompts), step, in_order, failed, _plan_file(request))


def _plan_file(request: MessagesRequest) -> str:
    """The file that the CLI's newest reminder names for the plan."""
    texts = (
        text
        for message in request.messages
        for block in message.blocks
        for text in (block.text or "", _text(block))
    )
    found = [path for text in texts for path in _PLAN_FILE.findall(text)]
    return found[-1] if found else ""


def own_words(message: Message) -> list[str]:
    """The texts of a message that a person wrote."""
    texts = (block.text or "" for block in message.blocks if block.type == "text")
    # Where the CLI joins messages it ends each with a newline of its own.
    words = (text.strip() for text in texts)
    return [text for text in words if text and not text.startswith(_ADDED_BY_THE_CLI)]


def _text(result: ContentBlock) -> str:
    if isinstance(result.content, Sequence):
        parts = [result.content] if isinstance(result.content, str) else map(_part, result.content)
        return "\n".join(parts)
    return ""


def _part(block: ContentBlock) -> str:
    return block.text or "" if block.type == "text" else f"[{block.type}]"
