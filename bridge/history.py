"""Sessions as the CLI keeps them on disk: where a transcript is, and what it holds of one turn."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

LONGEST_NAME = 200
"""Characters of a project's folder name that are the CLI's own rule; longer ones are looked for."""

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

    def __init__(self, records: list[dict[str, Any]]) -> None:
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
        message = cast("dict[str, Any]", self.records[-1].get("message") or {})
        if self.records[-1]["type"] == "assistant":
            return message.get("stop_reason") in _FINAL
        return "[Request interrupted by user" in json.dumps(message)


def read_turn(path: Path, prompt_id: str) -> TurnRecords:
    """The records of the turn that the prompt with this id began. Blocks while it reads.

    A line that is torn or is not JSON is passed over, as the CLI itself does.
    """
    found: list[dict[str, Any]] = []
    needle = prompt_id.encode()
    with path.open("rb") as lines:
        for line in lines:
            if not found and needle not in line:
                continue
            record = _conversation_record(line)
            if record is None:
                continue
            if found and (_is_prompt(record) or _leads_to_another(record, found[0])):
                break
            if found or record.get("uuid") == prompt_id:
                found.append(record)
    return TurnRecords(found)


def _conversation_record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    record = cast("dict[str, Any]", record)
    if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
        return None
    return record


def _leads_to_another(record: dict[str, Any], prompt: dict[str, Any]) -> bool:
    """What the CLI adds in front of a prompt bears that prompt's mark, not the one of `prompt`."""
    marks = record.get("promptId"), prompt.get("promptId")
    return bool(record.get("isMeta")) and None not in marks and marks[0] != marks[1]


def _is_prompt(record: dict[str, Any]) -> bool:
    """A person's message, as opposed to tool results and to what the CLI adds itself."""
    if record["type"] != "user" or "toolUseResult" in record:
        return False
    if record.get("isMeta") or record.get("isCompactSummary"):  # the CLI's own words, in mid-turn
        return False
    content = cast("dict[str, Any]", record.get("message") or {}).get("content")
    if isinstance(content, list):
        blocks = cast("list[dict[str, Any]]", content)
        if any(block.get("type") == "tool_result" for block in blocks):
            return False
    return "[Request interrupted by user" not in json.dumps(content)
