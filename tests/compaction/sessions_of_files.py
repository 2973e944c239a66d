"""Small conversations about files, built call by call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compaction.messages import Message, ToolResult, ToolUse


@dataclass
class Session:
    """A conversation that starts with a request and grows by calls."""

    messages: list[Message] = field(
        default_factory=lambda: [Message("user", "Make the parser faster")]
    )

    def call(
        self, tool: str, input: Mapping[str, Any], text: str, *, is_error: bool = False
    ) -> str:
        """A call and its result; gives its id."""
        key = f"toolu_{len(self.messages)}"
        self.messages.append(Message("assistant", "", (ToolUse(key, tool, input),)))
        result = ToolResult(key, text, is_error)
        self.messages.append(Message("user", "", (), (result,)))
        return key

    def read(self, path: str, *lines: str) -> str:
        """A view of a file, with line numbers."""
        view = [f"{number:6}→{line}" for number, line in enumerate(lines, 1)]
        return self.call("Read", {"file_path": path}, "\n".join(view))

    def edit(self, path: str, old: str, new: str) -> str:
        """A successful edit."""
        text = f"The file {path} has been updated successfully."
        return self.call("Edit", {"file_path": path, "old_string": old, "new_string": new}, text)

    def say(self, text: str) -> None:
        """A request of the user."""
        self.messages.append(Message("user", text))

    def answer(self, text: str) -> None:
        """A text of the assistant."""
        self.messages.append(Message("assistant", text))

    def rest(self) -> None:
        """Enough recent messages that nothing before them is pinned."""
        for number in range(3):
            self.answer(f"Step {number} is done.")
            self.say(f"Go on with step {number + 1}.")


def function(name: str, lines: int = 6) -> list[str]:
    """Lines of code that belong to one name."""
    body = [f"    {name}_value_{n} = compute({n})" for n in range(lines)]
    return [f"def {name}():", *body, "    return None"]
