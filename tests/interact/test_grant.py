"""What a permission for the session allows: the narrowest suggestion, all of it in sight."""

from typing import Any

import pytest

from bridge.interact.grant import grant_of
from bridge.interact.verdict import allowed, allowed_for_session
from bridge.protocol import PermissionRequest


def rules(*contents: str | None, behavior: str = "allow") -> dict[str, Any]:
    found = [{"toolName": "Bash", **({"ruleContent": c} if c else {})} for c in contents]
    destination = "localSettings"
    return {
        "type": "addRules",
        "rules": found,
        "behavior": behavior,
        "destination": destination,
    }


EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
FOLDER = {"type": "addDirectories", "directories": ["/else"], "destination": "session"}


def request(*suggestions: dict[str, Any]) -> PermissionRequest:
    return PermissionRequest(
        tool_name="Bash", input={"command": "ls"}, permission_suggestions=suggestions
    )


@pytest.mark.parametrize(
    ("suggestions", "words"),
    [
        ([rules("ls *")], "`Bash(ls *)`"),
        ([rules("ls *", None)], "`Bash(ls *)`, `Bash`"),
        ([FOLDER, EDITS, rules("ls *")], "`Bash(ls *)`"),
        ([EDITS, FOLDER], "all edits of files here (mode `acceptEdits`)"),
        ([FOLDER, EDITS], "the folder `/else`"),
    ],
)
def test_rules_come_first_and_hold_for_the_session(
    suggestions: list[dict[str, Any]], words: str
) -> None:
    wanted = request(*suggestions)
    grant = grant_of(wanted)
    assert grant is not None
    assert grant.words == words
    assert {update["destination"] for update in grant.updates} == {"session"}
    answer = allowed_for_session(wanted, "Ann").answer
    assert answer["updatedPermissions"] == list(grant.updates)
    assert answer["updatedInput"] == {"command": "ls"}


@pytest.mark.parametrize(
    "suggestion",
    [
        rules("ls *", behavior="deny"),
        rules(),
        rules("x" * 600),
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "removeRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"},
        {"type": "something new"},
        {},
    ],
)
def test_what_does_not_allow_or_cannot_be_said_is_not_offered(suggestion: dict[str, Any]) -> None:
    wanted = request(suggestion)
    assert grant_of(wanted) is None
    assert allowed_for_session(wanted, "Ann") == allowed(wanted, "Ann")
