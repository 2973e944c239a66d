"""How tests of the bot's questions look at them and answer them."""

from typing import Any
from urllib.parse import urlsplit

from bridge.rehearsal.discord import components
from tests.e2e.rig import Message, Rig


def question(rig: Rig, thread: str) -> Message | None:
    """The newest message with buttons or menus for an answer."""
    return next((m for m in reversed(rig.discord.messages(thread)) if _asks(m)), None)


def _asks(message: Message) -> bool:
    ids = [item.get("custom_id", "") for item in components.walk(message["components"])]
    return any(id.startswith(("ask:", "pick:")) for id in ids)


async def asked(rig: Rig, thread: str) -> Message:
    """Wait until a question is open in the thread; returns the message with its buttons."""
    return await rig.until(
        lambda: question(rig, thread), within=60, what=lambda: rig.shown(thread)[-600:]
    )


def attached(rig: Rig, message: Message) -> str:
    """The text of the file that came with a message; nothing if none did."""
    urls: list[str] = [file["url"] for file in message["attachments"]]
    paths = (urlsplit(url).path.removeprefix("/cdn") for url in urls)
    return "".join(rig.discord.world.files[path][0].decode() for path in paths)


def items(message: Message, kind: int) -> list[dict[str, Any]]:
    """The buttons or menus of a message, in order."""
    found = components.walk(message["components"])
    return [item for item in found if item["type"] == kind]


def labels(message: Message) -> list[str]:
    """The words on the buttons."""
    return [button["label"] for button in items(message, components.BUTTON)]


def menus(message: Message) -> list[dict[str, Any]]:
    """The menus."""
    return items(message, components.STRING_SELECT)


def button(message: Message, word: str) -> str:
    """The id of the button with this word."""
    buttons = items(message, components.BUTTON)
    return next(b["custom_id"] for b in buttons if b["label"] == word)


async def press(rig: Rig, thread: str, message: Message, word: str, **more: Any) -> Any:
    """Press the button with this word."""
    return await rig.discord.press(thread, message["id"], button(message, word), **more)


async def choose(rig: Rig, thread: str, message: Message, index: int, *labels: str) -> Any:
    """Choose these in the menu of that index."""
    menu = menus(message)[index]
    values = [option["value"] for option in menu["options"] if option["label"] in labels]
    return await rig.discord.select(thread, message["id"], menu["custom_id"], values)


async def fill(rig: Rig, opener: Any, words: str) -> Any:
    """Wait for the form that a press has opened, and send it with these words."""
    await rig.until(lambda: opener.modal is not None, within=30, what="a form opens")
    return await rig.discord.submit(opener, {"words": words})


async def closed(rig: Rig, thread: str, words: str) -> None:
    """Wait until no question is open and the last one says how it was answered."""
    await rig.until(
        lambda: question(rig, thread) is None and words in rig.shown(thread),
        within=60,
        what=lambda: f"{words!r} in {rig.shown(thread)[-600:]!r}",
    )
