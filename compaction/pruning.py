"""OpenClaw's session pruning: old tool results get shorter, and then go, as the window fills.

It works on plain dictionaries of its content model, a message with a `role` (`user`, `assistant`,
`toolResult`) and `content`: a string, or blocks of a `type` (`text`, `image`, `video`, `thinking`,
`redacted_thinking`, `toolCall`). A result names its `toolCallId` and `toolName`. Blocks that are
none of these are carried along. `decide` is the same for the messages of this package.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from compaction import utf16
from compaction.decisions import Decision
from compaction.jev.stubs import is_stub
from compaction.messages import Message, ToolResult
from compaction.pruning_settings import PruningSettings, SoftTrim

Json = Mapping[str, Any]
Given = TypeVar("Given", bound=Sequence[Json])
MayPrune = Callable[[int], bool]
"""Whether the message at a place may be pruned."""

CHARS_PER_TOKEN = 4
IMAGE_CHARS = 8000
"""What an image weighs in the estimate."""
UNKNOWN_CHARS = 256
"""What a message of an unknown role weighs."""
UNREADABLE_CHARS = 128
"""What arguments weigh that are no JSON."""

IMAGE_REMOVED = "[image removed during context pruning]"
VIDEO_REMOVED = "[video removed during context pruning]"
_MEDIA = {"image": IMAGE_REMOVED, "video": VIDEO_REMOVED}
_THINKING = ("thinking", "redacted_thinking")


def prune_context(
    messages: Given,
    settings: PruningSettings | None,
    *,
    window: float | None,
    last_touch: float | None,
    now: float,
    drop_thinking: bool = False,
    sticky: Mapping[str, str] | None = None,
) -> Given | list[Json]:
    """The messages for the next request: the same object where nothing changes.

    `window` is in tokens; `last_touch` (the last request, None = there was none) and `now` are in
    seconds. `drop_thinking` leaves the thinking of all answers but the last out of the estimate,
    for providers that do so. `sticky` are former `replacements`: they are repeated whatever the
    clock says, even with pruning off, and what is replaced already is not decided about again.
    """
    replayed = _replay(messages, sticky or {})
    if settings is None or not settings.expired(last_touch, now):
        return replayed
    keys = _keys(replayed)
    return prune(
        replayed,
        settings,
        window=window,
        drop_thinking=drop_thinking,
        may_prune=lambda at: keys[at] not in (sticky or {}),
    )


def replacements(before: Sequence[Json], after: Sequence[Json]) -> dict[str, str]:
    """What stands now for each result that pruning has changed, to be kept as `sticky`."""
    return {
        key: after_one["content"][0]["text"]
        for key, before_one, after_one in zip(_keys(before), before, after, strict=True)
        if key is not None and after_one is not before_one
    }


def prune(
    messages: Given,
    settings: PruningSettings,
    *,
    window: float | None,
    drop_thinking: bool = False,
    may_prune: MayPrune = lambda at: True,
) -> Given | list[Json]:
    """`prune_context` without its clock; `may_prune` spares results beyond the settings."""
    places = _prunable(messages, settings, may_prune)
    if not window or not window > 0 or places is None:
        return messages
    room = window * CHARS_PER_TOKEN
    total = sum(map(chars, without_thinking(messages) if drop_thinking else messages))
    if total / room < settings.soft_trim_ratio:
        return messages
    out = list(messages)
    for at in places:
        out[at] = soft_trimmed(messages[at], settings.soft_trim)
        total += chars(out[at]) - chars(messages[at])
    if settings.hard_clear.enabled and (
        sum(chars(out[at]) for at in places) >= settings.min_prunable_tool_chars
    ):
        for at in places:
            if total / room < settings.hard_clear_ratio:
                break
            cleared = _with_text(out[at], settings.hard_clear.placeholder)
            total += chars(cleared) - chars(out[at])
            out[at] = cleared
    unchanged = all(a is b for a, b in zip(out, messages, strict=True))
    return messages if unchanged else out


def decide(
    messages: Sequence[Message],
    settings: PruningSettings,
    *,
    window: float,
    keep_errors: bool = True,
) -> dict[str, Decision]:
    """The decisions of the same rules about our own messages, without the clock.

    Results that are stubs already are left, and so is what would not get shorter: a second run
    changes nothing. With `settings` and `window` bound it is a `compaction.decisions.Strategy`.
    """
    tools = {use.tool_use_id: use.tool for message in messages for use in message.tool_uses}
    before = [part for message in messages for part in _parts(message, tools)]

    def may_prune(at: int) -> bool:
        message = before[at]
        text = _joined(message)
        stub = is_stub(text) or text == settings.hard_clear.placeholder
        return bool(message["toolName"]) and not stub and not (keep_errors and message["isError"])

    after = prune(before, settings, window=window, may_prune=may_prune)
    decisions: dict[str, Decision] = {}
    for old, new in zip(before, after, strict=True):
        text = _joined(new)
        if old is new or not (chars(new) < chars(old)):
            continue
        name = old["toolCallId"]
        if text == settings.hard_clear.placeholder:
            decisions[name] = Decision(
                name, "stub", "old, cleared to get below the hard limit", text
            )
        else:
            decisions[name] = Decision(name, "trim", "old and long: head and tail stay", text)
    return decisions


# --- what may be pruned ---------------------------------------------------------------------------
def _prunable(
    messages: Sequence[Json], settings: PruningSettings, may_prune: MayPrune
) -> list[int] | None:
    """Where the prunable results stand; None where there are too few answers to protect."""
    roles = [message.get("role") for message in messages]
    answers = [at for at, role in enumerate(roles) if role == "assistant"]
    keep = settings.keep_last_assistants
    if len(answers) < keep:
        return None
    cutoff = answers[-keep] if keep else len(messages)
    # What is read before the first prompt tells the assistant who it is.
    start = roles.index("user") if "user" in roles else cutoff
    return [
        at
        for at in range(start, cutoff)
        if roles[at] == "toolResult"
        and settings.tools.admit(_string(messages[at].get("toolName")))
        and may_prune(at)
    ]


def soft_trimmed(message: Json, limits: SoftTrim) -> Json:
    """A result with its head, its tail and a note between; itself where that is not due.

    A result with images or videos becomes one text in any case.
    """
    raw = _joined(message)
    units = utf16.length(raw)
    head, tail = limits.head_chars, limits.tail_chars
    if units <= limits.max_chars or head + tail >= units:
        return _with_text(message, raw) if _has_media(message) else message
    note = f"[Tool result trimmed: kept first {head} chars and last {tail} chars of {units} chars.]"
    return _with_text(message, f"{utf16.head(raw, head)}\n...\n{utf16.tail(raw, tail)}\n\n{note}")


def _with_text(message: Json, text: str) -> Json:
    content = [{"type": "text", "text": text}]
    return message if message.get("content") == content else {**message, "content": content}


# --- the estimate ---------------------------------------------------------------------------------
def chars(message: Json) -> int:
    """What a message weighs, in characters of which a token has four."""
    role = message.get("role")
    if role == "assistant":
        return sum(map(_answer_chars, _blocks(message)))
    if role in ("user", "toolResult"):
        return sum(
            utf16.weight(_text(block)) + (IMAGE_CHARS if block.get("type") in _MEDIA else 0)
            for block in _blocks(message)
        )
    return UNKNOWN_CHARS


def without_thinking(messages: Sequence[Json]) -> list[Json]:
    """The messages without the thinking of all answers but the last."""
    last = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=-1)
    return [
        {**message, "content": [b for b in _blocks(message) if b.get("type") not in _THINKING]}
        if at != last and message.get("role") == "assistant"
        else message
        for at, message in enumerate(messages)
    ]


def _answer_chars(block: Json) -> int:
    kind = block.get("type")
    if kind == "text":
        return utf16.weight(_string(block.get("text")))
    if kind in _THINKING:
        data = block.get("data") if kind == "redacted_thinking" else None
        said = (block.get("thinking"), block.get("thinkingSignature"), data)
        return sum(utf16.weight(_string(text)) for text in said)
    if kind == "toolCall":
        given = block.get("arguments")
        written = _json({} if given is None else given)
        return UNREADABLE_CHARS if written is None else utf16.length(written)
    return 0


def _blocks(message: Json) -> list[Json]:
    """The blocks of a message that are such; a string is one of text."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [cast(Json, b) for b in cast(list[Any], content) if isinstance(b, Mapping)]


