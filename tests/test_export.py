"""A conversation leaves as a file in which its words are nothing but words."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import export
from bridge.export import Head
from compaction.transcript import Transcript
from tests.compaction.transcript.sessions import Session, answer, call, text

HEAD = Head("Fix <b>the</b> login", "0b6f1c1e-6f53-4a55-9d0e-3a8f5f5d8d11", "/home/me")
OWN_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "code"),
    *("section", "pre", "details", "summary"),
}


class Reader(HTMLParser):
    """Collects tags, attributes and the text that a browser shows."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def transcript(folder: Path, *, said: str, result: str = "out", command: str = "ls") -> Transcript:
    session = Session()
    session.user(said)
    session.assistant([text("Let me look."), call("t1", command=command)])
    session.user([answer("t1", result)])
    session.assistant([text("All *done*.")])
    return Transcript.read(session.save(folder))


def test_both_kinds_tell_what_was_said_and_done(tmp_path: Path) -> None:
    found = transcript(tmp_path, said="Please look", result="a.txt", command="ls -l")
    for kind in ("markdown", "html"):
        page = export.export(found, HEAD, kind).decode()
        for words in ("Please look", "Let me look.", "ls -l", "a.txt", "All *done*.", HEAD.sid):
            assert words in page, kind


@given(st.text(min_size=1, max_size=80))
def test_a_page_has_no_tag_that_is_not_its_own_whatever_was_said(
    tmp_path_factory: pytest.TempPathFactory, words: str
) -> None:
    folder = tmp_path_factory.mktemp("export")
    hostile = f"</pre><script>alert(1)</script><img src=x onerror=y>{words}"
    found = transcript(folder, said=hostile, result=hostile, command=hostile)
    reader = Reader()
    reader.feed(export.export(found, Head(hostile, HEAD.sid, hostile), "html").decode())
    assert reader.tags <= OWN_TAGS
    assert not reader.attributes & {"src", "href", "onerror"}
    assert "alert(1)" in "".join(reader.words)


def test_no_line_of_a_conversation_is_markup_of_the_document(tmp_path: Path) -> None:
    hostile = "# Heading\n```\nopen fence\n<script>\n[x](javascript:1)"
    found = transcript(tmp_path, said=hostile, result="````\nfences\n```")
    lines = export.export(found, HEAD, "markdown").decode().splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        r"# Fix \<b\>the\</b\> login",
        "## You",
        "## Claude",
        "## Claude",
    ]
    assert "> <script>" in lines
    fences = [line for line in lines if re.fullmatch("`{5,}", line)]
    assert len(fences) == 2


def test_credentials_do_not_leave(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "A1b2" * 20
    found = transcript(tmp_path, said=f"my key is {key}", result=key, command=f"echo {key}")
    for kind in ("markdown", "html"):
        assert key.encode() not in export.export(found, HEAD, kind)


def test_a_long_result_is_cut_and_says_so(tmp_path: Path) -> None:
    found = transcript(tmp_path, said="x", result="y" * 9000)
    assert "5000 more characters" in export.export(found, HEAD, "markdown").decode()


def test_a_file_name_is_plain(tmp_path: Path) -> None:
    assert export.file_name(HEAD, "html") == "fix-b-the-b-login-0b6f1c1e.html"
    odd = Head("../../ \u202e 日本", HEAD.sid, "")
    assert export.file_name(odd, "markdown") == "conversation-0b6f1c1e.md"
