"""The report of a compaction as one HTML file that needs nothing else."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from compaction.credentials import holds_credential
from compaction.messages import Message
from compaction.report import Outcome

SHOWN = 600
"""Characters of an output that a person can look at."""
SAID = 240
"""Characters of what a person or Claude said."""


def page(outcome: Outcome, messages: Sequence[Message]) -> str:
    """The report; `messages` are those of the session before.

    The texts of a session may hold anything. They go into the page as JSON in which nothing can end
    the element, and from there into text nodes only.
    """
    data = json.dumps(_data(outcome, messages), separators=(",", ":"))
    for char in "<>&":
        data = data.replace(char, f"\\u{ord(char):04x}")
    template = files("compaction").joinpath("page.html").read_text("utf-8")
    return template.replace("{{data}}", data)


def _data(outcome: Outcome, messages: Sequence[Message]) -> dict[str, Any]:
    texts = {res.tool_use_id: res.text for m in messages for res in m.tool_results}
    inputs = {use.tool_use_id: use.input for m in messages for use in m.tool_uses}
    return {
        **outcome.to_json(),
        "calls": [
            {
                "tool": call.tool,
                "title": call.title,
                "message": call.message,
                "action": call.action,
                "reason": call.reason,
                "before": call.before_tokens,
                "after": call.after_tokens,
                "file": call.file,
                "preview": _preview(inputs[call.tool_use_id], texts.get(call.tool_use_id, "")),
            }
            for call in outcome.calls
        ],
        "said": [
            {"message": index, "role": message.role, "text": message.text.strip()[:SAID]}
            for index, message in enumerate(messages)
            if message.text.strip()
        ],
    }


def _preview(given: Mapping[str, Any], text: str) -> str:
    if holds_credential(given, text):
        return "(not shown: it looks like it holds credentials)"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
