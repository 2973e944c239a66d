"""Permission requests of the real CLI: asked in the thread, answered by buttons."""

import json
import signal
from typing import Any

import pytest

from bridge.rehearsal.discord.permissions import Permission
from tests.e2e.asked import asked, attached, closed, fill, labels, press, question
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e]

CALLBACK = r"/interactions/\d+/.+/callback"
DEFAULT = pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")


@DEFAULT
async def test_a_tool_runs_only_if_a_person_allows_it(rig: Rig) -> None:
    thread = await rig.open("RUN: touch one && echo done-one")
    shown = await asked(rig, thread)
    assert "touch one && echo done-one" in shown["content"]
    assert rig.discord.messages(thread)[-1]["id"] == shown["id"], "it stands below the text so far"
    assert not (rig.work / "one").exists()
    await (await press(rig, thread, shown, "Allow")).acked()
    await rig.answer(thread, "Tool said: done-one")
    assert (rig.work / "one").exists()
    await closed(rig, thread, "✅ allowed by")
    assert "✅ **Bash**" in rig.shown(thread)

    await rig.say(thread, "RUN: touch two")
    await (await press(rig, thread, await asked(rig, thread), "Deny")).acked()
    await rig.answer(thread, "Tool said: The person denied this.")
    await closed(rig, thread, "🚫 denied by")
    assert "⛔ **Bash**" in rig.shown(thread)
    assert not (rig.work / "two").exists()

    await rig.settled(thread, 2)
    await rig.say(thread, "and now")
    await rig.answer(thread, "Echo #3: and now")


