"""Claude's Markdown and events as Discord messages: pure functions, no I/O."""

from bridge.render.reply import MESSAGE_LIMIT, Renderer, render
from bridge.render.secrets import mask
from bridge.render.segments import Note, Segment, Text, Tool

__all__ = ["MESSAGE_LIMIT", "Note", "Renderer", "Segment", "Text", "Tool", "mask", "render"]
