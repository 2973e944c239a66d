"""What a process is told when it starts: where it is, and which tools it has beside its own."""

from pathlib import Path

from bridge import outgoing
from bridge.protocol import control_line
from bridge.tools.server import NAME

TOOLS = ("send_file", "react", "rename_thread")


def greeting() -> bytes:
    """The line that goes to a new process before its first prompt, and waits for no answer."""
    return control_line("bridge-initialize", "initialize", hooks=None, sdkMcpServers=[NAME])


def permitted(files: Path) -> list[str]:
    """Permission rules: the tools of the thread, and its outbox, need nobody's word.

    Each tool is named, for there may be another server of that name among the person's own.
    `files` is the thread's folder.
    """
    box = str(outgoing.outbox(files))
    # A rule cannot tell these signs in a path from its own; without the rule, Claude asks.
    rules = [] if any(sign in box for sign in "(),*?[]{}!") else [f"Edit(/{box}/**)"]
    return [*(f"mcp__{NAME}__{tool}" for tool in TOOLS), *rules]


def briefing(files: Path) -> str:
    """What Claude is told at the start of a process; `files` is the thread's folder."""
    return (
        "You are in a Discord thread: people read your answers there, often on a phone, and see "
        "none of your files unless you send them. To show a file to them, call the tool "
        "mcp__discord__send_file, or write it into the folder "
        f"{outgoing.outbox(files)} : whatever is in that folder at the end of your turn is posted "
        "in the thread and removed from the folder. Files that people send to you are below "
        f"{files} ."
    )
