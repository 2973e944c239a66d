"""What one reply shows, built from the events of its turn: text, calls of tools, notes.

Pure: events go in, segments for `bridge.render` come out. Each event may come twice, or be read
back from the transcript after a restart: ids decide, not order alone.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from bridge.protocol import (
    Assistant,
    Delta,
    Event,
    Result,
    System,
    TextBlock,
    ToolResultBlock,
    ToolResults,
    ToolUseBlock,
)
from bridge.protocol.events import ApiUsage, parse_object
from bridge.render.segments import Break, Note, Part, Segment, Text, Tool

_THINKING = Note("💭 Thinking …", minor=True)
_EXCERPT = 4000
"""Characters that are kept of an output: half of its beginning, half of its end."""


class Narration:
    """The segments of one reply, in the order in which Claude produced them."""

    def __init__(self, breaks: Iterable[str] = ()) -> None:
        """An empty reply; `breaks` are the ids of calls about which people were asked before."""
        self._breaks = set(breaks)
        self._segments: dict[str, Segment] = {}
        self._seen: set[str] = set()
        self._open: dict[str, str] = {}
        self._api_errors: set[str] = set()
        self._denied: set[str] = set()
        self._notes = 0
        self._live = ""
        self._over = False
        self._failed = False
        self._final = ""
        self._passing: Note | None = None
        self.aside = ""
        """What the footer tells besides its figures."""
        self.usage: ApiUsage | None = None
        self.model: str | None = None
        self.started = False
        """The model has begun to answer."""

    @property
    def segments(self) -> list[Part]:
        """All that is to be shown now; a passing note (a retry) stands last."""
        shown: list[Part] = []
        for segment in self._segments.values():
            if not isinstance(segment, Text) or segment.markdown.strip():
                shown.append(segment)
            if isinstance(segment, Tool) and segment.id in self._breaks:
                shown.append(Break())
        return [*shown, self._passing] if self._passing else shown

    @property
    def text(self) -> str:
        """Claude's own words so far."""
        texts = [s.markdown for s in self._segments.values() if isinstance(s, Text)]
        return "\n\n".join(texts)

    def note(self, text: str, *, minor: bool = False) -> None:
        """Add a line of the bot itself."""
        self._notes += 1
        self._segments[f"note:{self._notes}"] = Note(text, minor)

    def passing(self, text: str) -> None:
        """Say something that holds for the moment, "" nothing; it goes when the model speaks."""
        self._passing = Note(text) if text else None

    def close(self) -> None:
        """The turn is over, however it ended: nothing is under way any more."""
        self._passing = None
        self._over = True
        self._close()

    def deny(self, tool_use_id: str) -> None:
        """The person refused this call; its error is not the tool's."""
        self._denied.add(tool_use_id)

    def split(self, tool_use_id: str) -> None:
        """People are asked about this call: what comes after it is shown below the question."""
        self._breaks.add(tool_use_id)

    def agent_of(self, tool_use_id: str) -> str:
        """The description of the subagent that made a call; nothing if none did."""
        call = self._segments.get(f"tool:{tool_use_id}")
        return call.agent if isinstance(call, Tool) else ""

    def feed(self, event: Event) -> bool:
        """Take one event; true if what is to be shown may have changed."""
        match event:
            case Delta():
                return self._delta(event)
            case Assistant():
                return self._assistant(event)
            case ToolResults():
                return self._results(event)
            case System():
                return self._system(event)
            case Result():
                return self._result(event)
            case _:
                return False

    def recover(self, records: list[dict[str, Any]]) -> None:
        """Take what the transcript holds of this turn, from its beginning on.

        Live text of the same blocks may still follow; it is known by its place and passed over.
        What was heard live may have gaps, because the CLI writes a message down only at its end:
        a later `recover` fills them, each block at its place.
        """
        events = [parse_object(record) for record in records]
        before = list(self._segments)
        order: list[str] = []
        places: Counter[str] = Counter()
        for event in events:
            if isinstance(event, Assistant):
                order += self._take_down(event, places)
            else:
                self.feed(event)
        self._arrange(before, order)
        if self._over:
            self._close()

    def _take_down(self, event: Assistant, places: Counter[str]) -> list[str]:
        """Take a written record, which has one block of its message; returns its segments' keys."""
        message = event.message
        if message.id not in places:
            self._drop_texts(message.id)
        keys: list[str] = []
        calls: list[ToolUseBlock] = []
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                calls.append(block)
                keys.append(f"tool:{block.id}")
            elif isinstance(block, TextBlock):
                key = f"text:{message.id}:{places[message.id]}"
                self._show(key, event, block.text)
                keys.append(key)
            places[message.id] += 1
        rest = message.model_copy(update={"content": tuple(calls)})
        self.feed(event.model_copy(update={"message": rest}))
        return keys

    def _drop_texts(self, message: str) -> None:
        """What was heard live of a message gives way to what is written."""
        for key in [key for key in self._segments if key.startswith(f"text:{message}:")]:
            del self._segments[key]
            self._open.pop(key, None)

    def _arrange(self, before: list[str], order: list[str]) -> None:
        """Give what is written that order; each other segment follows what it followed before."""
        followers: dict[str, list[str]] = {}
        written, last = set(order), ""
        for key in before:
            if key in written:
                last = key
            else:
                followers.setdefault(last, []).append(key)
        first = followers.pop("", [])
        notes = [key for key in first if key.startswith("note:")]
        arranged = [*notes, *(k for key in order for k in (key, *followers.get(key, ()))), *first]
        self._segments = {
            key: self._segments[key] for key in dict.fromkeys(arranged) if key in self._segments
        }

    # --- live text ------------------------------------------------------------------------------
    def _delta(self, event: Delta) -> bool:
        if event.parent_tool_use_id is not None:
            return False  # a subagent's words are not the answer
        body = event.event
        match body.get("type"):
            case "message_start":
                self._passing = None
                message = _object(body.get("message"))
                self.model = message.get("model") or self.model
                self.usage = _usage(message.get("usage")) or self.usage
                self._live = str(message.get("id"))
                self.started = True
                return False
            case "message_delta":
                self._count_output(body.get("usage"))
                return False
            case "content_block_start":
                was = self._passing
                thinks = _object(body.get("content_block")).get("type") == "thinking"
                self._passing = _THINKING if thinks else None
                return self._open_block(event.api_message_id, body) or self._passing != was
            case "content_block_delta":
                delta = _object(body.get("delta"))
                key = _text_key(event.api_message_id, body)
                known = self._segments.get(key) if key in self._open else None
                if delta.get("type") == "text_delta" and isinstance(known, Text):
                    self._segments[key] = Text(known.markdown + str(delta.get("text", "")))
                    return True
                return False
            case _:
                return False

    def _open_block(self, message: str, body: dict[str, Any]) -> bool:
        block = _object(body.get("content_block"))
        if block.get("type") == "text":
            key = _text_key(message, body)
            if key not in self._segments:
                self._segments[key] = Text(str(block.get("text", "")))
                self._open[key] = message
        elif block.get("type") == "tool_use":
            key = f"tool:{block.get('id')}"
            if key not in self._segments:
                name = str(block.get("name", ""))
                self._segments[key] = Tool(str(block.get("id")), name, {}, "running")
                return True
        return False

    def _count_output(self, usage: Any) -> None:
        counted = _usage(usage)
        if counted and self.usage:
            self.usage = self.usage.model_copy(update={"output_tokens": counted.output_tokens})

    # --- finished blocks ------------------------------------------------------------------------
    def _assistant(self, event: Assistant) -> bool:
        if event.uuid and event.uuid in self._seen:
            return False
        self._seen.add(event.uuid)
        agent = self._agent(event.parent_tool_use_id)
        changed = False
        for block in event.message.content:
            if isinstance(block, TextBlock) and not agent and event.parent_tool_use_id is None:
                self._settle(event, block.text)
                changed = True
            elif isinstance(block, ToolUseBlock):
                known = self._segments.get(f"tool:{block.id}")
                call = known if isinstance(known, Tool) else Tool(block.id, "", {}, "running")
                self._segments[f"tool:{block.id}"] = replace(
                    call,
                    name=block.name,
                    input=block.input,
                    agent=agent,
                    parent=event.parent_tool_use_id or "",
                )
                changed = True
        if event.parent_tool_use_id is None:
            self.started = True
        if event.parent_tool_use_id is None and not event.synthetic:
            self.model = event.message.model or self.model
            if event.message.id != self._live:
                self.usage = event.message.usage or self.usage
        return changed

    def _settle(self, event: Assistant, text: str) -> None:
        """A text block is complete: it takes the place of the live text that led to it."""
        message = event.message.id
        key = next((key for key, owner in self._open.items() if owner == message), None)
        if key is not None:
            del self._open[key]
        self._show(key or f"text:{message}:settled{len(self._segments)}", event, text)

    def _show(self, key: str, event: Assistant, text: str) -> None:
        self._segments[key] = Text(text)
        if event.api_error:
            self._api_errors.add(key)

    def _agent(self, parent: str | None) -> str:
        call = self._segments.get(f"tool:{parent}")
        if not isinstance(call, Tool):
            return "agent" if parent else ""
        return str(call.input.get("description") or call.name)

    def _results(self, event: ToolResults) -> bool:
        changed = False
        for block in event.message.content:
            if isinstance(block, ToolResultBlock):
                changed |= self._finish_tool(block)
        return changed

    def _finish_tool(self, block: ToolResultBlock) -> bool:
        call = self._segments.get(f"tool:{block.tool_use_id}")
        if not isinstance(call, Tool):
            return False
        if not block.is_error:
            state, detail = "ok", ""
        else:
            state = "denied" if block.tool_use_id in self._denied else "error"
            detail = next((line for line in block.text.splitlines() if line.strip()), "")
        self._segments[f"tool:{call.id}"] = replace(
            call, state=state, detail=detail[:200], output=_excerpt(block.text)
        )
        return True

    # --- the process speaks ---------------------------------------------------------------------
    def _system(self, event: System) -> bool:
        match event.subtype:
            case "api_retry":
                seconds = max(1, round(event.retry_delay_ms / 1000))
                cause = f"status {event.error_status}" if event.error_status else "no connection"
                self._passing = Note(
                    f"⏳ The model does not answer ({cause}); "
                    f"try {event.attempt} of {event.max_retries} in {seconds} s"
                )
                return True
            case "compact_boundary":
                before = event.compact_metadata.get("pre_tokens")
                after = event.compact_metadata.get("post_tokens")
                sizes = f": {_thousands(before)} → {_thousands(after)} tokens" if before else ""
                self.note(f"🗜️ Context compacted{sizes}")
                return True
            case "status" if event.compact_result == "failed":
                self.note(f"🗜️ Compaction failed: {event.compact_error or 'no reason given'}")
                return True
            case "status" if event.status == "compacting":
                self._passing = Note("🗜️ Compacting the context …")
                return True
            case "task_notification":
                call = self._segments.get(f"tool:{event.tool_use_id}")
                if isinstance(call, Tool) and call.state == "running":
                    return False  # it was waited for, and its result says the same
                self.note(ended_task(event), minor=event.status == "completed")
                return True
            case _:
                return False

    def _result(self, event: Result) -> bool:
        self._failed = event.is_error
        self._final = "" if event.is_error else (event.result or "").strip()
        self.close()
        return True

    def _close(self) -> None:
        """The turn is over: no call runs any more, and the result has said its word.

        It names a failure itself. A final text that no event brought (the output of a slash
        command) stands at the end.
        """
        for key, call in self._segments.items():
            if isinstance(call, Tool) and call.state == "running":
                self._segments[key] = replace(call, state="error", detail="not finished")
        if self._failed:
            for key in self._api_errors:
                self._segments.pop(key, None)
        self._segments.pop("text:result", None)
        if self._final not in self.text:
            self._segments["text:result"] = Text(self._final)


def ended_task(event: System) -> str:
    """What is said of a task in the background that has ended."""
    lines = [line.strip() for line in event.summary.splitlines() if line.strip()]
    about = f": {lines[0][:120]}" if lines else ""
    return f"🔔 In the background, {event.status or 'ended'}{about}"


def _excerpt(output: str) -> str:
    if len(output) <= _EXCERPT:
        return output
    return f"{output[: _EXCERPT // 2]}\n…\n{output[-_EXCERPT // 2 :]}"


def _text_key(message: str, body: dict[str, Any]) -> str:
    return f"text:{message}:{body.get('index')}"


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _usage(value: Any) -> ApiUsage | None:
    try:
        return ApiUsage.model_validate(value)
    except ValidationError:
        return None


def _thousands(tokens: Any) -> str:
    return f"{tokens / 1000:.0f}k" if isinstance(tokens, int | float) else "?"
