"""Rules that hold for the messages of every reply."""

import re
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.render import Note, Renderer, Segment, Text, Tool, render
from bridge.render.measure import units
from tests.render.markdown import documents, numbers, raw, untimed

limits = st.sampled_from([400, 700, 2000])
texts = st.one_of(documents().map(lambda document: document[0]), raw)
commands = st.text("ab `\n@*", max_size=300)
tools = st.builds(
    Tool,
    id=st.just("t"),
    name=st.sampled_from(["Bash", "Read", "mcp__server__tool", "Strange"]),
    input=st.fixed_dictionaries({"command": commands, "file_path": commands}),
    state=st.sampled_from(["running", "ok", "error", "denied"]),
    detail=commands,
    agent=commands,
)
segments = st.one_of(texts.map(Text), tools, st.text(max_size=200).map(Note))
replies = st.lists(segments, max_size=5)


def fence_lines(message: str) -> list[str]:
    return [line for line in message.split("\n") if line.startswith("```")]


@untimed
@given(replies, limits, st.booleans())
def test_a_message_is_never_too_long_and_never_empty(
    reply: list[Segment], limit: int, streaming: bool
) -> None:
    for message in render(reply, limit=limit, footer="-# 3 s", streaming=streaming):
        assert len(message) <= limit
        assert units(message) <= limit
        assert message.strip() == message != ""
        message.encode()


@untimed
@given(replies, limits)
def test_fences_are_balanced_in_every_message(reply: list[Segment], limit: int) -> None:
    for message in render(reply, limit=limit):
        lines = fence_lines(message)
        assert message.count("```") == len(lines), (
            "three backticks only where a block begins or ends"
        )
        assert len(lines) % 2 == 0
        assert all(line == "```" for line in lines[1::2])


@untimed
@given(replies, limits)
def test_a_code_block_always_holds_something(reply: list[Segment], limit: int) -> None:
    for message in render(reply, limit=limit):
        lines = message.split("\n")
        inside = False
        for number, line in enumerate(lines):
            if line.startswith("```"):
                inside = not inside
                if inside:
                    end = lines.index("```", number + 1)
                    assert "".join(lines[number + 1 : end]).strip()


@untimed
@given(documents(), limits)
def test_nothing_is_lost_and_nothing_changes_places(document: tuple[str, int], limit: int) -> None:
    markdown, count = document
    assert numbers("\n".join(render([Text(markdown)], limit=limit))) == list(range(1, count + 1))


@untimed
@given(raw)
def test_no_letter_of_a_malformed_text_is_lost(text: str) -> None:
    shown = iter("".join(render([Text(text)])))
    for letter in re.findall(
        "[qz漢👍]", text
    ):  # table heads may come twice, nothing less than once
        assert letter in shown, "the letters stand in their order"


@settings(max_examples=300, deadline=None)
@given(replies, limits, st.data())
def test_messages_before_the_last_two_stay_while_the_reply_grows(
    reply: list[Segment], limit: int, data: st.DataObject
) -> None:
    earlier = data.draw(st.sampled_from(sorted(prefixes(reply), key=len))) if reply else []
    before = render(earlier, limit=limit, streaming=True)
    after = render(reply, limit=limit, footer="-# 3 s")
    assert after[: max(0, len(before) - 2)] == before[:-2]


