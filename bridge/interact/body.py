"""What a permission request looks like in the thread: all of it, in messages or in a file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from bridge.discord_io.outbox import File
from bridge.protocol import PermissionRequest
from bridge.render import MESSAGE_LIMIT, Text, render
from bridge.render.inline import escaped, one_line
from bridge.render.reply import clean

_ROOM = 100
"""Characters that the last message leaves free for the line that says how it was answered."""
_MESSAGES = 3
"""What needs more messages is shown by its beginning, and is in a file as a whole."""
_LONGEST_DESCRIPTION = 300


@dataclass(frozen=True)
class Body:
    """The messages of a question. The last one has the buttons, and the file if there is one."""

    contents: list[str]
    file: File | None = None

    def closed(self, word: str) -> str:
        """The last message with the line that says what came of the question."""
        return f"{self.contents[-1]}\n-# {word}"


def body_of(request: PermissionRequest) -> Body:
    """The whole of what is to be allowed, without secrets; work enough for a thread of its own."""
    about, blocks = _parts(request)
    size = sum(len(code) for _, code in blocks)
    if size <= _MESSAGES * MESSAGE_LIMIT and len(about) <= _LONGEST_DESCRIPTION:
        contents = _rendered(request, about, blocks)
        if len(contents) <= _MESSAGES:
            return Body(contents)
    beginnings = [(language, code[: 2 * MESSAGE_LIMIT]) for language, code in blocks]
    contents = _rendered(request, about[:_LONGEST_DESCRIPTION], beginnings)[: _MESSAGES - 1]
    note = f"📎 **This is only the beginning.** All {size:,} characters are in the file."
    whole = "\n\n".join(filter(None, [about, *(code for _, code in blocks)]))
    return Body([*contents, note], File("request.txt", whole.encode()))


def _parts(request: PermissionRequest) -> tuple[str, list[tuple[str, str]]]:
    """What the CLI says about a request, if anything new, and the request as blocks of code.

    Each block has its language first.
    """
    about = clean(one_line(request.description or ""))
    rest = dict(request.input)
    blocks: list[tuple[str, str]] = []
    if isinstance(command := rest.get("command"), str):
        del rest["command"]
        blocks.append(("sh", clean(command)))
        if rest.get("description") == request.description:
            rest.pop("description", None)
        # The CLI describes a command by its own beginning if Claude gave it no description.
        if one_line(blocks[0][1]).startswith(about.removesuffix("…").rstrip()):
            about = ""
    if rest or not blocks:
        blocks.append(("json", clean(json.dumps(_cleaned(rest), indent=1))))
    return about, blocks


def _rendered(
    request: PermissionRequest, about: str, blocks: Sequence[tuple[str, str]]
) -> list[str]:
    text = f"🔐 **{escaped(request.display_name or request.tool_name)}** asks for permission"
    if about:
        text += f": {escaped(about)}"
    for language, code in blocks:
        fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", code)), default=0))
        text += f"\n{fence}{language}\n{code}\n{fence}"
    return render([Text(text)], limit=MESSAGE_LIMIT - _ROOM)


def _cleaned(value: object) -> object:
    """The same without secrets, which are harder to tell once they are written as JSON."""
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value).items()
            return {clean(key): _cleaned(item) for key, item in fields}
        case _:
            return value
