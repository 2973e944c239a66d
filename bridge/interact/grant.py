"""What *Allow for this session* would allow from now on: the CLI's own suggestion, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bridge.protocol import PermissionRequest
from bridge.render.inline import code

_MODES = {"acceptEdits": "all edits of files here (mode `acceptEdits`)"}

_LONGEST_WORDS = 500
"""What takes more to say is not offered: nobody is to allow what cannot be seen."""


@dataclass(frozen=True)
class Grant:
    """Changes of the CLI's permissions for one session, and what they mean."""

    updates: tuple[dict[str, Any], ...]
    words: str


def grant_of(request: PermissionRequest) -> Grant | None:
    """The narrowest suggestion of a request; None if the CLI suggests nothing that allows.

    Rules alone let the same call pass: the wider changes that may stand beside them (a mode, a
    folder) count only where there are no rules. Nothing is written to files of settings.
    """
    known = [
        (update, words)
        for update in request.permission_suggestions or ()
        if (words := _words(update))
    ]
    rules = [pair for pair in known if pair[0]["type"] == "addRules"]
    chosen = rules or known[:1]
    words = ", ".join(words for _, words in chosen)
    if not 0 < len(words) <= _LONGEST_WORDS:
        return None
    return Grant(tuple({**update, "destination": "session"} for update, _ in chosen), words)


def _words(update: Mapping[str, Any]) -> str:
    match update.get("type"):
        case "addRules" if update.get("behavior") == "allow":
            return ", ".join(map(_rule, _objects(update.get("rules"))))
        case "setMode":
            return _MODES.get(str(update.get("mode")), "")
        case "addDirectories":
            folders = cast("Sequence[object]", update.get("directories") or ())
            return ", ".join(f"the folder {code(str(folder))}" for folder in folders)
        case _:
            return ""


def _rule(rule: Mapping[str, Any]) -> str:
    content = rule.get("ruleContent")
    name = str(rule.get("toolName"))
    return code(f"{name}({content})" if content else name)


def _objects(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, dict)]
