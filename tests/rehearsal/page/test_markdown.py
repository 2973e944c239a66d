"""Discord's Markdown as the page shows it, in a real browser."""

import html
import json

from bridge.rehearsal.discord import LoopbackDiscord
from tests.support.browser import Page

RENDER = """
import("/visitor/markdown.js").then(({ markdown }) => {
  const store = {
    users: new Map([["1", { username: "bob" }]]),
    roles: new Map([["2", { name: "admins" }]]),
    channels: new Map([["3", { name: "general" }]]),
  };
  const box = document.createElement("div");
  box.append(...markdown(%s, store));
  return box.innerHTML;
})
"""


def paragraph(inner: str) -> str:
    return f'<div class="md-text">{inner}</div>'


CASES = {
    "plain": paragraph("plain"),
    "two\nlines": paragraph("two\nlines"),
    "**b** *i* ***bi*** __u__ ~~s~~ _e_": paragraph(
        "<strong>b</strong> <em>i</em> <strong><em>bi</em></strong> <u>u</u> <s>s</s> <em>e</em>"
    ),
    "snake_case_name 2 * 3 * 4": paragraph("snake_case_name 2 * 3 * 4"),
    r"\*not\* `**code**`": paragraph("*not* <code>**code**</code>"),
    "``a ` b``": paragraph("<code>a ` b</code>"),
    "# One": "<h2>One</h2>",
    "### Three\nx": "<h4>Three</h4>" + paragraph("x"),
    "#### four": paragraph("#### four"),
    "#nospace": paragraph("#nospace"),
    "-# small **b**": '<small class="md-subtext">small <strong>b</strong></small>',
    "> q1\n> q2\nafter": f"<blockquote>{paragraph('q1' + chr(10) + 'q2')}</blockquote>"
    + paragraph("after"),
    ">>> all\nof it": f"<blockquote>{paragraph('all' + chr(10) + 'of it')}</blockquote>",
    "- a\n  - b\n- c": "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    "3. x\n4. y": '<ol start="3"><li>x</li><li>y</li></ol>',
    "<@1> <@!1> <@&2> <@9>": paragraph(
        " ".join(
            f'<span class="mention">@{name}</span>'
            for name in ("bob", "bob", "admins", "unknown-user")
        )
    ),
    "</new:5> <:wave:6>": paragraph('<span class="mention">/new</span> :wave:'),
    "a <b>x</b> & co": paragraph("a &lt;b&gt;x&lt;/b&gt; &amp; co"),
    "unclosed ``` fence **": paragraph("unclosed ``` fence **"),
}


async def render(page: Page, text: str) -> str:
    return await page.evaluate(RENDER % json.dumps(text))


async def test_each_form_becomes_its_elements(page: Page) -> None:
    shown = {text: await render(page, text) for text in CASES}
    assert shown == CASES


async def test_links_open_apart_and_take_web_addresses_only(page: Page) -> None:
    for text, url in [
        ("https://example.com/a_(b)?c=d.", "https://example.com/a_(b)?c=d"),
        ("<https://example.com>", "https://example.com"),
        ("[words](https://example.com/x)", "https://example.com/x"),
    ]:
        shown = await render(page, text)
        assert f'href="{html.escape(url)}" target="_blank" rel="noopener noreferrer"' in shown
    assert "<a" not in await render(page, "[x](javascript:alert(1)) javascript:alert(1)")


async def test_a_fence_keeps_its_text_and_colours_its_words(page: Page) -> None:
    shown = await render(page, "before\n```python\nif x:  # why\n    **y**\n```\nafter")
    assert shown.startswith(paragraph("before") + '<pre data-language="python"><code>')
    assert '<span class="hl-keyword">if</span>' in shown
    assert '<span class="hl-comment"># why</span>' in shown
    assert "**y**" in shown
    assert shown.endswith(paragraph("after"))
    changes = await render(page, "```diff\n+new\n-old\n```")
    assert '<span class="hl-added">+new\n</span><span class="hl-removed">-old</span>' in changes


async def test_timestamps_are_shown_in_the_readers_time(page: Page) -> None:
    assert "2023" in await render(page, "<t:1700000000:F>")
    assert "ago" in await render(page, "<t:1700000000:R>")


async def test_nothing_that_is_written_becomes_markup(served: LoopbackDiscord, page: Page) -> None:
    evil = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
    author = served.add_user(evil[:80])
    for text in (evil, f"```{evil}```", f"# {evil}", f"||{evil}||", f"[{evil}](https://x.y)"):
        await served.say(served.general, text, author=author, files={"<b>.txt": b"x"})
    await page.until("document.querySelectorAll('.file').length === 5")
    assert await page.evaluate("document.querySelectorAll('#messages img, script').length") == 1
    assert await page.evaluate("window.pwned === undefined")
