"""What a process may do unasked."""

from pathlib import Path

import pytest

from bridge.tools.briefing import briefing, permitted


def test_the_tools_and_the_outbox_need_no_permission() -> None:
    files = Path("/var/lib/bridge/inbox/7")
    tools = [f"mcp__discord__{name}" for name in ("send_file", "react", "rename_thread")]
    assert permitted(files) == [*tools, "Edit(//var/lib/bridge/inbox/7/outbox/**)"]
    assert "/var/lib/bridge/inbox/7/outbox" in briefing(files)


@pytest.mark.parametrize("sign", list("(),*?[]{}!"))
def test_a_path_never_becomes_a_rule_that_means_more(sign: str) -> None:
    assert all(rule.startswith("mcp__discord__") for rule in permitted(Path(f"/a{sign}/7")))
