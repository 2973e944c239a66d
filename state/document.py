"""The text of the state file: one record a line, so that people and diffs can read it.

    {"version": 1,
    "channels": {"<channel id>": <last seen message>},
    "channel_settings": {"<channel id>": {"project":"..."}},
    "threads": {
    "<thread id>": {"sid":"...","cwd":"..."},
    "<thread id>": {"sid":"...","cwd":"..."}
    }}

Records stay in the form of their line: 10,000 of them then are a join of bytes to write, and
nothing for the garbage collector to walk through.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from pydantic import ValidationError

from state.mending import mend
from state.migrations import MIGRATIONS, VERSION, Migrations, Tree, migrate
from state.records import Channel, Record

_PIECE = 500
_OPEN = b'"threads": {\n'
_CLOSE = b"\n}}\n"
_LINE = re.compile(rb'"([0-9]{1,20})": (\{.*\})')
_CHANNELS = re.compile(rb'^"channels": (\{.*\}),$', re.MULTILINE)
_SETTINGS = re.compile(rb'^"channel_settings": (\{.*\}),$', re.MULTILINE)
_KNOWN = frozenset({"version", "channels", "channel_settings", "threads"})
_ID = re.compile(r"[0-9]{1,20}")


class Unreadable(Exception):
    """The text is no state file at all."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a state file; `extras` are top-level keys of unknown meaning."""

    lines: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    channels: Mapping[int, int] = field(default_factory=dict[int, int])
    extras: Mapping[str, object] = field(default_factory=dict[str, object])
    settings: Mapping[int, Channel] = field(default_factory=dict[int, Channel])
    """Of channels."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A document as it was found: its version (None = not stated), and what had to be dropped."""

    document: Document
    version: int | None = VERSION
    faults: tuple[str, ...] = ()


def line(thread: int, record: Record) -> bytes:
    """The line of one record, defaults left out."""
    return b'"%d": %b' % (thread, record.model_dump_json(exclude_defaults=True).encode())


def record(line: bytes) -> Record:
    """The record of one line; raises ValidationError."""
    return Record.model_validate_json(line[line.index(b"{") :])


def encode(document: Document) -> Iterator[bytes]:
    """The whole file in pieces, none so large that joining it would hold up other threads."""
    channels = json.dumps({str(channel): seen for channel, seen in document.channels.items()})
    settings = {
        str(channel): chosen.model_dump(mode="json", exclude_defaults=True)
        for channel, chosen in document.settings.items()
    }
    head = [
        f'{{"version": {VERSION},',
        *(f"{json.dumps(key)}: {json.dumps(value)}," for key, value in document.extras.items()),
        f'"channels": {channels},',
        *([f'"channel_settings": {json.dumps(settings)},'] if settings else []),
        '"threads": {',
    ]
    yield "\n".join(head).encode()
    lines = list(document.lines.values())
    for start in range(0, len(lines), _PIECE):
        yield (b",\n" if start else b"\n") + b",\n".join(lines[start : start + _PIECE])
    yield b"\n}}\n"


def decode(raw: bytes, migrations: Migrations = MIGRATIONS) -> Decoded:
    """Read a file that is JSON as a whole, by whomever it was laid out; raises Unreadable."""
    own = _decode_own_layout(raw)
    return own if own is not None else _decode_any_layout(raw, migrations)


def salvage(raw: bytes) -> Document:
    """What the lines of a damaged file still hold, each on its own."""
    lines: dict[int, bytes] = {}
    for text in raw.split(b"\n"):
        if (found := _LINE.fullmatch(text.removesuffix(b","))) is None:
            continue
        try:
            kept, _ = mend(_parse(found[2]))
        except Unreadable:
            continue
        if kept is not None:
            lines[int(found[1])] = line(int(found[1]), kept)
    channels: dict[int, int] = {}
    if found := _CHANNELS.search(raw):
        with contextlib.suppress(Unreadable):
            channels, _ = _read_channels(_parse(found[1]))
    settings: dict[int, Channel] = {}
    if found := _SETTINGS.search(raw):
        with contextlib.suppress(Unreadable):
            settings, _ = _read_settings(_parse(found[1]))
    return Document(lines, channels, settings=settings)


def _decode_own_layout(raw: bytes) -> Decoded | None:
    """The quick way for a flawless file as `encode` writes it: no line is parsed twice."""
    head, opened, rest = raw.partition(_OPEN)
    body, closed, tail = rest.rpartition(_CLOSE)
    if not opened or not closed or tail:
        return None
    lines: dict[int, bytes] = {}
    try:
        tree = _object(_parse(head + b'"threads": {}}'))
        channels, faults = _read_channels(tree.get("channels", {}))
        settings, more = _read_settings(tree.get("channel_settings", {}))
        if _version(tree) != VERSION or faults or more:
            return None
        for text in body.split(b",\n"):
            if (found := _LINE.fullmatch(text)) is None:
                return None
            record(text)
            lines[int(found[1])] = text
    except (Unreadable, ValidationError):
        return None
    return Decoded(Document(lines, channels, _extras(tree), settings))


def _decode_any_layout(raw: bytes, migrations: Migrations) -> Decoded:
    tree = _object(_parse(raw))
    version = _version(tree)
    tree = migrate(tree, version if version is not None else VERSION, migrations)
    threads = tree.get("threads")
    if not isinstance(threads, dict):
        raise Unreadable("it has no threads")
    lines: dict[int, bytes] = {}
    channels, faults = _read_channels(tree.get("channels", {}))
    settings, more = _read_settings(tree.get("channel_settings", {}))
    faults += more
    if version is None:
        faults.append("version: it is missing or not a whole number")
    for key, value in cast("Tree", threads).items():
        if not _ID.fullmatch(key):
            faults.append(f"thread {key[:40]!r}: not an id")
            continue
        kept, dropped = mend(value)
        if kept is not None:
            lines[int(key)] = line(int(key), kept)
        faults += [f"thread {key}: {fault}" for fault in dropped]
    return Decoded(Document(lines, channels, _extras(tree), settings), version, tuple(faults))


def _parse(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        fault = f"it is not JSON ({error})" if raw.strip() else "it is empty"
        raise Unreadable(fault) from None


def _object(tree: object) -> Tree:
    if not isinstance(tree, dict):
        raise Unreadable("it is not a JSON object")
    return cast("Tree", tree)


def _version(tree: Tree) -> int | None:
    version = tree.get("version")
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def _extras(tree: Tree) -> Tree:
    return {key: tree[key] for key in tree.keys() - _KNOWN}


def _read_channels(value: object) -> tuple[dict[int, int], list[str]]:
    if not isinstance(value, dict):
        return {}, ["channels: not a JSON object"]
    marks: dict[int, int] = {}
    faults: list[str] = []
    for key, seen in cast("Tree", value).items():
        if _ID.fullmatch(key) and isinstance(seen, int | str) and _ID.fullmatch(str(seen)):
            marks[int(key)] = int(seen)
        else:
            faults.append(f"channel {key[:40]!r}: not an id with the id of a message")
    return marks, faults


def _read_settings(value: object) -> tuple[dict[int, Channel], list[str]]:
    if not isinstance(value, dict):
        return {}, ["channel_settings: not a JSON object"]
    settings: dict[int, Channel] = {}
    faults: list[str] = []
    for key, chosen in cast("Tree", value).items():
        try:
            if not _ID.fullmatch(key):
                raise ValueError("not an id")
            settings[int(key)] = Channel.model_validate(chosen)
        except ValueError:
            faults.append(f"settings of channel {key[:40]!r}: not as they should be")
    return settings, faults
