"""Sessions built record by record, as the CLI would write them."""

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SPACE = uuid.UUID("6f0f4a60-3a0c-4a53-8d8e-0a4f5d1f0b11")


def name(number: int) -> str:
    """A uuid by its number."""
    return str(uuid.uuid5(SPACE, str(number)))


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str = "Let me see.") -> Json:
    return {"type": "thinking", "thinking": words, "signature": f"signed {words}"}


def call(tool_id: str, tool: str = "Bash", **given: Any) -> Json:
    return {"type": "tool_use", "id": tool_id, "name": tool, "input": given or {"command": "ls"}}


def answer(tool_id: str, content: Any = "ok", *, error: bool = False) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": tool_id, "content": content}
    return {**block, "is_error": True} if error else block


class Session:
    """A transcript in the making: every record hangs on the last one, unless told otherwise."""

    def __init__(self, sid: str | None = None) -> None:
        self.sid = sid or name(-1)
        self.lines: list[bytes] = []
        self.tip: str | None = None
        self._count = 0

    def put(self, record: Mapping[str, Any]) -> None:
        """A line as it is."""
        self.lines.append(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def meta(self, kind: str, **more: Any) -> None:
        """Metadata, outside the tree."""
        self.put({"type": kind, **more, "sessionId": self.sid})

    def chain(self, kind: str, *, parent: str | None = "", **more: Any) -> str:
        """A record of the tree; it becomes the tip. Returns its uuid."""
        self._count += 1
        own = name(self._count)
        self.put(
            {
                "parentUuid": self.tip if parent == "" else parent,
                "isSidechain": False,
                "type": kind,
                "uuid": own,
                "timestamp": f"2026-11-30T{self._count // 3600:02}:"
                f"{self._count // 60 % 60:02}:{self._count % 60:02}.000Z",
                "sessionId": self.sid,
                "cwd": "/home/me",
                "version": "2.1.332",
                **more,
            }
        )
        self.tip = own
        return own

    def user(self, content: str | Sequence[Json], **more: Any) -> str:
        said = content if isinstance(content, str) else [*content]
        return self.chain("user", message={"role": "user", "content": said}, **more)

    def assistant(self, blocks: Sequence[Json], message: str = "", **more: Any) -> list[str]:
        """An API message, one record for each of its blocks."""
        message = message or f"msg_{self._count}"
        usage = {"input_tokens": 5, "cache_read_input_tokens": 150_000, "output_tokens": 9}
        told = {"id": message, "role": "assistant", "model": "claude-test", "usage": usage}
        return [
            self.chain("assistant", message={**told, "content": [block]}, requestId="r", **more)
            for block in blocks
        ]

    def result(self, tool_id: str, content: Any = "ok", *, error: bool = False, **more: Any) -> str:
        """A result with the host's copy beside it."""
        more.setdefault("toolUseResult", {"stdout": content, "interrupted": False})
        return self.user([answer(tool_id, content, error=error)], **more)

    def round(
        self, *tool_ids: str, content: Any = "x " * 400, say: str = "", think: str = ""
    ) -> None:
        """A message with calls, and their results as a tree: each on its own call."""
        blocks = [*([thinking(think)] if think else []), *([text(say)] if say else [])]
        names = self.assistant([*blocks, *map(call, tool_ids)])[-len(tool_ids) :]
        for tool_id, parent in reversed(list(zip(tool_ids, names, strict=True))):
            self.result(tool_id, content, parent=parent)

    def boundary(
        self, *, preserved: Sequence[str] = (), summary: str = "The story so far."
    ) -> None:
        """A compaction by the CLI, with what it preserved put behind its summary."""
        own, following = name(self._count + 1), name(self._count + 2)
        more: Json = {"trigger": "manual", "preTokens": 100}
        if preserved:
            ends = {"headUuid": preserved[0], "tailUuid": preserved[-1]}
            more["preservedSegment"] = {**ends, "anchorUuid": following}
            more["preservedMessages"] = {"anchorUuid": following, "uuids": [*preserved]}
        before = self.tip
        made = self.chain(
            "system",
            parent=None,
            logicalParentUuid=before,
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata=more,
        )
        assert made == own
        self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def save(self, folder: Path, tail: bytes = b"") -> Path:
        """Write the file where the CLI would look for it."""
        path = folder / "projects" / "-home-me" / f"{self.sid}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.lines) + tail)
        return path


def plain(rounds: int = 4) -> Session:
    """A session of some rounds, each with one call, ended by words."""
    session = Session()
    session.user("Please look around.")
    for at in range(rounds):
        session.round(f"toolu_{at}", say=f"Looking at {at}.")
    session.assistant([text("That is all.")])
    return session


def read_lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
