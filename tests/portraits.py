"""Makes the README's pictures: a conversation on the rehearsal's page, with the real bot and CLI.

python -m tests.portraits FOLDER
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from bridge.rehearsal import page
from bridge.rehearsal.model import Text, Tool
from bridge.rehearsal.stage import Stage
from tests.support.browser import Browser, chromium

_TEST = """\
from slug import slug


def test_words_are_joined_by_single_dashes():
    assert slug("Hello,  World!") == "hello-world"
"""
_BUG = """\
import re


def slug(title):
    return re.sub(r"[^a-z0-9]", "-", title.lower())
"""
_FIXED = "[^a-z0-9]+"

_ANSWER = """\
Fixed: every odd character became a dash of its own, and the last one stayed.

```python
def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
```

| Title | before | after |
|---|---|---|
| Hello,  World! | hello---world- | hello-world |
| C++ | c-- | c |

The test passes now. Shall I also cover titles without any letter?"""


async def _play(folder: Path) -> None:
    stage = Stage(settings={"BRIDGE_PERMISSION_MODE": "acceptEdits"})
    page.mount(stage.discord)
    async with stage:
        (stage.work / "slug.py").write_text(_BUG)
        (stage.work / "test_slug.py").write_text(_TEST)
        _teach(stage)
        await stage.start()
        with tempfile.TemporaryDirectory() as home:
            async with chromium(Path(home)) as browser:
                await _converse(stage, browser, folder)


def _teach(stage: Stage) -> None:
    bug = str(stage.work / "slug.py")
    old, new = 'r"[^a-z0-9]", "-", title.lower())', f'r"{_FIXED}", "-", title.lower()).strip("-")'
    stage.model.script(
        "test_slug.py fails",
        (
            Text("I'll look at the test, and at what it tests."),
            Tool("Read", {"file_path": str(stage.work / "test_slug.py")}),
            Tool("Read", {"file_path": bug}),
        ),
        Tool("Edit", {"file_path": bug, "old_string": old, "new_string": new}),
        Tool("Bash", {"command": "touch /tmp/.slug && python3 -m pytest -q test_slug.py || true"}),
        Text(_ANSWER),
    )


async def _converse(stage: Stage, browser: Browser, folder: Path) -> None:
    discord = stage.discord
    view = await browser.open(discord.url, width=1180, height=800)
    await view.shows("general", "body")
    await view.type("test_slug.py fails, can you fix it?", "#composer textarea")
    await view.press("Enter")
    await discord.until(discord.threads, timeout=20, what="a thread")
    thread = discord.threads()[0]["id"]
    await discord.until(
        lambda: "asks for permission" in discord.shown(thread), timeout=30, what="a question"
    )
    view = await browser.open(f"{discord.url}/#{thread}", width=1180, height=800)
    await view.shows("asks for permission")
    _save(folder / "approval.png", await view.screenshot())
    question = next(m for m in discord.messages(thread) if m["components"])
    button = question["components"][0]["components"][0]["custom_id"]
    await discord.press(thread, question["id"], button)
    await discord.until(lambda: "context (" in discord.shown(thread), timeout=60, what="the answer")
    await view.shows("context (")
    _save(folder / "conversation.png", await view.screenshot())
    phone = await browser.open(f"{discord.url}/#{thread}", width=390, height=800)
    await phone.shows("context (")
    _save(folder / "phone.png", await phone.screenshot())


def _save(path: Path, picture: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)


if __name__ == "__main__":
    asyncio.run(_play(Path(sys.argv[1])))
