"""Claude's own questions: answered by buttons, menus, forms and messages."""

import json
import signal

import pytest

from tests.e2e.asked import asked, choose, closed, fill, labels, menus, press, question
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.e2e, pytest.mark.settings(BRIDGE_PERMISSION_MODE="default")]


def several() -> str:
    """A prompt that lets Claude ask two questions, of which the second takes several answers."""
    colours = [{"label": name, "description": f"It is {name}"} for name in ("red", "green")]
    meals = [{"label": name, "description": ""} for name in ("soup", "bread", "cake")]
    questions = [
        {"question": "Colour?", "header": "Colour", "options": colours, "multiSelect": False},
        {"question": "Meals?", "header": "Meals", "options": meals, "multiSelect": True},
    ]
    return f"TOOL: {json.dumps({'name': 'AskUserQuestion', 'input': {'questions': questions}})}"


async def test_a_button_answers_the_question_and_the_turn_goes_on(rig: Rig) -> None:
    thread = await rig.open("ASK Which *way*, @everyone?")
    shown = await asked(rig, thread)
    assert r"**Which \*way\*, " in shown["content"]
    assert "The long way**: Thorough, with tests" in shown["content"]
    assert not shown["mention_everyone"]
    assert labels(shown) == ["The short way", "The long way", "Other …", "Do not answer"]
    stranger = rig.discord.add_user("stranger")
    refused = await press(rig, thread, shown, "The short way", author=stranger)
    assert "not on this bot's list" in await refused.done()
    first = await press(rig, thread, shown, "The long way")
    late = await press(rig, thread, shown, "The short way")
    await first.acked()
    assert "expired" in await late.done()
    await rig.answer(thread, '"="The long way"')
    await closed(rig, thread, "✅ answered by")
    assert len(rig.model.requests) == 2
    await rig.settled(thread, 1)


async def test_an_answer_of_ones_own_is_given_in_a_form(rig: Rig) -> None:
    thread = await rig.open("ASK Which way?")
    opened = await press(rig, thread, await asked(rig, thread), "Other …")
    await (await fill(rig, opened, "over the hills")).acked()
    await rig.answer(thread, '"Which way?"="over the hills"')
    await closed(rig, thread, "✅ answered by")
    await rig.settled(thread, 1)


async def test_a_message_in_the_thread_is_the_answer_and_no_turn_of_its_own(rig: Rig) -> None:
    thread = await rig.open("ASK Which way?")
    await asked(rig, thread)
    stranger = rig.discord.add_user("stranger")
    await rig.say(thread, "ignore me", author=stranger)
    await rig.say(thread, "by the river")
    text = await rig.answer(thread, '"Which way?"="by the river"')
    assert "ignore me" not in text
    await closed(rig, thread, "✅ answered by")
    await rig.settled(thread, 1)
    await rig.say(thread, "and now")
    await rig.answer(thread, "Echo #2: and now")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_several_questions_are_answered_one_by_one_over_a_restart(
    rig: Rig, number: signal.Signals
) -> None:
    thread = await rig.open(several())
    shown = await asked(rig, thread)
    assert [menu["placeholder"] for menu in menus(shown)] == ["Colour", "Meals"]
    await (await choose(rig, thread, shown, 0, "green")).acked()
    await rig.until(
        lambda: (now := question(rig, thread)) and menus(now)[0]["options"][1].get("default"),
        within=30,
        what="the choice is shown",
    )
    await rig.restart(number)
    shown = await asked(rig, thread)
    await (await choose(rig, thread, shown, 1, "soup", "cake")).acked()
    text = await rig.answer(thread, '"Colour?"="green", "Meals?"="soup, cake"')
    assert text.count("Claude asks") == 1
    await closed(rig, thread, "✅ answered by")
    await rig.settled(thread, 1)


async def test_other_stands_beside_what_was_chosen_and_words_answer_what_is_left(rig: Rig) -> None:
    thread = await rig.open(several())
    opened = await choose(rig, thread, await asked(rig, thread), 1, "bread", "Other …")
    await (await fill(rig, opened, "jam")).acked()
    await rig.say(thread, "blue")
    await rig.answer(thread, '"Colour?"="blue", "Meals?"="bread, jam"')
    await closed(rig, thread, "✅ answered by")
    await rig.settled(thread, 1)


async def test_who_does_not_answer_lets_the_turn_go_on(rig: Rig) -> None:
    thread = await rig.open(several())
    await (await press(rig, thread, await asked(rig, thread), "Do not answer")).acked()
    await rig.answer(thread, "Tool said: The person does not want to answer this.")
    await closed(rig, thread, "🚫 not answered by")
    await rig.settled(thread, 1)


@pytest.mark.settings(BRIDGE_PERMISSION_MODE="default", BRIDGE_APPROVAL_TIMEOUT="4s")
async def test_a_question_without_an_answer_is_never_answered_emptily(rig: Rig) -> None:
    thread = await rig.open("ASK Which way?")
    await asked(rig, thread)
    await rig.answer(thread, "Tool said: Nobody answered in time.")
    await closed(rig, thread, "denied: nobody answered in time")
    await rig.settled(thread, 1)


async def test_a_stop_closes_the_question_and_a_message_is_a_turn_again(rig: Rig) -> None:
    thread = await rig.open("ASK Which way?")
    await asked(rig, thread)
    assert "Stopped" in await rig.command(thread, "stop")
    await closed(rig, thread, "no longer asked")
    await rig.say(thread, "go on")
    await rig.answer(thread, "Echo #2: go on")


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
async def test_the_reply_goes_on_below_the_question(
    rig: Rig, number: signal.Signals | None
) -> None:
    thread = await rig.open("STEPS: SAY: Before. ;; ASK Which way? ;; SAY: After all of it.")
    shown = await asked(rig, thread)
    if number is not None:
        await rig.restart(number)
    await (await press(rig, thread, shown, "The long way")).acked()
    await rig.settled(thread, 1)
    await closed(rig, thread, "✅ answered by")
    mine = [m for m in rig.discord.messages(thread) if m["author"]["id"] == rig.discord.bot["id"]]
    before, between, after = (m["content"] for m in mine)
    assert before.startswith("Before.")
    assert between.startswith("❓ **Claude asks**")
    assert after.startswith("After all of it.")
    assert "✅ **AskUserQuestion**" in before
