"""OpenClaw's view without old images, rule by rule."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.images import IMAGE_REMOVED, REFERENCE_REMOVED, view
from tests.compaction.pruning.contexts import IMAGE, Json, assistant, result, text, user

GONE = text(IMAGE_REMOVED)


def turns(count: int) -> list[Json]:
    return [message for at in range(count) for message in (user(f"turn {at}"), assistant())]


def viewed(*content: Any, **more: Any) -> Any:
    """What becomes of the content of an old prompt."""
    given: Any = content[0] if len(content) == 1 and isinstance(content[0], str) else [*content]
    out = view([{**user(given), **more}, assistant(), *turns(3), user("now")])
    return None if out is None else out[0]["content"]


def test_images_older_than_three_completed_turns_go() -> None:
    old = [user([text("look"), IMAGE]), assistant(), result("a", IMAGE, "seen"), assistant()]
    messages = [*old, *turns(3), user("now")]
    before = deepcopy(messages)
    out = view(messages)
    assert out is not None
    assert out[0]["content"] == [text("look"), GONE]
    assert out[2]["content"] == [GONE, text("seen")]
    assert out[2]["toolCallId"] == "a"
    assert all(new is old for new, old in zip(out[3:], messages[3:], strict=True))
    assert messages == before


def test_the_third_newest_completed_turn_keeps_its_images() -> None:
    assert view([user([IMAGE]), assistant(), *turns(2), user("now")]) is None
    messages = [*turns(1), user([IMAGE]), assistant(), *turns(2), user("now")]
    assert view(messages) is None


def test_turns_of_text_alone_use_up_the_window() -> None:
    messages = [user([IMAGE]), assistant(), *turns(3), user([IMAGE])]
    out = view(messages)
    assert out is not None
    assert out[0]["content"] == [GONE]
    assert out[-1] is messages[-1]


def test_a_tool_loop_is_one_turn_and_changes_nothing_while_it_runs() -> None:
    loop = [step for at in range(9) for step in (assistant(), result(f"t{at}", IMAGE))]
    messages = [user([IMAGE]), assistant(), *turns(2), user("go"), *loop, assistant()]
    assert view(messages) is None
    out = view([*messages, user("next")])
    assert out is not None
    assert out[0]["content"] == [GONE]
    assert out[1:-1] == messages[1:]


def test_prompts_without_an_answer_complete_no_turn() -> None:
    assert view([user([IMAGE])] * 9) is None
    assert view([user([IMAGE]), assistant(), *[user("again")] * 9]) is None
    assert view([]) is None


def test_a_result_that_comes_first_begins_a_turn() -> None:
    messages = [result("a", IMAGE), assistant(), *turns(3), user("now")]
    out = view(messages)
    assert out is not None
    assert out[0]["content"] == [GONE]


def test_answers_are_never_rewritten() -> None:
    answer = assistant(text("[media attached: /a.png]"), IMAGE)
    messages = [user("first"), answer, *turns(3), user("now")]
    assert view(messages) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a [media attached: /in/a.png (image/png) | u] b", f"a {REFERENCE_REMOVED} b"),
        ("[Media Attached 1/2: x]\n[media attached 2/2: y]", "\n".join([REFERENCE_REMOVED] * 2)),
        ("see [image: SOURCE: /tmp/x.png]!", f"see {REFERENCE_REMOVED}!"),
        ("(media://inbound/a-1.png] rest", f"({REFERENCE_REMOVED}] rest"),
        (
            "media://inbound/a/b media://inbound/c\\d",
            f"{REFERENCE_REMOVED}/b {REFERENCE_REMOVED}\\d",
        ),
    ],
)
def test_media_references_go_from_old_texts(words: str, expected: str) -> None:
    assert viewed(words) == expected
    assert viewed(text(words), IMAGE) == [text(expected), GONE]


@pytest.mark.parametrize(
    "words", ["plain", "[media attached:]", "media://outbound/a", "[Image: x]"]
)
def test_other_texts_stay(words: str) -> None:
    assert viewed(words) is None


def test_references_of_recent_turns_stay() -> None:
    recent = user("[media attached: /a.png]")
    messages = [*turns(2), recent, assistant(), *turns(2), recent]
    assert view(messages) is None


FACT = {"path": "/work/in/a.png", "url": "media://inbound/a.png", "workspace": "/work"}


def test_a_message_that_owns_its_media_loses_only_markers_of_these() -> None:
    words = (
        "[media attached: ./in/a.png (image/png)] [Image: source: in/a.png]"
        " [media attached: /work/in/a.png | media://inbound/a.png] [media attached: /b.png]"
        " why is media://inbound/a.png so large?"
    )
    assert viewed(words, media=[FACT]) == (
        f"{REFERENCE_REMOVED} {REFERENCE_REMOVED} {REFERENCE_REMOVED} [media attached: /b.png]"
        " why is media://inbound/a.png so large?"
    )


def test_a_relative_name_needs_a_workspace() -> None:
    words = "[media attached: in/a.png]"
    assert viewed(words, media=[{**FACT, "workspace": None}]) == words


def test_owned_media_are_forgotten_and_captions_survive_a_second_view() -> None:
    messages = [
        {**user("a caption on media://inbound/a.png"), "media": [FACT]},
        *(assistant(), *turns(3), user("now")),
    ]
    once = view(messages)
    assert once is not None
    assert once[0] == {**user("a caption on media://inbound/a.png"), "mediaPruned": True}
    assert view(once) is None


BLOCKS = st.one_of(
    st.sampled_from([None, 7, IMAGE, {"type": "text", "text": 3}]),
    st.sampled_from(["words", "[media attached: /a]", "media://inbound/x y"]).map(text),
)


def message(role: str, content: Any, media: Any) -> Json:
    return {"role": role, "content": content, **({"media": media} if media is not None else {})}


MESSAGES = st.builds(
    message,
    st.sampled_from(["user", "assistant", "toolResult", "custom"]),
    st.one_of(st.lists(BLOCKS, max_size=3), st.sampled_from(["[Image: source: a]", "words", None])),
    st.sampled_from([None, None, [], [FACT], "odd"]),
)


@given(st.lists(MESSAGES, max_size=25))
def test_a_second_view_changes_nothing(messages: Sequence[Json]) -> None:
    before = deepcopy(messages)
    once = view(messages)
    assert messages == before
    assert once is None or view(once) is None
