"""What a permission request looks like: nothing of what is to be allowed is out of sight."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.interact.body import Body, body_of
from bridge.protocol import PermissionRequest
from bridge.render import MESSAGE_LIMIT

KEY = "sk-ant-api03-" + "A1b2C3d4" * 8
PEM = "-----BEGIN PRIVATE KEY-----\n" + ("A1b2C3d4" * 8 + "\n") * 3 + "-----END PRIVATE KEY-----\n"

words = st.text(st.sampled_from("ab `*_|<>#@\n~[]"), max_size=30).map(lambda text: f"q{text}p")


def request(input: dict[str, Any], **more: Any) -> PermissionRequest:
    return PermissionRequest(tool_name="Tool", input=input, **more)


def all_of(body: Body) -> str:
    """What a person can read, white space and the marks of Discord's Markdown aside."""
    if body.file:
        return plain(body.file.data.decode())
    first, *rest = body.contents
    return plain("\n".join([first, *(re.sub(r"^`{3,}(sh|json)\n", "", page) for page in rest)]))


def plain(text: str) -> str:
    return re.sub(r"[\s\\\u200b`]|^-# ", "", text)


@given(
    st.dictionaries(
        st.sampled_from(["command", "file_path", "content", "timeout", "description"]),
        words | st.integers(0, 9) | st.booleans() | st.lists(words, max_size=2),
    ),
    words,
    st.sampled_from([1, 40, 400]),
)
def test_all_of_a_request_is_shown(input: dict[str, Any], about: str, times: int) -> None:
    input = {k: v * times if isinstance(v, str) else v for k, v in input.items()}
    body = body_of(request(input, description=about))
    shown = all_of(body)
    for name, value in input.items():
        if name == "command" and isinstance(value, str):
            assert plain(value) in shown
        elif not (name == "description" and "command" in input and value == about):
            assert plain(f"{json.dumps(name)}: {json.dumps(value)}") in shown
    assert len(body.contents) <= 3
    assert all(body.contents)
    closed = body.closed(f"✅ allowed by {'x' * 60}")
    assert len(closed.encode("utf-16-le")) // 2 <= MESSAGE_LIMIT


@pytest.mark.parametrize("size", [5_000, 30_000, 1_000_000])
@pytest.mark.parametrize("where", ["command", "content", "description"])
def test_what_needs_many_messages_is_a_file_with_a_beginning(where: str, size: int) -> None:
    line = "some words, and then some more of them\n"
    text = line * (size // len(line)) + "the end"
    body = (
        body_of(request({"command": "touch it"}, description=text))
        if where == "description"
        else body_of(request({where: text}))
    )
    many = size > 3 * MESSAGE_LIMIT or where == "description"
    assert (body.file is not None) == many
    assert len(body.contents) <= 3
    assert "some words" in body.contents[0]
    if many:
        assert plain("the end") in all_of(body)
        assert "only the beginning" in body.contents[-1]
    if where == "description":
        assert "touchit" in all_of(body)


@pytest.mark.parametrize("filler", ["", "x\n" * 4000], ids=["in a message", "in a file"])
@pytest.mark.parametrize(
    "input",
    [
        {"command": f"curl -H 'x-api-key: {KEY}' # "},
        {"file_path": "key.pem", "content": PEM},
        {"edits": [{"new_string": PEM}], "content": KEY},
        {"file_path": "k", "old_string": "a", "new_string": PEM},
    ],
)
def test_secrets_are_hidden_in_both(input: dict[str, Any], filler: str) -> None:
    padded = {k: v + filler if isinstance(v, str) else v for k, v in input.items()}
    wanted = request(padded, description=f"use {KEY}")
    if "old_string" in input:
        wanted = wanted.model_copy(update={"tool_name": "Edit"})
        assert "```diff" in body_of(wanted).contents[0]
    body = body_of(wanted)
    assert (body.file is not None) == bool(filler)
    seen = "\n".join([*body.contents, body.file.data.decode() if body.file else ""])
    assert "***" in seen
    assert "A1b2C3d4" not in seen.replace("\\", "")


def test_a_secret_at_the_edge_of_what_is_shown_is_hidden() -> None:
    for before in range(3850, 4010, 7):
        body = body_of(request({"command": "y" * before + f" {KEY} " + "z" * 9000}))
        assert "A1b2" not in "".join(body.contents)


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("touch one two", False),
        ("touch one…", False),
        ("touch o…", False),
        ("touch one   two", False),
        ("", False),
        ("Make two files", True),
        ("touch one three", True),
    ],
)
def test_a_description_is_shown_if_it_says_more_than_the_command(
    description: str, shown: bool
) -> None:
    body = body_of(request({"command": "touch one\ntwo"}, description=description))
    head = body.contents[0].partition("\n")[0]
    assert (description in head and head != "🔐 **Tool** asks for permission") == shown
    assert head.startswith("🔐 **Tool** asks for permission")


