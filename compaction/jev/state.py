"""What the scorer is shown: the whole conversation without its results, made to fit.

The conversation is shortened in eight stages, each of them as little as possible: after every
single edit the size is taken again, and the first view that fits is the one. Nothing here touches
the messages themselves.
"""

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaction.estimate import tokens
from compaction.jev.calls import ToolCall, is_pinned
from compaction.jev.errors import TooLargeError
from compaction.jev.options import Options
from compaction.jev.redact import mask_text, mask_value
from compaction.jev.wire import State, compact_json
from compaction.messages import Message, Role, ToolUse

CONTEXT = (
    "A coding assistant's conversation, oldest message first. Tool outputs are left out; a note "
    "gives their outcome and size. Judge which past tool calls and outputs the assistant still "
    "needs to reach the goal."
)

INPUT_CHARS = (1000, 200, 60)
TEXT_HEAD, TEXT_TAIL, TEXT_SLACK = 400, 150, 40
ARGUMENT_CHARS, ARGUMENTS_CHARS = 200, 60
GOAL_PROMPTS, GOAL_CHARS = 3, 500


@dataclass(frozen=True, slots=True)
class FittedState:
    """A state within its limit, how it was made to fit, and the ids of the calls that it shows."""

    state: State
    tokens: int
    stage: str
    shown: frozenset[str]


