"""A conversation as one file to keep: Markdown, or a page of HTML that needs nothing else.

Whatever stands in a conversation is text here: no word of it becomes a link, a script or a tag, and
what looks like a credential is masked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Literal

from bridge.render.inline import one_line
from bridge.render.measure import clip
from bridge.render.secrets import mask
from compaction.messages import Message, ToolUse
from compaction.transcript import Transcript

Format = Literal["markdown", "html"]

LONGEST_RESULT = 4000
"""Characters of one tool's result; what is more is left out, and said to be so."""

_GIST_KEYS = ("command", "file_path", "path", "pattern", "url", "query", "description", "prompt")
_HARMLESS = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>#|!"})
_STYLE = """\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}
section{margin:1.2rem 0;padding:.2rem 1rem;border-left:4px solid #8886}
section.user{border-color:#5865f2}section.assistant{border-color:#d97757}
h2{font-size:.85rem;margin:.4rem 0;opacity:.7}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0}
pre.said{font:inherit}details{margin:.4rem 0}summary{cursor:pointer;opacity:.8}
details pre{font-size:.85rem;padding:.6rem;background:#8882}.error{color:#c33}"""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above a conversation."""

    title: str
    sid: str
    cwd: str


def export(
    transcript: Transcript, head: Head, kind: Format, longest: int = LONGEST_RESULT
) -> bytes:
    """The conversation that the session holds, as a file's content.

    Of each tool's result, `longest` characters are kept.
    """
    write = _html if kind == "html" else _markdown
    text = write(transcript, head, longest)
    return text.encode("utf-8", "replace")


def file_name(head: Head, kind: Format) -> str:
    """A name that no system trips over."""
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in head.title.lower())
    words = "-".join(filter(None, letters.split("-")))[:40].strip("-") or "conversation"
    return f"{words}-{head.sid[:8]}.{'html' if kind == 'html' else 'md'}"


# --- Markdown ---------------------------------------------------------------------------------
def _markdown(transcript: Transcript, head: Head, longest: int) -> str:
    title = mask(one_line(head.title)).translate(_HARMLESS)
    parts = [f"# {title}", f"Session {_span(head.sid)}, folder {_span(head.cwd)}"]
    for message in transcript.messages:
        parts += _message_in_markdown(message, longest)
    return "\n\n".join(parts) + "\n"


def _message_in_markdown(message: Message, longest: int) -> Iterator[str]:
    if message.text.strip():
        who = "Claude" if message.role == "assistant" else "You"
        yield f"## {who}"
        # Each line a quotation: no heading, fence or tag of it ends what it stands in.
        yield "\n".join(f"> {line}" for line in mask(message.text).strip().split("\n"))
    for use in message.tool_uses:
        yield f"**{use.tool.translate(_HARMLESS)}** {_span(_gist(use))}"
    for result in message.tool_results:
        mark = "Failed:" if result.is_error else "Result:"
        if shown := _shown(result.text, result.images, longest):
            yield f"{mark}\n\n{_fenced(shown)}"


def _span(text: str) -> str:
    text = mask(one_line(text)) or " "
    ticks = "`" * (_longest_run(text) + 1)
    return f"{ticks} {text} {ticks}"


def _fenced(text: str) -> str:
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest


# --- HTML -------------------------------------------------------------------------------------
def _html(transcript: Transcript, head: Head, longest: int) -> str:
    title = escape(mask(one_line(head.title)))
    body = "".join(_message_in_html(message, longest) for message in transcript.messages)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"<p>Session <code>{escape(head.sid)}</code>, folder <code>{escape(head.cwd)}</code></p>"
        f"{body}</body></html>\n"
    )


def _message_in_html(message: Message, longest: int) -> str:
    parts: list[str] = []
    if message.text.strip():
        parts.append(f'<pre class="said">{_safe(message.text.strip())}</pre>')
    for use in message.tool_uses:
        given = json.dumps(dict(use.input), ensure_ascii=False, indent=1, default=str)
        summary = f"{_safe(use.tool)} <code>{_safe(_gist(use))}</code>"
        parts.append(_folded(summary, given, ""))
    for result in message.tool_results:
        if shown := _shown(result.text, result.images, longest):
            kind = ' class="error"' if result.is_error else ""
            parts.append(_folded("Failed" if result.is_error else "Result", shown, kind))
    if not parts:
        return ""
    # Results come as messages of the user's side, who did not say them.
    own = message.role == "user" and bool(message.text.strip())
    who = "You" if own else "Claude"
    return (
        f'<section class="{"user" if own else "assistant"}"><h2>{who}</h2>{"".join(parts)}'
        "</section>"
    )


def _folded(summary: str, text: str, kind: str) -> str:
    return f"<details{kind}><summary>{summary}</summary><pre>{_safe(text)}</pre></details>"


def _safe(text: str) -> str:
    return escape(mask(text))


# --- both -------------------------------------------------------------------------------------
def _gist(use: ToolUse) -> str:
    """What a call is about, on one line."""
    told = next((str(use.input[key]) for key in _GIST_KEYS if use.input.get(key)), "")
    return clip(one_line(told), 200)


def _shown(text: str, images: int, longest: int) -> str:
    text = mask(text).strip("\n")
    if len(text) > longest:
        text = f"{text[:longest]}\n… {len(text) - longest} more characters"
    pictures = f"({images} image{'s' if images > 1 else ''})" if images else ""
    return "\n".join(filter(None, (text, pictures)))
