"""What the CLI is given: the prompt to the letter, and of the bot's environment what it needs."""

import json
from typing import Any

import pytest

from bridge import proc
from bridge.rehearsal.model import Text
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TEXTS = (
    "-h",
    "--help",
    "--version",
    "- item",
    "--resume 00000000-0000-4000-8000-000000000000",
    "-- -p --dangerously-skip-permissions",
    "\"quotes\" 'both' $HOME `id` $(id) ; | & > \\ %s {} \\n",
    "zero\u200bwidth, e\u0301 combining, 👩‍👩‍👧‍👦 joined, 漢字, \u202eright to left\u202c",
    "two\nlines\n\n  and three   spaces",
    '{"type": "user", "message": {"role": "user", "content": "no"}}',
    "x" * 2000,
)


def texts(rig: Rig) -> list[str]:
    """The texts that the newest request to the model has from the person, each to the letter."""
    found: list[str] = []
    for message in rig.model.requests[-1].messages:
        content: Any = message["content"]
        if message["role"] == "user":
            blocks = [{"text": content}] if isinstance(content, str) else content
            found += [block["text"] for block in blocks if "text" in block]
    return found


async def test_prompts_reach_the_model_to_the_letter(rig: Rig) -> None:
    """They are no options, no shell and no JSON (B46), the first of a process and a later one."""
    thread = await rig.open("hello")
    await rig.settled(thread, 1)
    for number, text in enumerate(TEXTS, 2):
        await rig.say(thread, text)
        await rig.settled(thread, number)
        assert text in texts(rig)
    for text in TEXTS[:5]:
        other = await rig.open(text)
        await rig.answer(other, "Echo #1")
        assert text in texts(rig)
    assert not any(text in start.arguments for start in rig.starts.all() for text in TEXTS[:4])


async def test_a_prompt_of_300_kb_reaches_the_model_whole(rig: Rig) -> None:
    """Discord's client makes a file of what is too long for a message (B45, B83)."""
    text = "".join(f"line {n} of many: 漢 é 😀\n" for n in range(10_000))
    assert len(text.encode()) > 300_000
    rig.model.script("of many", Text("All of it."))
    thread = await rig.open("", files={"message.txt": text.encode()})
    await rig.settled(thread, 1)
    assert text in texts(rig)


SECRETS = {
    "DISCORD_TOKEN_OLD": "a token",
    "DATABASE_URL": "postgres://secret",
    "AWS_SECRET_ACCESS_KEY": "a key",
    "GITHUB_TOKEN": "a token",
    "BRIDGE_LOG_LEVEL": "INFO",
    "NOTIFY_SOCKET": "/nowhere",
    "MY_HIDDEN": "hidden",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
}
"""What the bot's own environment may hold, and the CLI must not see."""

PASSED = {
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "ANTHROPIC_CUSTOM_HEADERS": "x-a: b",
    "DISABLE_TELEMETRY": "1",
    "LC_ALL": "C.UTF-8",
    "TZ": "Europe/Paris",
    "MY_TOOL_HOME": "/opt/tool",
    "SSH_AUTH_SOCK": "/run/agent",
}


@pytest.mark.settings("stopped", BRIDGE_PASS_ENV="MY_TOOL_*,SSH_AUTH_SOCK,CLAUDECODE,DISCORD_TOKEN")
async def test_the_cli_gets_an_allow_list_of_the_environment(rig: Rig) -> None:
    """B48 and trap 13; what `pass_env` adds is never the bot's token nor the mark of a session."""
    rig.settings |= {**SECRETS, **PASSED, "COPY_OF_IT": rig.discord.token}
    rig.settings["MY_TOOL_TOKEN"] = rig.discord.token
    await rig.start()
    thread = await rig.open(
        'RUN: python3 -c \'import json, os; json.dump(dict(os.environ), open("seen.json", "w"))\''
    )
    await rig.answer(thread, "Tool said:")
    (cli,) = rig.clis()
    seen_by_cli = cli.environ()
    seen_by_tools: dict[str, str] = json.loads((rig.work / "seen.json").read_text())
    for seen in (seen_by_cli, seen_by_tools):
        assert seen.items() >= PASSED.items()
        assert rig.discord.token not in " ".join(seen.values())
    # The CLI sets marks of its own for its tools.
    assert not seen_by_cli.keys() & {*SECRETS, "COPY_OF_IT", "MY_TOOL_TOKEN", "DISCORD_TOKEN"}
    assert not seen_by_tools.keys() & {
        *(name for name in SECRETS if not name.startswith("CLAUDE")),
        *("COPY_OF_IT", "MY_TOOL_TOKEN", "DISCORD_TOKEN"),
    }
    allowed = {"HOME", "PATH", "LANG", "PWD", "OLDPWD", proc.MARKER, *PASSED}
    known = {name for name in rig.environment() if name.startswith(("ANTHROPIC_", "CLAUDE_CODE_"))}
    known |= {name for name in rig.environment() if name.startswith(("DISABLE_", "IS_SANDBOX"))}
    assert seen_by_cli.keys() <= allowed | known
