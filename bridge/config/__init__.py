"""The settings of the bot: read once, checked once, frozen."""

from bridge.config.child import child_environment
from bridge.config.description import Row, describe
from bridge.config.faults import ConfigError, Fault
from bridge.config.loading import load
from bridge.config.program import ClaudeNotFound, find_claude
from bridge.config.settings import Config

__all__ = [
    "ClaudeNotFound",
    "Config",
    "ConfigError",
    "Fault",
    "Row",
    "child_environment",
    "describe",
    "find_claude",
    "load",
]
