"""How one thread shows its replies: as much as it wants to see, and what Claude has still to do."""

import logging
import time
from collections.abc import Mapping

from bridge.discord_io.outbox import Reply
from bridge.interact.outputs import output_button
from bridge.narration import Narration, ended_task
from bridge.protocol import System
from bridge.render import Note, render
from bridge.render.pages import Pages
from bridge.render.segments import Item
from bridge.render.view import View
from bridge.services import Services
from bridge.turn import ActiveTurn, contents

log = logging.getLogger(__name__)


class Display:
    """What is kept between the replies of a thread."""

    def __init__(self, thread: int, services: Services) -> None:
        """Nothing is known of Claude's list yet."""
        self._thread = thread
        self._s = services
        self._items: Mapping[str, Item] = {}
        self._generation = 0

    def pages(self) -> Pages:
        """What renders the next reply, as the thread wants it now."""
        record = self._s.store.get(self._thread)
        if record is None:
            return Pages()
        if record.generation != self._generation:  # another past, another list
            self._generation = record.generation
            self._items = {}
        verbosity = record.settings.verbosity or self._s.config.verbosity
        return Pages(cwd=record.cwd, view=View(verbosity, self._items))

    def finish(self, turn: ActiveTurn, words: str) -> None:
        """Show the whole of a turn's reply, with its last words."""
        pages, parts = turn.renderer, turn.narration.segments
        try:
            shown = contents(pages, parts, words)
        except Exception:
            # The reply must come to its end whatever is in it: the next one waits for that.
            log.exception("thread %d: a reply cannot be rendered", self._thread)
            text = turn.narration.text
            shown = [*(text[at : at + 1900] for at in range(0, len(text), 1900)), words]
        self._items = pages.view.after(parts)
        # A session knows no turn that the CLI began by itself.
        asks = turn.item is not None and pages.view.leaves_out(parts)
        turn.reply.finish(shown, output_button(turn.prompt_id) if asks else None)

    def again(self, prompt_id: str, narration: Narration, reply: Reply, words: str) -> None:
        """Show a reply that a bot before this one did not bring to its end."""
        pages, parts = self.pages(), narration.segments
        button = output_button(prompt_id) if pages.view.leaves_out(parts) else None
        reply.finish(contents(pages, parts, words), button)

    def ended(self, event: System) -> None:
        """Tell of a task in the background that has ended while no turn ran."""
        record = self._s.store.get(self._thread)
        quiet = record is not None and record.settings.verbosity == "quiet"
        if not (quiet and event.status == "completed"):
            words = render([Note(ended_task(event))])
            self._s.outbox.post(self._thread, words, f"{time.time_ns():x}-task")
