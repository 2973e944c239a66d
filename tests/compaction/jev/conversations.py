"""Conversations to compact, and askers that answer without a network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaction.jev import Answers, Questions, State
from compaction.messages import Message, ToolResult, ToolUse


def user(text: str) -> Message:
    return Message("user", text)


def call(
    use_id: str, tool: str = "Read", text: str = "", *, mirror: str | None = None, **values: Any
) -> Message:
    return Message("assistant", text, (ToolUse(use_id, tool, values, mirror),))


def result(use_id: str, text: str, *, is_error: bool = False) -> Message:
    return Message("user", "", (), (ToolResult(use_id, text, is_error),))


def work(count: int, chars: int = 2000, *, prompt: str = "Fix the failing test.") -> list[Message]:
    """A prompt, `count` calls with a result of so many characters, and a last word of the user."""
    messages = [user(prompt)]
    for number in range(count):
        messages.append(call(f"u{number}", file_path=f"src/module_{number}.ts"))
        messages.append(result(f"u{number}", "x" * chars))
    return [*messages, user("Go on.")]


def answer(questions: Questions, score: float | Callable[[str], float]) -> Answers:
    """An answer to each question, the same or by its key."""
    return {key: {"noul": score(key) if callable(score) else score} for key in questions}


@dataclass
class Scripted:
    """An asker that answers by key, or fails first as told, and remembers what it was asked."""

    score: float | Callable[[str], float] = 0.0
    failures: list[Exception | None] = field(default_factory=list[Exception | None])
    asked: list[tuple[State, Questions]] = field(default_factory=list[tuple[State, Questions]])

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        self.asked.append((state, questions))
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return answer(questions, self.score)


@dataclass
class Naps:
    """A sleep that takes no time and remembers how long it was asked to take, in milliseconds."""

    ms: list[float] = field(default_factory=list[float])

    async def __call__(self, seconds: float) -> None:
        self.ms.append(round(seconds * 1000, 6))


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if message.text]


def history(state: State) -> list[Mapping[str, Any]]:
    return state["history"]
