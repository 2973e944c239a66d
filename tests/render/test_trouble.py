"""The message of a failure."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.render.measure import units
from bridge.render.trouble import trouble
from tests.render.markdown import raw, untimed


def test_it_says_what_happened_what_to_do_and_why() -> None:
    assert trouble("Claude ended with exit code 1.", "Write again to retry.", "no space\n") == (
        "⚠️ **Claude ended with exit code 1.**\nWrite again to retry.\n```\nno space\n```"
    )


def test_of_a_long_tail_the_end_is_shown_from_a_lines_start() -> None:
    tail = "\n".join(f"line {i}" for i in range(1000))
    message = trouble("It broke.", "Look.", tail)
    assert message.endswith("line 999\n```")
    assert "```\n…\nline " in message


def test_without_a_tail_there_is_no_block() -> None:
    assert trouble("It broke.", "Wait.", " \n") == "⚠️ **It broke.**\nWait."


def test_secrets_of_the_tail_are_masked() -> None:
    key = "ghp_" + "a1B2" * 9
    assert key not in trouble("It broke.", f"Not with {key}.", f"token {key}")


@untimed
@given(raw, raw, st.one_of(raw, raw.map(lambda text: text * 5)), st.sampled_from([200, 2000]))
def test_any_text_makes_one_whole_message(what: str, todo: str, tail: str, limit: int) -> None:
    message = trouble(what, todo, tail, limit)
    assert units(message) <= limit
    assert message.count("```") in (0, 2)
    message.encode()