def prefixes(reply: list[Segment]) -> list[list[Segment]]:
    out: list[list[Segment]] = []
    for index, segment in enumerate(reply):
        out.append(reply[:index])
        if isinstance(segment, Text):
            size = len(segment.markdown)
            out += [
                [*reply[:index], Text(segment.markdown[:end])]
                for end in sorted({size // 7, size // 3, size // 2, size * 4 // 5, size - 1} - {-1})
            ]
    return out


@untimed
@given(documents(), st.integers(1, 60), limits)
def test_a_renderer_answers_as_if_it_had_never_been_asked_before(
    document: tuple[str, int], step: int, limit: int
) -> None:
    markdown = document[0]
    call = Tool("1", "Bash", {"command": "ls"}, "running")
    renderer = Renderer(limit=limit)
    for end in range(0, len(markdown), max(step, len(markdown) // 20)):
        reply = [Note("hello"), Text(markdown[:end]), call][: 2 + end % 2]
        assert renderer.render(reply, streaming=True) == render(reply, limit=limit, streaming=True)
    assert renderer.render([Text("other")], footer="-# 1 s") == ["other\n-# 1 s"]


@untimed
@given(documents(), tools, st.sampled_from(["ok", "error", "denied"]))
def test_a_tool_that_ends_moves_nothing(
    document: tuple[str, int], tool: Tool, state: Literal["ok", "error", "denied"]
) -> None:
    running = Tool("1", tool.name, tool.input, "running")
    ended = Tool("1", tool.name, tool.input, state)
    before = render([Text(document[0]), running, Text(document[0])])
    after = render([Text(document[0]), ended, Text(document[0])])
    assert list(map(len, before)) == list(map(len, after))


@untimed
@given(texts)
def test_nobody_is_mentioned_outside_of_code(text: str) -> None:
    for message in render([Text(text)]):
        shown = message.replace("\\`", "")
        prose = re.sub(r"```.*?```|``.*?``|`[^`]*`", "", shown, flags=re.DOTALL)
        assert not re.search(r"@everyone|@here", prose)


@example("")
@example(" \n\t\n")
@example("\u200b")
@untimed
@given(st.text(" \n\u200b\u2003", max_size=10))
def test_a_reply_without_words_makes_no_message(text: str) -> None:
    assert render([Text(text)]) == []


def test_text_and_tools_stand_apart_and_tools_together() -> None:
    calls = [Tool(str(i), "Bash", {"command": f"echo {i}"}, "ok") for i in range(2)]
    assert render([Text("Before.\n\n"), *calls, Text("After.")], footer="-# 3 s") == [
        "Before.\n\n-# ✅ **Bash** `echo 0`\n-# ✅ **Bash** `echo 1`\n\nAfter.\n-# 3 s"
    ]


def test_a_note_is_shown_letter_by_letter_as_subtext() -> None:
    assert render([Note("cost *rose*\n@here")]) == ["-# cost \\*rose\\* @\u200bhere"]


def test_a_block_that_is_cut_goes_on_in_its_language() -> None:
    body = "\n".join(f"value_{i} = {i}" for i in range(300))
    messages = render([Text(f"Look:\n```python\n{body}\n```\nDone.")])
    assert len(messages) > 2
    assert all(message.startswith("```python\n") for message in messages[1:])
    assert messages[-1].endswith("```\nDone.")


def test_the_end_of_a_paragraph_is_the_best_place_to_cut() -> None:
    paragraph = "Some words that make a sentence. " * 20
    messages = render([Text("\n\n".join([paragraph.strip()] * 6))])
    assert all(message.endswith("sentence.") for message in messages)
    assert {message.count("\n\n") for message in messages} == {1, 2} or len(messages) == 2


def test_a_heading_stays_with_its_text() -> None:
    filler = "\n\n".join(["word " * 50] * 7)
    messages = render([Text(f"{filler}\n\n## Title\n\n{'long ' * 100}")])
    assert messages[1].startswith("## Title\n\nlong")


def test_a_link_and_a_composed_emoji_are_not_cut() -> None:
    link = "[a label of several words](https://example.org/a/path)"
    family = "👩‍👩‍👧‍👦"
    for message in render([Text(f"{link} " * 100 + family * 400)]):
        assert message.count("[") == message.count("](https://example.org/a/path)")
        assert not message.startswith("\u200d")
        assert not message.endswith("\u200d")


def test_a_table_that_has_just_begun_is_not_shown_raw() -> None:
    begun = "Here it is:\n\n"
    for end in ("| a", "| a | b |", "| a | b |\n", "| a | b |\n|--", "| a | b |\n|---|"):
        assert render([Text(begun + end)], streaming=True) == ["Here it is:"]
    assert render([Text(begun + "| a")]) == ["Here it is:\n\n| a"]


def test_half_a_fence_is_not_shown() -> None:
    assert render([Text("Code:\n```pyth")], streaming=True) == ["Code:"]
    assert render([Text("Code:\n```python\n")], streaming=True) == ["Code:"]
    assert render([Text("Code:\n```python\nx\n``")], streaming=True) == ["Code:\n```python\nx\n```"]


def test_secrets_are_masked_wherever_they_stand() -> None:
    key = "sk-ant-" + "api03-" + "A1b2C3d4" * 10
    command = Tool("1", "Bash", {"command": f"curl -H {key}"}, "ok")
    assert key[:20] not in "".join(render([Text(f"`{key}`"), Note(key), command]))


def test_a_limit_without_room_for_fences_is_refused() -> None:
    with pytest.raises(ValueError, match="400"):
        render([Text("x")], limit=100)


def test_a_reply_of_200_kb_needs_no_more_steps_than_its_parts() -> None:
    part = "# Part\n\n```python\n" + "value = 1\n" * 40 + "```\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n"
    one, many = render([Text(part * 40)]), render([Text(part * 400)])
    assert many[: len(one) - 2] == one[:-2]
