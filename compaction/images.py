"""Images that the model has long processed, and a marker in the place of each.

`view` is OpenClaw's replay view, over the content model of `compaction.pruning`; the rest serves
the writer of transcripts. The newest three completed turns keep their images, so that a question
about them still finds them and the cached prompt of a recent turn stays what it was.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal, cast

from compaction.records import as_dict, blocks, dicts, is_shown, message, results, uses

Json = Mapping[str, Any]
Step = Literal["prompt", "answer", "other"]
Images = bool | Literal["all"]
"""Which images go: none, those of old turns, or all, to repair a session that one breaks."""

IMAGE_REMOVED = "[image data removed - already processed by model]"
REFERENCE_REMOVED = "[media reference removed - already processed by model]"
RECENT_TURNS = 3

_ATTACHED = re.compile(
    r"\[(?:media attached(?:\s+\d+/\d+)?|Image:\s*source):\s*([^\]]+)\]", re.IGNORECASE
)
_INBOUND = re.compile(r"\bmedia://inbound/[^\]\s/\\]+")
_KIND = re.compile(r"\s*\([^()]*\)$")
"""The media type that an attachment's marker tells behind its path."""


def cutoff(steps: Iterable[Step]) -> int:
    """Where the third newest completed turn begins; 0 where there are not more than three.

    A turn begins with a prompt and is completed by the prompt behind its answer, however many
    answers the tool loop between them has.
    """
    completed: list[int] = []
    start, answered = 0, False
    for at, step in enumerate(steps):
        if step == "prompt":
            if answered:
                completed.append(start)
            start, answered = at, False
        answered = answered or step == "answer"
    return completed[-RECENT_TURNS] if len(completed) > RECENT_TURNS else 0


# --- the view -------------------------------------------------------------------------------------
def view(messages: Sequence[Json]) -> list[Json] | None:
    """The messages without the images and media references of old turns; None = nothing changes.

    A message may own what it shows: `media`, a list of `{path, url, workspace}`. Then only markers
    of these go, and not what its words say of others; `mediaPruned` tells a second view so.
    """
    before = cutoff(_steps(messages))
    out = [
        _past(given) if at < before and given.get("role") in ("user", "toolResult") else given
        for at, given in enumerate(messages)
    ]
    return None if all(a is b for a, b in zip(out, messages, strict=True)) else out


def _steps(messages: Sequence[Json]) -> Iterator[Step]:
    """A result that nothing precedes begins a turn, too."""
    begun = False
    for given in messages:
        role = given.get("role")
        if role == "user" or (role == "toolResult" and not begun):
            begun = True
            yield "prompt"
        else:
            yield "answer" if begun and role == "assistant" else "other"


def _past(given: Json) -> Json:
    owned = None
    if given.get("mediaPruned"):
        owned = frozenset[str]()
    elif facts := dicts(given.get("media")):
        owned = frozenset(name for fact in facts for name in _names(fact))
    content: Any = given.get("content")
    after: Any = content
    if isinstance(content, str):
        after = _without_references(content, owned)
    elif isinstance(content, list):
        after = [_past_block(block, owned) for block in cast(list[Any], content)]
    if not given.get("media"):
        return given if after == content else {**given, "content": after}
    rest = {key: value for key, value in given.items() if key != "media"}
    return {**rest, "content": after, "mediaPruned": True}


def _past_block(block: Any, owned: frozenset[str] | None) -> Any:
    found = as_dict(block)
    if found.get("type") == "image":
        return marker()
    text = found.get("text")
    if found.get("type") != "text" or not isinstance(text, str):
        return block
    return {**found, "text": _without_references(text, owned)}


def _without_references(text: str, owned: frozenset[str] | None) -> str:
    """The text without its media markers; only without those of `owned` files where there are."""
    if owned is None:
        return _INBOUND.sub(REFERENCE_REMOVED, _ATTACHED.sub(REFERENCE_REMOVED, text))
    return _ATTACHED.sub(
        lambda found: found[0] if owned.isdisjoint(_told(found[1])) else REFERENCE_REMOVED, text
    )


def _told(body: str) -> set[str]:
    """The paths and addresses that a marker tells, each perhaps with its media type."""
    return {_KIND.sub("", part.strip()) for part in body.split("|")}


def _names(fact: Json) -> Iterator[str]:
    """By what markers may call a file: its path, its address, its path within the workspace."""
    yield from (name for key in ("path", "url") if isinstance(name := fact.get(key), str))
    path, workspace = fact.get("path"), fact.get("workspace")
    if isinstance(path, str) and isinstance(workspace, str) and workspace:
        root = f"{workspace.rstrip('/')}/"
        if path.startswith(root):
            yield path.removeprefix(root)
            yield f"./{path.removeprefix(root)}"


# --- the content of transcripts -------------------------------------------------------------------
def of_old_turns(records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The part of a conversation whose images the model has long processed."""
    calls = {use["id"] for record in records for use in uses(record)}
    return records[: cutoff(_step(record, calls) for record in records)]


def _step(record: Json, calls: Set[str]) -> Step:
    if not is_shown(record):
        return "other"
    if record.get("type") == "assistant":
        return "answer"
    return "prompt" if _asks(record, calls) else "other"


def _asks(record: Json, calls: Set[str]) -> bool:
    """Whether a person speaks: not a tool, nor the CLI itself, which marks what it puts in."""
    found = results(record)
    if any(result["tool_use_id"] in calls for result in found) or record.get("isMeta"):
        return False
    return len(blocks(record)) > len(found)


def marker() -> dict[str, Any]:
    """The block that stands for an image."""
    return {"type": "text", "text": IMAGE_REMOVED}


def without_images(content: list[Any]) -> list[Any]:
    """Content with a marker for each image, also within tool results; other blocks as they are."""
    return [_without_image(block) for block in content]


def _without_image(block: Any) -> Any:
    found = as_dict(block)
    if found.get("type") == "image":
        return marker()
    inner: Any = found.get("content")
    if found.get("type") != "tool_result" or not _in_blocks(inner):
        return block
    return {**found, "content": without_images(inner)}


def count(record: Json) -> int:
    """How many images a record has, in its words and in its results."""
    content = message(record).get("content")
    inner = (b.get("content") for b in dicts(content) if b.get("type") == "tool_result")
    return _in_blocks(content) + sum(map(_in_blocks, inner))


def _in_blocks(content: Any) -> int:
    return sum(1 for block in dicts(content) if block.get("type") == "image")
