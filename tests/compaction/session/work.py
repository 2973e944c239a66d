"""Sessions of somebody at work, with outputs that a compaction finds something to do with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaction.transcript import Transcript
from tests.compaction.transcript.sessions import Json, Session, call, text

SECRET = "ghp_" + "a1B2" * 9
"""Looks like a token of a code host."""


def view(number: int, lines: int) -> str:
    """A file as the CLI shows it."""
    return "\n".join(
        f"{at + 1:6}→    value_{number}_{at} = compute_{number}(part_{at}, {at * 7})"
        for at in range(lines)
    )


def log(number: int, lines: int) -> str:
    """What a test run prints."""
    return "\n".join(
        f"tests/unit_{number}.py::test_case_{number}_{at} PASSED in {at}.{number} seconds"
        for at in range(lines)
    )


def working(rounds: int = 16, lines: int = 60) -> Session:
    """Files read, edited and read again, commands run, an error, and words in between."""
    session = Session()
    session.user("Make the parser faster, but leave its interface alone.")
    for at in range(rounds):
        path = f"/home/me/project/module_{at % 5}.py"
        steps: list[tuple[str, dict[str, Any], str]] = [
            ("Read", {"file_path": path}, view(at % 5, lines)),
            ("Bash", {"command": f"pytest tests/unit_{at}.py"}, log(at, lines)),
            (
                "Write",
                {
                    "file_path": path.replace("module", "new"),
                    "content": view(at, lines // 2).replace("→", " "),
                },
                "File created successfully.",
            ),
        ]
        tool, given, output = steps[at % 3]
        name = f"toolu_{at:03}"
        session.assistant([text(f"Step {at}: {tool}."), call(name, tool, **given)])
        session.result(name, output)
        if at == 2:
            session.assistant([call("toolu_failed", "Bash", command="make")])
            session.result("toolu_failed", log(99, lines), error=True)
        if at % 4 == 3:
            session.assistant([text(f"Part {at // 4} is done.")])
            session.user(f"Good. Go on with part {at // 4 + 1}.")
    session.assistant([text("All parts are done.")])
    return session


def save(session: Session, folder: Path, tokens: int | None = None) -> Path:
    """The session's file; `tokens` is what the API counted of it, None = nothing was counted."""
    usage: Json | None = None if tokens is None else {"input_tokens": tokens, "output_tokens": 0}
    session.lines = [_counted(line, usage) for line in session.lines]
    return session.save(folder)


def _counted(line: bytes, usage: Json | None) -> bytes:
    if b'"type":"assistant"' not in line:
        return line
    record: Json = json.loads(line)
    record["message"]["usage"] = usage or {}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def outputs(transcript: Transcript) -> dict[str, str]:
    """The text of every result that the model is shown."""
    return {res.tool_use_id: res.text for m in transcript.messages for res in m.tool_results}


def inputs(transcript: Transcript) -> dict[str, Mapping[str, Any]]:
    """The input of every call."""
    return {use.tool_use_id: use.input for m in transcript.messages for use in m.tool_uses}
