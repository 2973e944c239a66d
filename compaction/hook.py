"""What the Claude Code plugin asks: messages in on stdin, shorter ones out on stdout, as JSON.

In:  `{messages, instructions?, options?}`, messages as in `compaction.messages`, others ignored.
Out: `{verdict, messages, reason, stats?, log}`. `messages` holds the number of each message that
stays as it was (so that the host can put its own object there) and the whole of each one that
changed; null means that the host should do what it does without us. `verdict` is `shortened`,
`little` (nearly all that is there is needed; getting smaller takes a summary) or `failed`, `reason`
the same in one line for a person. `log` tells what became of each call, in lines below 4,096
characters. A broken question ends with status 2 and one line on stderr.
"""

import asyncio
import json
import math
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from compaction import jev, strategies
from compaction.decisions import Decision, apply
from compaction.estimate import message_tokens
from compaction.jev.account import LOG_LINE_CHARS
from compaction.jev.wire import BASE_URL, KEY_VARIABLE, MODEL, JevAsker
from compaction.messages import Message, from_json, to_json

BY_LINE = MappingProxyType(
    {
        "conservative": strategies.CONSERVATIVE,
        "balanced": strategies.BALANCED,
        "aggressive": strategies.AGGRESSIVE,
    }
)

Verdict = Literal["shortened", "little", "failed"]


class _Border(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True
    )