@DEFAULT
async def test_the_whole_of_a_long_command_is_shown_and_the_question_can_be_closed(
    rig: Rig,
) -> None:
    for length in (1912, 1920, 6000):  # at the edge of a message, and far over it
        words = " ".join(f"w{n:06}" for n in range(length // 8))
        command = f"python3 -c '{words}'"
        thread = await rig.open("", files={"message.txt": f"RUN: {command}".encode()})
        last = await asked(rig, thread)
        shown = rig.shown(thread) + attached(rig, last)
        assert all(word in shown for word in command.split())
        await (await press(rig, thread, last, "Deny")).acked()
        await closed(rig, thread, "🚫 denied by")
        await rig.settled(thread, 1)


@DEFAULT
async def test_a_press_that_does_not_count_changes_nothing(rig: Rig) -> None:
    thread = await rig.open("RUN: touch made")
    shown = await asked(rig, thread)
    stranger = rig.discord.add_user("stranger")
    refused = await press(rig, thread, shown, "Allow", author=stranger)
    assert "not on this bot's list" in await refused.done()
    assert question(rig, thread) == shown
    assert len(rig.model.requests) == 1
    first = await press(rig, thread, shown, "Deny")
    second = await press(rig, thread, shown, "Allow")
    assert "expired" in await second.done()
    assert await first.done() != second.text
    await rig.answer(thread, "Tool said: The person denied this.")
    assert not (rig.work / "made").exists()


@DEFAULT
@pytest.mark.parametrize("trouble", ["twice", "drop before", "drop after", "late", "outage"])
async def test_a_press_counts_once_whatever_becomes_of_its_acknowledgement(
    rig: Rig, trouble: str
) -> None:
    thread = await rig.open("RUN: echo ran >> log; echo said-it")
    shown = await asked(rig, thread)
    faults = rig.discord.faults
    match trouble:
        case "twice":
            faults.duplicate = True
        case "late":
            faults.fail("POST", CALLBACK, status=404, code=10062)
        case "outage":
            faults.fail("POST", CALLBACK, status=503)
        case _:
            faults.drop("POST", CALLBACK, "after" if trouble.endswith("after") else "before")
    pressed = await press(rig, thread, shown, "Allow")
    await rig.answer(thread, "Tool said: said-it")
    await closed(rig, thread, "✅ allowed by")
    await rig.settled(thread, 1)
    if trouble != "late":
        await pressed.acked()
    assert "expired" not in pressed.text
    assert (rig.work / "log").read_text() == "ran\n"
    assert not faults.pending
    expected = 2 if trouble in ("drop before", "drop after", "outage") else 1
    # Nothing of the conversation waits for the acknowledgement's second try.
    await rig.until(lambda: rig.calls("POST", "/callback") >= expected, what="all tries are made")
    assert rig.calls("POST", "/callback") == expected


@pytest.mark.settings(
    BRIDGE_PERMISSION_MODE="default", BRIDGE_APPROVAL_TIMEOUT="5s", BRIDGE_SILENCE_TIMEOUT="4s"
)
async def test_no_answer_in_time_is_a_denial_and_no_silence(rig: Rig) -> None:
    thread = await rig.open("RUN: touch made")
    await asked(rig, thread)
    await rig.answer(thread, "Tool said: Nobody answered in time.")
    await closed(rig, thread, "denied: nobody answered in time")
    await rig.settled(thread, 1)
    assert not (rig.work / "made").exists()


@DEFAULT
async def test_stop_closes_the_question(rig: Rig) -> None:
    thread = await rig.open("RUN: touch made")
    shown = await asked(rig, thread)
    assert "Stopped" in await rig.command(thread, "stop")
    await closed(rig, thread, "no longer asked")
    await rig.say(thread, "go on")
    await rig.answer(thread, "go on | saw: RUN: touch made")
    assert not (rig.work / "made").exists()
    assert shown["id"] in [m["id"] for m in rig.discord.messages(thread)]


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_an_open_question_survives_a_restart_of_the_bot(
    rig: Rig, number: signal.Signals
) -> None:
    thread = await rig.open("RUN: echo ran >> log; echo said-it")
    shown = await asked(rig, thread)
    await rig.restart(number)
    assert question(rig, thread) == shown
    await (await press(rig, thread, shown, "Allow")).acked()
    text = await rig.settled(thread, 1)
    await closed(rig, thread, "✅ allowed by")
    assert text.count("Tool said: said-it") == 1
    assert text.count("asks for permission") == 1
    assert (rig.work / "log").read_text() == "ran\n"


@DEFAULT
async def test_questions_of_two_threads_do_not_mix(rig: Rig) -> None:
    one, two = await rig.open("RUN: touch one"), await rig.open("RUN: touch two")
    first, second = await asked(rig, one), await asked(rig, two)
    await (await press(rig, two, second, "Deny")).acked()
    await rig.answer(two, "Tool said: The person denied this.")
    assert question(rig, one) == first
    await (await press(rig, one, first, "Allow")).acked()
    await rig.settled(one, 1)
    assert (rig.work / "one").exists()
    assert not (rig.work / "two").exists()


@DEFAULT
async def test_several_questions_of_one_turn_are_asked_and_answered_apart(rig: Rig) -> None:
    calls = ", ".join(
        f'{{"name": "Bash", "input": {{"command": "touch {name}"}}}}' for name in ("one", "two")
    )
    thread = await rig.open(f"TOOLS: [{calls}]")
    for word in ("Deny", "Allow"):
        shown = await asked(rig, thread)
        await (await press(rig, thread, shown, word)).acked()
        await rig.until(lambda shown=shown: question(rig, thread) != shown)
    await rig.settled(thread, 1)
    assert [(rig.work / name).exists() for name in ("one", "two")].count(True) == 1


def write(rig: Rig, content: str) -> dict[str, Any]:
    """A request that is as large as the content; sent as a file, for it is a long prompt."""
    call = {"name": "Write", "input": {"file_path": str(rig.work / "large"), "content": content}}
    return {"message.txt": f"TOOL: {json.dumps(call)}".encode()}


@DEFAULT
async def test_a_large_request_is_a_file_and_no_flood(rig: Rig) -> None:
    content = " ".join(f"w{n:06}" for n in range(40_000))
    thread = await rig.open("", files=write(rig, content))
    shown = await asked(rig, thread)
    mine = [m for m in rig.discord.messages(thread) if "asks for permission" in m["content"]]
    assert len(mine) == 1
    assert len(rig.discord.messages(thread)) < 8
    assert content in attached(rig, shown)
    await (await press(rig, thread, shown, "Allow")).acked()
    await closed(rig, thread, "✅ allowed by")
    await rig.settled(thread, 1)
    assert (rig.work / "large").read_text() == content
    (after,) = (m for m in rig.discord.messages(thread) if m["id"] == shown["id"])
    assert content in attached(rig, after), "what was allowed can be read later, too"


@DEFAULT
async def test_a_request_of_which_a_part_cannot_be_shown_is_denied(rig: Rig) -> None:
    """Its beginning is in the thread already when Discord refuses the file."""
    rig.discord.overwrite(rig.discord.general, rig.discord.bot["id"], deny=Permission.ATTACH_FILES)
    thread = await rig.open("", files=write(rig, "some words " * 1000))
    await rig.answer(thread, "Tool said: The person could not be asked.")
    await rig.settled(thread, 1)
    assert "asks for permission" in rig.shown(thread)
    assert question(rig, thread) is None
    assert not (rig.work / "large").exists()


@DEFAULT
@pytest.mark.parametrize("word", ["Allow", "Deny"])
async def test_an_answer_reaches_the_cli_though_discord_does_not_show_it(
    rig: Rig, word: str
) -> None:
    """And a bot that goes away meanwhile leaves it to the next one to show it."""
    thread = await rig.open("STEPS: RUN: echo ran >> log ;; RUN: touch next")
    first = await asked(rig, thread)
    rig.discord.faults.fail("PATCH", rf".*/messages/{first['id']}", status=503, times=1_000_000)
    await (await press(rig, thread, first, word)).acked()
    await rig.until(lambda: question(rig, thread) != first, what="the CLI goes on")
    assert first["components"], "its buttons cannot be taken away"
    await rig.restart(signal.SIGKILL)
    second = await asked(rig, thread)
    assert second["id"] != first["id"]
    rig.discord.faults.clear()
    await (await press(rig, thread, second, "Allow")).acked()
    await rig.settled(thread, 1)
    await closed(rig, thread, f"{'✅ allowed' if word == 'Allow' else '🚫 denied'} by")
    assert rig.shown(thread).count("asks for permission") == 2
    assert (rig.work / "log").exists() == (word == "Allow")


@DEFAULT
async def test_a_question_that_is_void_before_it_could_be_shown_is_closed(rig: Rig) -> None:
    rig.discord.faults.fail("POST", r"/channels/\d+/messages", status=503, times=1_000_000)
    thread = await rig.open("RUN: touch made")
    kept = rig.state / "run"
    await rig.eventually(lambda: list(kept.glob("*/ask-*.json")), what="the CLI asks")
    interaction = await rig.discord.slash(thread, "stop")
    await rig.eventually(lambda: not rig.record(thread).get("turn"), what="the turn is over")
    rig.discord.faults.clear()
    await closed(rig, thread, "no longer asked")
    await interaction.done()
    await rig.say(thread, "go on")
    await rig.answer(thread, "go on | saw: RUN: touch made")
    assert list(kept.glob("*/ask-*.json")) == []
    assert not (rig.work / "made").exists()


@DEFAULT
async def test_an_edit_is_shown_as_a_diff_without_mentions_and_open_fences(rig: Rig) -> None:
    (rig.work / "text").write_text("first\nsecond\nthird\n")
    read = {"name": "Read", "input": {"file_path": str(rig.work / "text")}}
    edit = {
        "name": "Edit",
        "input": {
            "file_path": str(rig.work / "text"),
            "old_string": "first\nsecond\n",
            "new_string": "first\n``` @everyone\n",
        },
    }
    thread = await rig.open(f"STEPS: TOOL: {json.dumps(read)} ;; TOOL: {json.dumps(edit)}")
    shown = await asked(rig, thread)
    text = shown["content"].replace("\u200b", "")
    assert "```diff\n first\n-second\n+``` @everyone\n```" in text
    assert shown["content"].count("```") == 2
    assert not shown["mention_everyone"]
    assert "For this session: all edits of files" in text
    await (await press(rig, thread, shown, "Allow")).acked()
    await rig.settled(thread, 1)
    assert (rig.work / "text").read_text() == "first\n``` @everyone\nthird\n"


@DEFAULT
async def test_a_permission_for_the_session_shows_its_rule_and_is_not_asked_again(
    rig: Rig,
) -> None:
    thread = await rig.open("RUN: touch made")
    shown = await asked(rig, thread)
    assert "For this session: `Bash(touch made *)`" in shown["content"]
    await (await press(rig, thread, shown, "Allow for this session")).acked()
    await closed(rig, thread, "✅ allowed for this session by")
    await rig.settled(thread, 1)
    await rig.say(thread, "RUN: touch made && echo said-it")
    await rig.say(thread, "RUN: touch made")
    await rig.until(
        lambda: rig.footers(thread) == 3 or question(rig, thread), within=60, what="it goes on"
    )
    if another := question(rig, thread):  # the other half of the first command has no rule
        assert "echo said-it" in another["content"]
        await (await press(rig, thread, another, "Deny")).acked()
    await rig.settled(thread, 3)
    assert rig.shown(thread).count("asks for permission") <= 2
    assert not list(rig.work.glob(".claude/settings*")), "nothing is allowed for longer"


@DEFAULT
async def test_a_refusal_with_a_reason_tells_claude_the_reason(rig: Rig) -> None:
    thread = await rig.open("RUN: touch made")
    shown = await asked(rig, thread)
    assert labels(shown) == ["Allow", "Allow for this session", "Deny", "Deny with a reason"]
    stranger = rig.discord.add_user("stranger")
    refused = await press(rig, thread, shown, "Deny with a reason", author=stranger)
    assert "not on this bot's list" in await refused.done()
    opened = await press(rig, thread, shown, "Deny with a reason")
    late = await press(rig, thread, shown, "Deny with a reason")
    await (await fill(rig, opened, "use *mkdir*, @everyone")).acked()
    await rig.answer(thread, "Tool said: The person denied this: use ")
    await closed(rig, thread, "🚫 denied by")
    assert rig.model.requests[-1].after_tool
    assert "expired" in await (await fill(rig, late, "too late")).done()
    assert not (rig.work / "made").exists()
    await rig.settled(thread, 1)


@DEFAULT
async def test_a_request_of_a_subagent_says_whose_it_is(rig: Rig) -> None:
    task = {"description": "Look *around*", "prompt": "RUN: touch inner"}
    kind = {"subagent_type": "general-purpose", "run_in_background": False}
    thread = await rig.open(f"TOOL: {json.dumps({'name': 'Agent', 'input': {**task, **kind}})}")
    shown = await asked(rig, thread)
    assert r"of the subagent **Look \*around\*** asks for permission" in shown["content"]
    await (await press(rig, thread, shown, "Allow")).acked()
    await rig.settled(thread, 1)
    assert (rig.work / "inner").exists()


@DEFAULT
async def test_a_message_does_not_answer_a_permission_but_waits_its_turn(rig: Rig) -> None:
    thread = await rig.open("RUN: touch made")
    shown = await asked(rig, thread)
    await rig.say(thread, "what is that for?")
    await rig.eventually(lambda: rig.record(thread).get("queue"), what="it waits")
    assert question(rig, thread) == shown
    await (await press(rig, thread, shown, "Deny")).acked()
    await rig.answer(thread, "Echo #2: what is that for?")


@DEFAULT
async def test_a_form_that_was_open_over_a_restart_counts(rig: Rig) -> None:
    thread = await rig.open("RUN: touch made")
    shown = await asked(rig, thread)
    opened = await press(rig, thread, shown, "Deny with a reason")
    await rig.until(lambda: opened.modal is not None, within=30, what="a form opens")
    await rig.restart(signal.SIGKILL)
    await (await fill(rig, opened, "not now")).acked()
    await rig.answer(thread, "Tool said: The person denied this: not now")
    await closed(rig, thread, "🚫 denied by")
    await rig.settled(thread, 1)