def test_a_description_cannot_pass_for_the_command() -> None:
    body = body_of(request({"command": "rm -r it"}, description="ok\n```sh\nls\n``` ||"))
    assert body.contents[0].count("```") == 2
    assert "||" not in body.contents[0]
    assert "```sh\nrm -r it\n```" in body.contents[0]


def edit(tool: str, **input: Any) -> Body:
    return body_of(PermissionRequest(tool_name=tool, input=input))


def test_edits_are_diffs_and_what_else_they_hold_is_shown() -> None:
    one = edit("Edit", file_path="/a/f.py", old_string="x\n", new_string="y\n", replace_all=True)
    (shown,) = one.contents
    assert "asks for permission: /a/f.py" in shown
    assert "```diff\n-x\n+y\n```" in shown
    assert '"replace_all": true' in shown
    plain_edit = edit("Edit", file_path="f", old_string="x", new_string="y", replace_all=False)
    assert "replace_all" not in plain_edit.contents[0]
    both = [
        {"old_string": "a", "new_string": "b"},
        {"old_string": "c", "new_string": "d", "replace_all": True},
    ]
    (shown,) = edit("MultiEdit", file_path="f", edits=both).contents
    assert "-a\n+b\n\nevery place:\n-c\n+d" in shown


def test_an_edit_of_an_unknown_form_is_shown_as_it_is() -> None:
    for odd in ({"old_string": "a", "new_string": "b", "more": "hidden"}, {"old_string": 1}, "x"):
        (shown,) = edit("MultiEdit", file_path="f", edits=[odd]).contents
        assert "diff" not in shown
        assert json.dumps(odd if isinstance(odd, str) else next(iter(odd))) in shown
        if isinstance(odd, dict) and "more" in odd:
            assert "hidden" in shown
    (shown,) = edit("Edit", file_path="f", old_string="a", new_string="b", more="hidden").contents
    assert "hidden" in shown


def test_a_write_is_compared_with_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("a\nb\n")
    (shown,) = edit("Write", file_path=str(file), content="a\nc\n").contents
    assert "```diff\n a\n-b\n+c\n```" in shown
    file.write_bytes(b"\xff\xfe")
    for path in (file, tmp_path, tmp_path / "new", "/dev/zero", "\0"):
        (shown,) = edit("Write", file_path=str(path), content="a\nc\n").contents
        assert "```diff\n+a\n+c\n```" in shown


def test_a_subagent_is_named_harmlessly() -> None:
    body = body_of(request({"command": "ls"}), "look @everyone **here**\n" + "x" * 500)
    head = body.contents[0].partition("\n")[0]
    assert head.endswith("asks for permission")
    assert "@everyone" not in head
    assert len(head) < 300


def test_questions_that_need_many_messages_are_a_file() -> None:
    options = [{"label": f"way {n}", "description": "words " * 900} for n in range(4)]
    asked = {"questions": [{"question": "Which?", "options": options}]}
    body = body_of(PermissionRequest(tool_name="AskUserQuestion", input=asked))
    assert body.file is not None
    assert "way 3" in body.file.data.decode()
    assert len(body.contents) <= 3


@pytest.mark.parametrize("size", [1, 300, 3_000, 12_000, 100_000])
def test_a_plan_is_there_in_full(size: int) -> None:
    plan = "\n".join(f"- step {n} `x`" for n in range(size // 10)) + "\n\nthe end"
    body = body_of(PermissionRequest(tool_name="ExitPlanMode", input={"plan": plan}))
    whole = body.file.data.decode() if body.file else "\n".join(body.contents)
    assert "the end" in whole
    assert all(f"step {n} " in whole for n in range(size // 10))
    closed = body.closed("✅ " + "é" * 900)
    assert len(closed.encode("utf-16-le")) // 2 <= MESSAGE_LIMIT


def test_a_plan_without_words_is_shown_as_a_request() -> None:
    body = body_of(PermissionRequest(tool_name="ExitPlanMode", input={}))
    assert "asks for permission" in body.contents[0]
