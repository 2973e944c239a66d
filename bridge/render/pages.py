"""One reply with questions in between: what follows a question stands in messages of its own."""

from collections.abc import Sequence

from bridge.render.reply import MESSAGE_LIMIT, Renderer
from bridge.render.segments import Break, Part, Segment
from bridge.render.view import View

ALL = View("full")


class Pages:
    """Renders a growing reply; at each `Break` a new message begins."""

    def __init__(self, *, limit: int = MESSAGE_LIMIT, cwd: str = "", view: View = ALL) -> None:
        """See `Renderer`; `view` says what of the parts is shown."""
        self.view = view
        self._limit = limit
        self._cwd = cwd
        self._renderers: list[Renderer] = []

    def render(
        self, parts: Sequence[Part], *, footer: str = "", streaming: bool = False
    ) -> list[str]:
        """The messages of these parts; see `bridge.render.render`.

        The footer stands below the last words, not in a message of its own.
        """
        pages = _pages(self.view.of(parts))
        while len(self._renderers) < len(pages):
            self._renderers.append(Renderer(limit=self._limit, cwd=self._cwd))
        last = len(pages) - 1
        shown = [
            renderer.render(page, streaming=streaming and index == last)
            for index, (renderer, page) in enumerate(zip(self._renderers, pages, strict=False))
        ]
        if footer:
            at = max((index for index, page in enumerate(shown) if page), default=0)
            shown[at] = self._renderers[at].render(pages[at], footer=footer)
        return [message for page in shown for message in page]


def _pages(parts: Sequence[Part]) -> list[list[Segment]]:
    pages: list[list[Segment]] = [[]]
    for part in parts:
        if isinstance(part, Break):
            pages.append([])
        else:
            pages[-1].append(part)
    return pages
