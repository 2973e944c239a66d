"""Sessions as the CLI keeps them on disk: where a transcript is, and what it holds of one turn."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

LONGEST_NAME = 200
"""Characters of a project's folder name that are the CLI's own rule; longer ones are looked for."""

Json = dict[str, Any]

BLOCK = 1 << 20
"""Bytes of a transcript that are searched at once, from its end on."""
_FINAL = ("end_turn", "stop_sequence", "max_tokens", "refusal")


def projects_dir(environment: Mapping[str, str]) -> Path:
    """The folder in which the CLI keeps the transcripts of all projects."""
    config = environment.get("CLAUDE_CONFIG_DIR")
    base = Path(config) if config else Path(environment.get("HOME", "~")).expanduser() / ".claude"
    return base / "projects"


def project_folder_name(cwd: str) -> str:
    """How the CLI names a project's folder: each character but ASCII letters and digits is `-`.

    Characters are UTF-16 units. The CLI cuts names of over `LONGEST_NAME` and adds a checksum of
    its own.
    """
    return re.sub(r"[^A-Za-z0-9]", lambda found: "--" if found[0] > "\uffff" else "-", cwd)


def find_transcript(projects: Path, sid: str, cwd: str) -> Path | None:
    """A session's transcript: in the folder of `cwd`, else in that of any other project."""
    name = project_folder_name(cwd)
    expected = projects / name / f"{sid}.jsonl"
    if len(name) <= LONGEST_NAME and expected.is_file():
        return expected
    return next(iter(projects.glob(f"*/{sid}.jsonl")), None)


class TurnRecords:
    """What a transcript holds of one turn."""

    def __init__(self, records: list[Json]) -> None:
        """`records` are those of the turn's main conversation, its prompt first; may be empty."""
        self.records = records

    @property
    def asked(self) -> bool:
        """The session has taken the prompt."""
        return bool(self.records)

    @property
    def answered(self) -> bool:
        """The model has said or done something in answer to it."""
        return any(record["type"] == "assistant" for record in self.records)

    @property
    def finished(self) -> bool:
        """The model has said its last word on it, or the turn was interrupted."""
        if not self.records:
            return False
        message = _message(self.records[-1])
        if self.records[-1]["type"] == "assistant":
            return message.get("stop_reason") in _FINAL
        return "[Request interrupted by user" in json.dumps(message)


def read_turn(path: Path, prompt_id: str) -> TurnRecords:
    """The records of the turn that the prompt with this id began. Blocks while it reads.

    A line that is torn or is not JSON is passed over, as the CLI itself does. The file is searched
    from its end: a transcript may be long, and it is the newest turns that are asked for.
    """
    with path.open("rb") as transcript:
        place = transcript.seek(0, os.SEEK_END)
        while (place := _rfind(transcript, prompt_id.encode(), place)) is not None:
            newline = _rfind(transcript, b"\n", place)
            place = transcript.seek(0 if newline is None else newline + 1)
            prompt = _conversation_record(transcript.readline())
            if prompt is not None and prompt.get("uuid") == prompt_id:
                return TurnRecords([prompt, *_turn_behind(prompt, transcript)])
    return TurnRecords([])


def _rfind(file: BinaryIO, needle: bytes, end: int) -> int | None:
    """Where `needle` stands for the last time before `end`."""
    behind = b""  # the beginning of what was read before: the needle may lie across
    while end > 0:
        start = file.seek(max(0, end - BLOCK))
        block = file.read(end - start) + behind
        if (at := block.rfind(needle)) >= 0:
            return start + at
        behind, end = block[: len(needle) - 1], start
    return None


def _turn_behind(prompt: Json, lines: Iterable[bytes]) -> Iterator[Json]:
    """What belongs to a prompt of the lines that follow it."""
    for record in filter(None, map(_conversation_record, lines)):
        if _is_prompt(record) or _leads_to_another(record, prompt):
            return
        yield record


def _conversation_record(line: bytes) -> Json | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    record = cast("Json", record)
    if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
        return None
    return record


def _leads_to_another(record: Json, prompt: Json) -> bool:
    """What the CLI adds in front of a prompt bears that prompt's mark, not the one of `prompt`."""
    marks = record.get("promptId"), prompt.get("promptId")
    return bool(record.get("isMeta")) and None not in marks and marks[0] != marks[1]


def _is_prompt(record: Json) -> bool:
    """A person's message, as opposed to tool results and to what the CLI adds itself."""
    if record["type"] != "user" or "toolUseResult" in record:
        return False
    if record.get("isMeta") or record.get("isCompactSummary"):  # the CLI's own words, in mid-turn
        return False
    content = _message(record).get("content")
    if isinstance(content, list) and any(map(_is_result, cast("list[object]", content))):
        return False
    return "[Request interrupted by user" not in json.dumps(content)


def _is_result(block: object) -> bool:
    return isinstance(block, dict) and cast("Json", block).get("type") == "tool_result"


def _message(record: Json) -> Json:
    message = record.get("message")
    return cast("Json", message) if isinstance(message, dict) else {}
