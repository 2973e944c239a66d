"""`claude-bridge doctor`: checks all that the bot needs and says what to do for each fault."""

from bridge.doctor.examination import examine, main
from bridge.doctor.finding import Finding, render

__all__ = ["Finding", "examine", "main", "render"]