def truncate(text: str, limit: int) -> str:
    """The text itself, or its beginning and an ellipsis, `limit` characters in all."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def default_goal(messages: Sequence[Message]) -> str:
    """The last three prompts of the user."""
    prompts = [
        truncate(message.text, GOAL_CHARS)
        for message in messages
        if message.role == "user" and message.text.strip() and not message.tool_results
    ]
    return "\n".join(prompts[-GOAL_PROMPTS:])


def fit_state(
    messages: Sequence[Message],
    calls: Sequence[ToolCall],
    options: Options | None = None,
    *,
    max_tokens: int | None = None,
) -> FittedState:
    """The fullest state of at most `max_tokens` (as a rule `max_state_tokens`) estimated tokens.

    Raises `TooLargeError` where even the barest one is larger.
    """
    options = options or Options()
    limit = options.max_state_tokens if max_tokens is None else max_tokens
    view = _View(messages, calls, options)
    for stage, edits in _stages(view, limit, options):
        for _ in edits:
            if view.tokens <= limit:
                return FittedState(view.state(), view.tokens, stage, view.shown())
    raise TooLargeError(f"history too large: about {view.tokens} tokens, {limit} allowed")


Stage = tuple[str, Iterator[None]]


def _stages(view: "_View", limit: int, options: Options) -> Iterator[Stage]:
    yield "full", view.cut_inputs(INPUT_CHARS[0])
    for chars in INPUT_CHARS[1:]:
        yield f"inputs<={chars}", view.cut_inputs(chars)
    yield "texts abridged", view.abridge_texts()
    yield "old messages collapsed", view.each_old(_collapse)
    yield "old calls compacted", view.each_old(_to_lines)
    yield "old messages left out", view.each_old(_leave_out)
    yield "old calls merged", view.merge()
    if options.beyond.overflow == "leave_out":
        yield "old calls left out", view.leave_out_calls(limit)


@dataclass(slots=True)
class _Call:
    """A call as it is shown."""

    id: str
    tool: str
    input: str
    arguments: str
    note: str
    line_note: str

    def structured(self, input_chars: int) -> dict[str, str]:
        shown = truncate(self.input, input_chars)
        return {"id": self.id, "tool": self.tool, "input": shown, "result": self.note}

    def line(self) -> str:
        words = (self.id, self.tool, self.arguments, "→", self.line_note)
        return " ".join(word for word in words if word)


@dataclass(slots=True)
class _Entry:
    """A message as it is shown; `as_lines` tells its calls' form, `pending` the calls without one
    of a result, which no stage may hide."""

    index: int
    role: Role
    text: str
    chars: int
    pinned: bool
    calls: list[_Call]
    pending: list[tuple[str, str]]
    input_chars: int = INPUT_CHARS[0]
    as_lines: bool = False
    gone: bool = False

    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"i": self.index, "role": self.role, "text": self.text}
        if self.calls:
            data["tool_calls"] = [
                call.line() if self.as_lines else call.structured(self.input_chars)
                for call in self.calls
            ]
        if self.pending:
            data["pending_calls"] = [
                {"tool": tool, "input": truncate(text, self.input_chars)}
                for tool, text in self.pending
            ]
        return data

    def tokens(self) -> int:
        return 0 if self.gone else tokens(compact_json(self.data())) + 1

    def can_merge(self) -> bool:
        return self.as_lines and not (self.pinned or self.text or self.pending or self.gone)


@dataclass(slots=True)
class _View:
    """The entries and their sizes; every method that edits yields after each edit."""

    messages: Sequence[Message]
    all_calls: Sequence[ToolCall]
    options: Options
    head: dict[str, str] = field(init=False)
    entries: list[_Entry] = field(init=False)
    sizes: list[int] = field(init=False)
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self.head = {"context": CONTEXT, "goal": self._goal()}
        self.entries = list(self._entries())
        self._measure()

    def state(self) -> State:
        return {**self.head, "history": [e.data() for e in self.entries if not e.gone]}

    def shown(self) -> frozenset[str]:
        return frozenset(call.id for e in self.entries if not e.gone for call in e.calls)

    def cut_inputs(self, chars: int) -> Iterator[None]:
        for entry in self.entries:
            entry.input_chars = chars
        self._measure()
        yield

    def abridge_texts(self) -> Iterator[None]:
        for pinned in (False, True):
            yield from self._edit(_abridge, lambda entry, p=pinned: entry.pinned == p)

    def each_old(self, edit: Callable[[_Entry], bool]) -> Iterator[None]:
        return self._edit(edit, lambda entry: not entry.pinned)

    def merge(self) -> Iterator[None]:
        merged: list[_Entry] = []
        for entry in (e for e in self.entries if not e.gone):
            last = merged[-1] if merged else None
            if last and last.can_merge() and entry.can_merge() and last.role == entry.role:
                last.calls = [*last.calls, *entry.calls]
            else:
                merged.append(entry)
        self.entries = merged
        self._measure()
        yield

    def leave_out_calls(self, limit: int) -> Iterator[None]:
        """Takes the oldest calls away, as few as will do; one edit, its extent found by halving."""
        old = [e for e in self.entries if not e.pinned and not e.gone]
        whole = [list(e.calls) for e in old]

        def without(count: int) -> int:
            for entry, calls in zip(old, whole, strict=True):
                entry.calls = calls[min(count, len(calls)) :]
                entry.gone = not (entry.calls or entry.pending)
                count = max(0, count - len(calls))
            self._measure()
            return self.tokens

        count = sum(map(len, whole))
        enough = bisect.bisect_left(range(count), True, key=lambda n: without(n) <= limit)
        without(enough)
        yield

    def _edit(
        self, edit: Callable[[_Entry], bool], which: Callable[[_Entry], bool]
    ) -> Iterator[None]:
        for position, entry in enumerate(self.entries):
            if not entry.gone and which(entry) and edit(entry):
                size = entry.tokens()
                self.tokens += size - self.sizes[position]
                self.sizes[position] = size
                yield

    def _measure(self) -> None:
        self.sizes = [entry.tokens() for entry in self.entries]
        self.tokens = tokens(compact_json({**self.head, "history": []})) + sum(self.sizes)

    def _goal(self) -> str:
        goal = self.options.goal if self.options.goal.strip() else default_goal(self.messages)
        if self.options.instructions.strip():
            goal = f"{goal}\n{self.options.instructions.strip()}".lstrip("\n")
        return self._masked(goal)

    def _masked(self, text: str) -> str:
        return mask_text(text) if self.options.mask_credentials else text

    def _entries(self) -> Iterator[_Entry]:
        recent, total = self.options.preserve_recent_messages, len(self.messages)
        by_use = {call.tool_use_id: call for call in self.all_calls}
        for index, message in enumerate(self.messages):
            paired = [by_use[u.tool_use_id] for u in message.tool_uses if u.tool_use_id in by_use]
            pending = [u for u in message.tool_uses if u.tool_use_id not in by_use]
            if message.text.strip() or paired or pending:
                yield _Entry(
                    index=index,
                    role=message.role,
                    text=self._masked(message.text),
                    chars=len(message.text),
                    pinned=is_pinned(index, total, recent),
                    calls=[self._call(call) for call in paired],
                    pending=[(use.tool, _json(self._values(use))) for use in pending],
                )

    def _call(self, call: ToolCall) -> _Call:
        values = self._values(call)
        outcome = "error" if call.is_error else "ok"
        return _Call(
            id=call.id,
            tool=call.tool,
            input=_json(values),
            arguments=_arguments(values),
            note=f"{outcome}, {call.result_chars} chars (omitted)",
            line_note=f"{outcome} {call.result_chars}ch",
        )

    def _values(self, call: ToolCall | ToolUse) -> Mapping[str, Any]:
        return mask_value(call.input) if self.options.mask_credentials else call.input


def _abridge(entry: _Entry) -> bool:
    text = entry.text
    left_out = len(text) - TEXT_HEAD - TEXT_TAIL
    if left_out <= TEXT_SLACK:
        return False
    entry.text = f"{text[:TEXT_HEAD]}\n{_omitted(left_out)}\n{text[-TEXT_TAIL:]}"
    return True


def _collapse(entry: _Entry) -> bool:
    if not entry.text:
        return False
    entry.text = _omitted(entry.chars)
    return True


def _to_lines(entry: _Entry) -> bool:
    entry.as_lines = bool(entry.calls)
    return entry.as_lines


def _leave_out(entry: _Entry) -> bool:
    entry.gone = not entry.calls and not entry.pending
    return entry.gone


def _omitted(chars: int) -> str:
    return f"[… {chars} chars omitted …]"


def _arguments(values: Mapping[str, Any]) -> str:
    parts = (
        f"{key}={value}"
        if isinstance(value, str)
        else truncate(_json({key: value}), ARGUMENT_CHARS)
        for key, value in values.items()
    )
    return truncate(" ".join(" ".join(parts).split()), ARGUMENTS_CHARS)


def _json(value: Mapping[str, Any]) -> str:
    try:
        return compact_json(value)
    except (TypeError, ValueError, RecursionError):
        return '"not serialisable"'
