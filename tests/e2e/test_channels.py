"""Where a conversation begins: channels, mentions, threads of people, forums."""

import pytest

from bridge.rehearsal.discord.permissions import Permission
from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

FORUM = 15
WEEK = 10080
"""Minutes: the longest time after which Discord archives a thread by itself."""


async def test_a_message_opens_a_thread_that_bears_its_words(rig: Rig) -> None:
    d, me = rig.discord, f"<@{rig.discord.bot['id']}>"
    names = {
        "fix the login page": "fix the login page",
        "**bold** `code`\n# heading": None,
        "word " * 300: None,
        f"{me} {me}": None,
        "😀" * 150: None,
        "```\ncode only\n```": None,
        "<@&1> @everyone": None,
    }
    for text, name in names.items():
        message = await d.say(d.general, text)
        if text == f"{me} {me}":
            continue  # a mention and nothing else is no prompt
        await rig.until(
            lambda id=message["id"]: any(t["id"] == id for t in d.threads()), what=repr(text)
        )
        thread = d.channel(message["id"])
        assert 1 <= len(thread["name"].strip()) <= 100
        assert name is None or thread["name"] == name
        assert thread["thread_metadata"]["auto_archive_duration"] == WEEK
        assert thread["parent_id"] == d.general
    files = await rig.open("", files={"report.csv": b"a,b\n1,2\n"})
    assert d.channel(files)["name"] == "report.csv"


async def test_elsewhere_only_a_mention_opens_a_thread(rig: Rig) -> None:
    d, me = rig.discord, f"<@{rig.discord.bot['id']}>"
    side = d.add_channel("side")["id"]
    await d.say(side, "nobody is asked")
    mention = await d.say(side, f"{me} alpha")
    await rig.answer(mention["id"], "Echo #1: alpha | saw:")
    await rig.say(mention["id"], "beta")  # in the thread no mention is needed
    await rig.answer(mention["id"], "Echo #2: beta | saw: alpha")
    assert len(d.threads(side)) == 1
    assert rig.prompts() == ["alpha", "beta"]


async def test_a_mention_adopts_a_persons_own_thread(rig: Rig) -> None:
    d, me = rig.discord, f"<@{rig.discord.bot['id']}>"
    for parent in (d.general, d.add_channel("side")["id"]):
        own = (await d.create_thread(parent, "my own"))["id"]
        await d.say(own, "nobody is asked")
        await d.say(own, f"alpha {me}")
        await rig.answer(own, "Echo #1: alpha | saw:")
        await rig.say(own, "beta")
        await rig.answer(own, "Echo #2: beta | saw: alpha")
    assert rig.prompts() == ["alpha", "beta"] * 2


@pytest.mark.settings("stopped")
async def test_posts_of_a_configured_forum_are_conversations(rig: Rig) -> None:
    d, me = rig.discord, f"<@{rig.discord.bot['id']}>"
    ours, other = (d.add_channel(name, FORUM)["id"] for name in ("ours", "other"))
    rig.settings["BRIDGE_CHANNELS"] = ours
    await rig.start()
    ignored = (await d.create_thread(other, "a post", content="nobody is asked"))["id"]
    post = (await d.create_thread(ours, "a post", content="alpha"))["id"]
    await rig.answer(post, "Echo #1: alpha | saw:")
    await rig.say(post, "beta")
    await rig.answer(post, "Echo #2: beta | saw: alpha")
    await d.say(ignored, f"{me} gamma")
    await rig.answer(ignored, "Echo #1: gamma | saw:")
    assert sorted(rig.prompts()) == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize(
    "missing",
    [Permission.CREATE_PUBLIC_THREADS, Permission.READ_MESSAGE_HISTORY],
    ids=lambda permission: str(permission.name).lower(),
)
async def test_without_permission_to_open_a_thread_one_is_told_what_to_do(
    rig: Rig, missing: Permission
) -> None:
    d = rig.discord
    d.overwrite(d.general, d.bot["id"], deny=missing)
    message = await d.say(d.general, "alpha")
    await rig.until(lambda: "I could not open a thread" in d.shown(d.general))
    assert "*Create Public Threads*" in d.shown(d.general)
    await rig.eventually(lambda: rig.record(message["id"]) == {}, what="no record is left")
    await rig.eventually(lambda: not rig.clis(), what="no process is left")
    assert d.shown(d.general).count("I could not open a thread") == 1
    d.overwrite(d.general, d.bot["id"])
    thread = await rig.open("beta")
    await rig.answer(thread, "Echo #1: beta")


async def test_a_message_deleted_before_its_thread_is_there_leaves_nothing(rig: Rig) -> None:
    d = rig.discord
    d.faults.delay("POST", r".*/threads", 0.5)
    message = await d.say(d.general, "alpha")
    await rig.eventually(lambda: rig.record(message["id"]), what="the message is taken in")
    await d.delete(d.general, message["id"])
    await rig.until(lambda: rig.calls("POST", "/threads"))
    await rig.eventually(lambda: rig.record(message["id"]) == {}, what="no record is left")
    await rig.eventually(lambda: not rig.clis(), what="no process is left")
    assert d.shown(d.general) == ""
    thread = await rig.open("beta")
    await rig.answer(thread, "Echo #1: beta")


async def test_an_archived_thread_that_is_written_to_goes_on(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    for restart in (False, True):
        await rig.discord.archive(thread)
        if restart:
            await rig.restart()
        await rig.say(thread, f"beta {restart}")
        await rig.answer(thread, f"beta {restart} | saw: alpha")
        await rig.settled(thread, 3 if restart else 2)
    assert not rig.discord.channel(thread)["thread_metadata"]["archived"]
