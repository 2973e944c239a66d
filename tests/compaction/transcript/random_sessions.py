"""Random transcripts with all that happens to real ones, and random decisions about them."""

from typing import Any

from hypothesis import strategies as st

from compaction.decisions import Action, Decision
from tests.compaction.transcript.sessions import Json, Session, answer, call, name, text, thinking

WORDS = st.sampled_from(
    ["Go on.", "Ünïcode 漢字 😀", "Why?\n\nBecause.", 'a "quote" \\', "x" * 700]
)
IMAGE: Json = {
    "type": "image",
    "source": {"type": "base64", "media_type": "i", "data": "A" * 99},
}
CONTENTS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["ok", "line\n" * 200, "", "half of a pair \ud83d", "Ω" * 900]),
    st.just([{"type": "text", "text": "in blocks " * 40}, {"type": "text", "text": "more"}]),
    st.just([IMAGE]),
    st.just([{"type": "text", "text": "seen"}, IMAGE, IMAGE]),
)
ODDITIES = (
    *("sidechain", "branch", "dangling", "unknown", "garbage", "twice", "progress", "attachment"),
    *("snapshot", "meta", "orphan", "pending", "synthetic", "late", "null logical", "interrupt"),
)
ACTIONS: tuple[Action, ...] = ("keep", "trim", "stub", "drop_result", "drop_call", "trim_input")


class Random:
    """One random session; `data` draws what happens."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.session = Session()
        self.calls: list[str] = []
        self.tail = b""

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    def make(self) -> Session:
        """Some turns, perhaps a compaction between them, and an end."""
        turns = self.draw(st.integers(1, 6))
        compacted = self.draw(st.integers(0, 8))
        for at in range(turns):
            if at and at == compacted:
                kept = self.draw(st.booleans()) and at > 1 and self.calls == []
                last = self.session.tip
                self.session.boundary(preserved=[last] if kept and last else [])
            self.turn()
        end = self.draw(st.sampled_from(["words"] * 6 + ["call", "results", "prompt"]))
        self.end(end)
        if self.draw(st.integers(0, 9)) == 0:
            self.tail = b'{"type":"user","uuid":"torn'
        return self.session

    def turn(self) -> None:
        session = self.session
        words: list[str | list[Json]] = [self.draw(WORDS), [text("In a block.")]]
        session.user(self.draw(st.sampled_from([*words, [text("Look."), IMAGE, text("See?")]])))
        for _ in range(self.draw(st.integers(0, 3))):
            self.round()
            if self.draw(st.integers(0, 2)) == 0:
                self.odd(self.draw(st.sampled_from(ODDITIES)))
        blocks = [text(self.draw(WORDS))]
        if self.draw(st.booleans()):
            blocks.insert(0, thinking(f"thought {len(session.lines)}"))
        session.assistant(blocks)

    def round(self) -> None:
        """Parallel calls and their results, as a tree or in a row, in any order."""
        session = self.session
        ids = [f"toolu_{len(self.calls) + i}" for i in range(self.draw(st.integers(1, 3)))]
        self.calls += ids
        blocks: list[Json] = [call(i, "Read", file_path="/a" * 60, n=3) for i in ids]
        if self.draw(st.booleans()):
            blocks.insert(0, text(self.draw(WORDS)))
        if self.draw(st.booleans()):
            blocks.insert(0, thinking(f"thought {len(session.lines)}"))
        names = dict(zip(ids, session.assistant(blocks)[-len(ids) :], strict=True))
        tree = self.draw(st.booleans())
        if self.draw(st.integers(0, 5)) == 0:
            content = self.draw(CONTENTS)
            session.user([answer(i, content) for i in ids], toolUseResult="all of them " * 40)
            return
        for i in self.draw(st.permutations(ids)):
            parent: Json = {"parent": names[i]} if tree else {}
            error = self.draw(st.integers(0, 4)) == 0
            source = {"sourceToolAssistantUUID": names[i]}
            session.result(i, self.draw(CONTENTS), error=error, **parent, **source)

    def odd(self, kind: str) -> None:
        """Something that real files hold."""
        session = self.session
        tip = session.tip
        match kind:
            case "sidechain":
                session.user("A subagent's task.", parent=None, isSidechain=True, agentId="a1")
                session.assistant([call("toolu_side")], isSidechain=True, agentId="a1")
                session.tip = tip
            case "branch":
                session.user("Never mind this.")
                session.assistant([text("An answer that was left.")])
                session.tip = tip
            case "dangling":
                session.user("Who is before me?", parent=name(10_000 + len(session.lines)))
            case "unknown":
                session.meta("of-the-future", data=[1, {"uuid": tip}])
            case "garbage":
                session.lines += [b"{not json\n", b"[1, 2]\n", b"\n", b"null\n"]
            case "twice":
                session.lines.append(session.lines[-1])
            case "progress":
                session.chain("progress", data={"type": "hook"})
            case "attachment":
                session.chain("attachment", attachment={"type": "date", "date": "today"})
            case "snapshot":
                session.put({"type": "file-history-snapshot", "messageId": tip, "snapshot": {}})
            case "meta":
                session.meta("custom-title", customTitle="A title")
                session.meta("last-prompt", lastPrompt="x", leafUuid=tip)
                session.meta("mode", mode="plan")
            case "orphan":
                session.user([answer("toolu_orphan", "denied"), text("Also said.")])
            case "pending":
                session.assistant([text("I will."), call(f"toolu_pending{len(session.lines)}")])
                session.user("Stop that.")
            case "synthetic":
                session.chain(
                    "assistant",
                    isApiErrorMessage=True,
                    message={"id": "e", "role": "assistant", "model": "<synthetic>",
                             "content": [text("API Error")]},
                )  # fmt: skip
                session.user("Again?")
            case "late":
                session.meta(
                    "content-replacement",
                    replacements=[
                        {"kind": "tool-result", "toolUseId": i, "replacement": f"stored {i}"}
                        for i in self.calls[-2:]
                    ],
                )
            case "null logical":
                session.chain("system", subtype="turn_duration", logicalParentUuid=name(99_999))
            case _:
                session.user([text("[Request interrupted by user]")])

    def end(self, kind: str) -> None:
        match kind:
            case "call":
                self.session.user("One more.")
                self.session.assistant([call("toolu_last")])
            case "results":
                self.session.user("One more.")
                self.session.round("toolu_last")
            case "prompt":
                self.session.user("[Request interrupted by user]")
            case _:
                pass

    def decisions(self) -> dict[str, Decision]:
        """A decision for many of the calls, and for one that is not there."""
        out: dict[str, Decision] = {}
        for tool_id in [*self.calls, "toolu_orphan", "toolu_nowhere"]:
            action: Action = self.draw(st.sampled_from(ACTIONS))
            texts = ["kept a part", "", None, "[Old tool result content cleared]"]
            shorter = {"file_path": "/a", "gone": "x"} if action == "trim_input" else None
            chosen = self.draw(st.sampled_from(texts))
            out[tool_id] = Decision(tool_id, action, "at random", text=chosen, input=shorter)
        return out