class Options(_Border):
    """The plugin's options; what is left blank has its default."""

    strategy: Literal["conservative", "balanced", "aggressive", "jev"] = "balanced"
    min_reduction_ratio: float = Field(default=0.25, ge=0, le=1)
    """The share of all characters that must go, or else nothing is done."""
    preserve_recent_messages: float = 6
    keep_threshold: float | None = Field(default=None, ge=0, le=1)
    """One threshold for Jev's scores of calls and results; None = one of its own for each."""
    max_state_tokens: float = 25_000
    max_request_tokens: float = 30_000
    truncate_head_chars: float = 300
    retries: float = 2
    retry_delay_ms: float = 500
    on_batch_failure: Literal["throw", "keep"] = "throw"
    api_key: str | None = Field(default=None, repr=False)
    """None = the value of the environment variable `api_key_env`."""
    api_key_env: str = KEY_VARIABLE
    base_url: str = BASE_URL
    model: str = MODEL

    @model_validator(mode="before")
    @classmethod
    def _blanks_are_defaults(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        given = cast("Mapping[str, Any]", data)
        return {key: value for key, value in given.items() if not _is_blank(value)}

    def of_jev(self, instructions: str) -> jev.Options:
        """The same for Jev, who either way gives up rather than removing everything."""
        strategy = "thresholds" if self.keep_threshold is None else "needed"
        options = jev.options_for(
            strategy,
            instructions=instructions,
            preserve_recent_messages=self.preserve_recent_messages,
            max_state_tokens=self.max_state_tokens,
            max_request_tokens=self.max_request_tokens,
            truncate_head_chars=self.truncate_head_chars,
            retries=self.retries,
            retry_delay_ms=self.retry_delay_ms,
            on_batch_failure=self.on_batch_failure,
        )
        if self.keep_threshold is None:
            return options
        return replace(
            options,
            keep_threshold=self.keep_threshold,
            beyond=replace(options.beyond, guard="throw"),
        )


class Question(_Border):
    """What the plugin sends."""

    messages: list[dict[str, Any]]
    instructions: str | None = None
    options: Options = Options()


@dataclass(frozen=True, slots=True)
class Stats:
    """The sizes before and after; tokens are estimates."""

    messages_before: int
    messages_after: int
    chars_before: int
    chars_after: int
    tokens_before: int
    tokens_after: int

    @property
    def reduction(self) -> float:
        """The share of the characters that went."""
        before = self.chars_before
        return (before - self.chars_after) / before if before else 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the plugin gets back; `messages` is None where the host should go its own way."""

    verdict: Verdict
    messages: list[int | dict[str, Any]] | None
    reason: str
    log: list[str]
    stats: Stats | None = None


@dataclass(frozen=True, slots=True)
class _Shortened:
    messages: Sequence[Message]
    summary: str
    log: list[str]


def answer(question: Question, asker: JevAsker | None = None) -> Answer:
    """Shortens the messages, or says why they stay; `asker` stands in for Jev over HTTP.

    Raises `ValueError` where a message has no shape that can be judged.
    """
    messages = [from_json(message) for message in question.messages]
    try:
        shortened = _shorten(messages, question, asker)
    except jev.JevError as error:
        return Answer("failed", None, f"{_kind(error)}: {error}", [])
    stats = _stats(messages, shortened.messages)
    least = question.options.min_reduction_ratio
    if shortened.messages == messages:
        return Answer("little", None, "there is nothing to remove", shortened.log, stats)
    if stats.reduction < least:
        reason = f"only {stats.reduction:.0%} could be removed, less than {least:.0%}"
        return Answer("little", None, reason, shortened.log, stats)
    named = _named(messages, shortened.messages)
    return Answer("shortened", named, shortened.summary, shortened.log, stats)


def main() -> int:
    """Answers one question; the status is 2 for a question that cannot be understood."""
    try:
        question = Question.model_validate(json.loads(sys.stdin.buffer.read()))
        found = answer(question)
    except ValueError as error:
        sys.stderr.write(f"the question cannot be understood: {_first_line(error)}\n")
        return 2
    # In ASCII: half of a surrogate pair, where a host cut a text, has no other encoding.
    json.dump(_wire(found), sys.stdout)
    return 0


def _shorten(messages: list[Message], question: Question, asker: JevAsker | None) -> _Shortened:
    options = question.options
    by_line = BY_LINE.get(options.strategy)
    if by_line is not None:
        preserve = max(0, math.floor(options.preserve_recent_messages))
        decisions = replace(by_line, preserve=preserve)(messages)
        after = apply(messages, decisions)
        return _Shortened(after, _summary(messages, after, decisions), _log(messages, decisions))
    result = asyncio.run(_by_jev(messages, question, asker))
    return _Shortened(result.messages, jev.summary(result), jev.decision_log(result.decisions))


async def _by_jev(
    messages: list[Message], question: Question, asker: JevAsker | None
) -> jev.CompactResult:
    options = question.options
    settings = options.of_jev(question.instructions or "")
    if asker is not None:
        return await jev.compact(messages, asker, settings)
    async with jev.JevClient(
        api_key=options.api_key,
        model=options.model,
        base_url=options.base_url,
        key_variable=options.api_key_env,
    ) as client:
        return await jev.compact(messages, client, settings)


def _named(before: Sequence[Message], after: Sequence[Message]) -> list[int | dict[str, Any]]:
    """The messages after, those that were before by their number."""
    numbers = {id(message): number for number, message in enumerate(before)}
    return [
        numbers[id(message)] if id(message) in numbers else to_json(message) for message in after
    ]


def _stats(before: Sequence[Message], after: Sequence[Message]) -> Stats:
    return Stats(
        messages_before=len(before),
        messages_after=len(after),
        chars_before=sum(map(jev.message_chars, before)),
        chars_after=sum(map(jev.message_chars, after)),
        tokens_before=sum(map(message_tokens, before)),
        tokens_after=sum(map(message_tokens, after)),
    )


def _summary(
    before: Sequence[Message], after: Sequence[Message], decisions: Mapping[str, Decision]
) -> str:
    stats = _stats(before, after)
    results = sum(decision.text is not None for decision in decisions.values())
    inputs = sum(decision.action == "trim_input" for decision in decisions.values())
    return (
        f"kept {len(after)}/{len(before)} messages, -{stats.reduction:.0%} "
        f"({results} results and {inputs} inputs shortened, "
        f"about {stats.tokens_before:,} tokens to {stats.tokens_after:,}; nothing was sent)"
    )


def _log(messages: Sequence[Message], decisions: Mapping[str, Decision]) -> list[str]:
    """Every decision as `<id>:<tool>:<action>/<reason>`, in lines that are numbered if several."""
    tools = {use.tool_use_id: use.tool for message in messages for use in message.tool_uses}
    words = " ".join(
        f"{key}:{tools.get(key, '?')}:{decision.action}/{decision.reason}"
        for key, decision in decisions.items()
    )
    width = LOG_LINE_CHARS - len("(1000/1000) ") - 1
    lines = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2:
        return lines
    return [f"({number}/{len(lines)}) {line}" for number, line in enumerate(lines, 1)]


def _wire(found: Answer) -> dict[str, Any]:
    data: dict[str, Any] = {
        "verdict": found.verdict,
        "messages": found.messages,
        "reason": found.reason,
        "log": found.log,
    }
    if found.stats is not None:
        sizes = {to_camel(name): value for name, value in asdict(found.stats).items()}
        data["stats"] = {**sizes, "reduction": round(found.stats.reduction, 4)}
    return data


def _kind(error: jev.JevError) -> str:
    match error:
        case jev.KeptNothingError():
            return "the scores would keep nothing"
        case jev.SetupError():
            return "Jev cannot be asked"
        case jev.HistoryError() | jev.TooLargeError():
            return "the conversation cannot be judged"
        case _:
            return "Jev did not answer"


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        return f"{where}: {first['msg']}"
    return (str(error).splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    sys.exit(main())
