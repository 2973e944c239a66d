"""The control protocol: questions of the CLI to its host and of the host to the CLI."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from bridge.protocol.blocks import Frame


class PermissionRequest(Frame):
    """`can_use_tool`: may this tool run with this input?"""

    tool_name: str
    display_name: str | None = None
    input: dict[str, Any] = Field(default_factory=dict)
    description: str | None = None
    permission_suggestions: tuple[dict[str, Any], ...] | None = None
    blocked_path: str | None = None
    tool_use_id: str = ""
    requires_user_interaction: bool = False
    agent_id: str | None = None


class ControlRequest(Frame):
    """A question of the CLI; it waits for the answer."""

    request_id: str
    request: dict[str, Any] = Field(default_factory=dict)

    @property
    def subtype(self) -> str:
        """What is asked."""
        return str(self.request.get("subtype", ""))

    @property
    def permission(self) -> PermissionRequest | None:
        """The question as a permission request, if it is one."""
        if self.subtype != "can_use_tool":
            return None
        try:
            return PermissionRequest.model_validate(self.request)
        except ValidationError:
            return None


class Outcome(Frame):
    """The body of a control response."""

    subtype: str = ""
    request_id: str = ""
    response: dict[str, Any] | None = None
    error: str | None = None
    error_code: str | None = None


class ControlReply(Frame):
    """The CLI's answer to a question of the host."""

    response: Outcome = Field(default=Outcome())


class CancelRequest(Frame):
    """A question of the CLI that is void: its turn was interrupted."""

    request_id: str


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def user_line(content: str | Sequence[Mapping[str, Any]], prompt_id: str) -> bytes:
    """A prompt. A session takes each `prompt_id` (a UUID) once; repeating the line is harmless."""
    return _line(
        {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": None,
            "session_id": "",
            "uuid": prompt_id,
        }
    )


def control_line(request_id: str, subtype: str, **fields: Any) -> bytes:
    """A question to the CLI."""
    return _line(
        {
            "type": "control_request",
            "request_id": request_id,
            "request": {"subtype": subtype, **fields},
        }
    )


def reply_line(request_id: str, response: Mapping[str, Any]) -> bytes:
    """The answer to a question of the CLI."""
    body = {"subtype": "success", "request_id": request_id, "response": response}
    return _line({"type": "control_response", "response": body})


def unsupported_line(request_id: str, subtype: str) -> bytes:
    """Says that a question of the CLI is of a kind that this host does not know."""
    body = {"subtype": "error", "request_id": request_id, "error": f"Unsupported: {subtype}"}
    return _line({"type": "control_response", "response": body})


def allow(tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """Permission granted; the input goes back with the answer, as the CLI requires."""
    return {"behavior": "allow", "updatedInput": dict(tool_input)}


def deny(message: str) -> dict[str, Any]:
    """Permission refused; the model reads `message` as the tool's error."""
    return {"behavior": "deny", "message": message}