def _joined(message: Json) -> str:
    """The text of a result, with a marker for each image and video."""
    parts: list[str] = []
    for block in _blocks(message):
        kind = block.get("type")
        if kind == "text" or kind in _MEDIA:
            parts.append(_MEDIA.get(kind) or _text(block))
    return "\n".join(parts)


def _text(block: Json) -> str:
    """The text of a text block; all of the block as JSON where its text is none."""
    if block.get("type") != "text":
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else _json(block) or "[malformed text block]"


def _has_media(message: Json) -> bool:
    return any(block.get("type") in _MEDIA for block in _blocks(message))


def _json(value: object) -> str | None:
    """The compact JSON of a value; None where it has none."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- decisions that stay --------------------------------------------------------------------------
def _keys(messages: Sequence[Json]) -> list[str | None]:
    """A name for each result: its call's id, numbered, so that a later namesake changes none."""
    seen: Counter[str] = Counter()
    keys: list[str | None] = []
    for message in messages:
        name = message.get("toolCallId")
        if message.get("role") != "toolResult" or not isinstance(name, str):
            keys.append(None)
            continue
        seen[name] += 1
        keys.append(f"{name}#{seen[name]}")
    return keys


def _replay(messages: Given, sticky: Mapping[str, str]) -> Given | list[Json]:
    if not sticky:
        return messages
    out = [
        _with_text(message, sticky[key]) if key is not None and key in sticky else message
        for key, message in zip(_keys(messages), messages, strict=True)
    ]
    return messages if all(a is b for a, b in zip(out, messages, strict=True)) else out


# --- our own messages -----------------------------------------------------------------------------
def _parts(message: Message, tools: Mapping[str, str]) -> list[Json]:
    """A message in the content model: one for each result, and one for the words."""
    if message.role == "assistant":
        calls = [{"type": "toolCall", "arguments": dict(u.input)} for u in message.tool_uses]
        said = {"type": "text", "text": message.text}
        return [{"role": "assistant", "content": [said, *calls]}]
    results = [_result(result, tools) for result in message.tool_results]
    if message.text or not results:
        results.append({"role": "user", "content": message.text})
    return results


def _result(result: ToolResult, tools: Mapping[str, str]) -> Json:
    words = [{"type": "text", "text": result.text}] if result.text else []
    return {
        "role": "toolResult",
        "toolCallId": result.tool_use_id,
        "toolName": tools.get(result.tool_use_id, ""),
        "isError": result.is_error,
        "content": [*words, *[{"type": "image"}] * result.images],
    }
