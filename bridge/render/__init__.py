"""Claude's Markdown and events as Discord messages: pure functions, no I/O."""

from bridge.render.reply import MESSAGE_LIMIT, Renderer, render
from bridge.render.secrets import mask
from bridge.render.segments import Checklist, Note, Segment, Text, Tool
from bridge.render.view import View

__all__ = [
    "MESSAGE_LIMIT",
    "Checklist",
    "Note",
    "Renderer",
    "Segment",
    "Text",
    "Tool",
    "View",
    "mask",
    "render",
]
