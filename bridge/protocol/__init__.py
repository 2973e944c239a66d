"""What travels over the CLI's pipes: stream-json events and the control protocol.

No I/O happens here. Everything that a newer CLI may add (fields, block types, event types) is
tolerated: unknown fields are dropped, unknown types become `Unknown`.
"""

from bridge.protocol.blocks import (
    Block,
    OtherBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from bridge.protocol.control import (
    CancelRequest,
    ControlReply,
    ControlRequest,
    PermissionRequest,
    allow,
    control_line,
    deny,
    reply_line,
    unsupported_line,
    user_line,
)
from bridge.protocol.events import (
    Assistant,
    CommandLifecycle,
    Delta,
    Event,
    Malformed,
    Result,
    System,
    ToolResults,
    Unknown,
    parse,
)

__all__ = [
    "Assistant",
    "Block",
    "CancelRequest",
    "CommandLifecycle",
    "ControlReply",
    "ControlRequest",
    "Delta",
    "Event",
    "Malformed",
    "OtherBlock",
    "PermissionRequest",
    "Result",
    "System",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolResults",
    "ToolUseBlock",
    "Unknown",
    "allow",
    "control_line",
    "deny",
    "parse",
    "reply_line",
    "unsupported_line",
    "user_line",
]
