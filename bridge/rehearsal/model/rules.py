"""What the real API refuses with 400: one sentence for each broken rule, in its own words."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from bridge.rehearsal.model import images
from bridge.rehearsal.model.signing import is_signed
from bridge.rehearsal.model.wire import ContentBlock, Message, MessagesRequest

MAX_CACHE_BREAKPOINTS = 4
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})
_USER_ONLY = frozenset({"tool_result", "image", "document"})


def violations(request: MessagesRequest) -> list[str]:
    """Every rule that the request breaks; an empty list is a request that is answered."""
    return list(
        chain(
            _order(request.messages),
            _blocks(request.messages),
            _pairs(request.messages),
            _images(request.messages),
            _tools(request),
            _breakpoints(request),
        )
    )


def _order(messages: Sequence[Message]) -> Iterator[str]:
    spoken = [message.role for message in messages if message.role != "system"]
    if not spoken or spoken[0] != "user":
        yield "messages: first message must use the user role"
    elif spoken[-1] == "assistant":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _blocks(messages: Sequence[Message]) -> Iterator[str]:
    for at, message in enumerate(messages):
        # The CLI sends empty system messages after its own compaction; the API takes them.
        if message.role != "system" and message.content in ("", []):
            yield f"messages.{at}: all messages must have non-empty content"
        for position, block in enumerate(message.blocks):
            where = f"messages.{at}.content.{position}"
            if message.role != "assistant" and block.type in _ASSISTANT_ONLY:
                yield f"{where}: `{block.type}` blocks can only be in `assistant` messages"
            if message.role != "user" and block.type in _USER_ONLY:
                yield f"{where}: `{block.type}` blocks can only be in `user` messages"
            yield from (f"{where}{complaint}" for complaint in _block(block))


def _block(block: ContentBlock) -> Iterator[str]:
    match block.type:
        case "text":
            if block.text is None:
                yield ".text.text: Field required"
            elif not block.text.strip():
                yield ": text content blocks must contain non-whitespace text"
        case "tool_use":
            if block.id is None or not _ID.fullmatch(block.id):
                yield ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            if block.name is None or not _TOOL_NAME.fullmatch(block.name):
                yield ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
            if block.input is None:
                yield ".tool_use.input: Field required"
        case "tool_result":
            if block.tool_use_id is None:
                yield ".tool_result.tool_use_id: Field required"
            if isinstance(block.content, list):
                yield from chain.from_iterable(map(_block, block.content))
        case "thinking":
            if block.thinking is None or block.signature is None:
                yield ".thinking.signature: Field required"
            elif not is_signed(block.thinking, block.signature):
                yield ": Invalid `signature` in `thinking` block"
            if block.cache_control is not None:
                yield ".thinking.cache_control: Extra inputs are not permitted"
        case _:
            pass


def _pairs(messages: Sequence[Message]) -> Iterator[str]:
    """Calls and results, over turns: neighbours of the same role are one turn to the API."""
    spoken = (entry for entry in enumerate(messages) if entry[1].role != "system")
    called: set[str] = set()
    unanswered: dict[str, None] = {}
    for role, group in groupby(spoken, key=lambda entry: entry[1].role):
        entries = list(group)
        at = entries[0][0]
        blocks = [block for _, message in entries for block in message.blocks]
        if role == "assistant":
            unanswered = dict.fromkeys(_ids(blocks))
            if len(unanswered) < len(_ids(blocks)) or called & unanswered.keys():
                yield f"messages.{at}: `tool_use` ids must be unique"
            called |= unanswered.keys()
        else:
            yield from _answers(at, blocks, unanswered)
            unanswered = {}
    if unanswered:
        yield _without_result(len(messages) - 1, unanswered)


def _answers(at: int, blocks: Sequence[ContentBlock], calls: dict[str, None]) -> Iterator[str]:
    results = [block.tool_use_id or "" for block in blocks if block.type == "tool_result"]
    for orphan in [result for result in results if result not in calls]:
        yield (
            f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {orphan}. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the "
            "previous message."
        )
    for twice in sorted({result for result in results if results.count(result) > 1}):
        yield (
            f"messages.{at}: each tool_use must have a single result. "
            f"Found multiple `tool_result` blocks with id: {twice}"
        )
    first = [block.tool_use_id for block in blocks[: len(results)]]
    missing = [call for call in calls if call not in results or call not in first]
    if missing:
        yield _without_result(at - 1, dict.fromkeys(missing))


def _without_result(at: int, calls: dict[str, None]) -> str:
    return (
        f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(calls)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def _ids(blocks: Sequence[ContentBlock]) -> list[str]:
    return [block.id for block in blocks if block.type == "tool_use" and block.id]


def _images(messages: Sequence[Message]) -> Iterator[str]:
    found = [
        (f"messages.{at}.content.{position}.image.source.base64", block.source)
        for at, message in enumerate(messages)
        for position, outer in enumerate(message.blocks)
        for block in (outer, *(outer.content if isinstance(outer.content, list) else ()))
        if block.type == "image" and block.source and block.source.type == "base64"
    ]
    for where, source in found:
        many = len(found) > images.MANY
        if complaint := images.complaint(source.media_type, source.data or "", many=many):
            yield f"{where}: {complaint}"


def _tools(request: MessagesRequest) -> Iterator[str]:
    names = [tool.name for tool in request.tools]
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    yield from (
        f"tools.{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        for at, name in enumerate(names)
        if not _TOOL_NAME.fullmatch(name)
    )


def _breakpoints(request: MessagesRequest) -> Iterator[str]:
    system = request.system if isinstance(request.system, list) else []
    content = (block for message in request.messages for block in message.blocks)
    marked = sum(part.cache_control is not None for part in (*request.tools, *system, *content))
    if marked > MAX_CACHE_BREAKPOINTS:
        yield (
            f"A maximum of {MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {marked}."
        )
