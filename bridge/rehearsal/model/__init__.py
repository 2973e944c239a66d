"""A Messages API on loopback, answering from small scripts: the real CLI without an account."""

from bridge.rehearsal.model.blocks import Block, Error, Hang, Text, Thinking, Tool, Turn
from bridge.rehearsal.model.server import Request, ScriptedModel

__all__ = [
    "Block",
    "Error",
    "Hang",
    "Request",
    "ScriptedModel",
    "Text",
    "Thinking",
    "Tool",
    "Turn",
]
