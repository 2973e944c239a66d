"""The question of the Claude Code plugin and its answer: whole, by number, or left to the host."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.hook import Answer, Question, answer
from compaction.jev import AnswerError
from compaction.jev.account import LOG_LINE_CHARS
from compaction.jev.wire import Answers, Questions, State
from compaction.messages import to_json
from tests.compaction.jev.server import running
from tests.compaction.sessions_of_files import Session, function


class Judge:
    """Gives every question the same probability, in Jev's place."""

    def __init__(self, score: float) -> None:
        self.score = score
        self.states: list[State] = []

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        self.states.append(state)
        return {key: {"type": "noul", "noul": self.score} for key in questions}


class Mute:
    """Never has an answer that can be believed."""

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        raise AnswerError("no answers")


def wordy(calls: int = 6) -> list[dict[str, Any]]:
    """A conversation with the same long outputs again and again."""
    session = Session()
    for number in range(calls):
        session.answer(f"Run {number} comes next.")
        session.call("Bash", {"command": f"run {number}"}, "nothing to see here\n" * 60)
    session.rest()
    return [to_json(message) for message in session.messages]


def ask(messages: list[dict[str, Any]], asker: Any = None, **options: Any) -> Answer:
    question = Question.model_validate({"messages": messages, "options": options})
    return answer(question, asker)


async def run(stdin: bytes, cwd: Path) -> tuple[int, bytes, str]:
    """The program itself, in a folder that is not its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "compaction.hook"),
        cwd=cwd,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(stdin), 30)
    assert process.returncode is not None
    return process.returncode, out, err.decode()


def test_untouched_messages_are_named_by_number_and_touched_ones_come_whole() -> None:
    messages = wordy()
    found = ask(messages)
    assert found.messages is not None and len(found.messages) == len(messages)
    for number, one in enumerate(found.messages):
        if isinstance(one, int):
            assert one == number
        else:
            assert one["toolResults"][0]["tool_use_id"] == f"toolu_{number - 1}"
            assert len(one["toolResults"][0]["text"]) < 1000
            assert "handle" not in one
    assert found.stats is not None and found.stats.reduction > 0.5
    assert "kept 25/25 messages, -" in found.reason


@given(st.sampled_from(["conservative", "balanced", "aggressive"]), st.integers(-2, 30))
def test_the_words_and_the_newest_messages_stay_whatever_the_options(
    name: str, newest: int
) -> None:
    messages = wordy(4)
    found = ask(messages, strategy=name, preserveRecentMessages=newest, minReductionRatio=0)
    after = [messages[m] if isinstance(m, int) else m for m in found.messages or messages]
    assert [m["text"] for m in after] == [m["text"] for m in messages]
    if newest > 0:
        assert after[-newest:] == messages[-newest:]


@pytest.mark.parametrize("strategy", ["balanced", "jev"])
def test_too_small_a_gain_leaves_the_conversation_to_the_host(strategy: str) -> None:
    found = ask(wordy(), Judge(0.2), strategy=strategy, minReductionRatio=1)
    assert (found.verdict, found.messages) == ("little", None)
    assert "less than 100%" in found.reason


def test_where_nothing_can_go_the_host_is_told_so() -> None:
    assert ask(wordy(), preserveRecentMessages=99).reason == "there is nothing to remove"
    assert ask([]).messages is None


def test_jev_is_asked_with_the_instructions_and_its_decisions_are_logged() -> None:
    judge = Judge(0.2)
    question = {"messages": wordy(), "instructions": "the parser", "options": {"strategy": "jev"}}
    found = answer(Question.model_validate(question), judge)
    assert found.messages is not None
    assert "the parser" in json.dumps(judge.states[0])
    assert "Bash:" in found.log[0] and "/call=0.20/result=0.20" in found.log[0]


def test_scores_that_would_keep_nothing_leave_the_conversation_to_the_host() -> None:
    found = ask(wordy(12), Judge(0.1), strategy="jev", keepThreshold=0.5)
    assert found.messages is None
    assert found.reason.startswith("the scores would keep nothing")


@pytest.mark.parametrize(
    ("asker", "options", "reason"),
    [
        (Mute(), {}, "Jev did not answer: "),
        (None, {"apiKeyEnv": "NO_SUCH_KEY"}, "Jev cannot be asked: no API key: set NO_SUCH_KEY"),
        (Judge(0.2), {"maxRequestTokens": 1}, "the conversation cannot be judged: "),
    ],
)
def test_a_failure_of_jev_is_a_reason(
    asker: Judge | Mute | None, options: Mapping[str, Any], reason: str
) -> None:
    found = ask(wordy(), asker, strategy="jev", **options)
    assert (found.verdict, found.messages) == ("failed", None)
    assert found.reason.startswith(reason)


def test_blank_options_are_defaults_and_the_key_is_in_no_representation() -> None:
    options = {"strategy": "", "keepThreshold": None, "apiKey": "key-1", "baseUrl": " ", "x": 1}
    question = Question.model_validate({"messages": [], "options": options, "trigger": "auto"})
    plain = Question.model_validate({"messages": []})
    assert question.options.model_copy(update={"api_key": None}) == plain.options
    assert "key-1" not in repr(question)


def test_a_long_log_comes_in_numbered_lines() -> None:
    log = ask(wordy(300)).log
    assert len(log) > 1
    assert all(len(line) < LOG_LINE_CHARS for line in log)
    assert [line.split()[0] for line in log] == [
        f"({n}/{len(log)})" for n in range(1, 1 + len(log))
    ]
    assert sum(line.count(":Bash:trim/") for line in log) == 300


def test_an_input_that_is_cut_keeps_its_keys() -> None:
    session = Session()
    for _ in range(2):
        body = "\n".join(function("parse", 80))
        session.call("Write", {"file_path": "/p/parse.py", "content": body}, "Written.")
    session.rest()
    found = ask([to_json(message) for message in session.messages])
    touched = [one for one in found.messages or () if isinstance(one, dict)]
    assert touched
    assert {tuple(one["toolUses"][0]["input"]) for one in touched} == {("file_path", "content")}


async def test_the_program_speaks_json_even_about_half_a_character(tmp_path: Path) -> None:
    messages = wordy()
    messages[2]["toolUses"][0]["input"]["command"] = "cut \ud83d"
    messages[3]["toolResults"][0]["text"] += "\ud83d"
    code, out, err = await run(json.dumps({"messages": messages}).encode(), tmp_path)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["messages"][0] == 0
    assert found["stats"]["reduction"] > 0.5
    assert set(found) == {"verdict", "messages", "reason", "stats", "log"}


async def test_the_program_asks_jev_with_the_key_of_the_options_and_never_shows_it(
    tmp_path: Path,
) -> None:
    async with running() as jev:
        jev.score = 0.2
        options = {"strategy": "jev", "apiKey": "key-1", "baseUrl": jev.url}
        question = {"messages": wordy(), "options": options}
        code, out, err = await run(json.dumps(question).encode(), tmp_path)
    assert (code, err) == (0, "")
    assert json.loads(out)["verdict"] == "shortened"
    assert jev.headers[0]["authorization"].endswith("key-1")
    assert b"key-1" not in out


@pytest.mark.parametrize(
    ("stdin", "word"),
    [
        (b"", "Expecting value"),
        (b'{"messages": 3}', "messages: "),
        (b'{"messages": [{"role": "system"}]}', "role"),
        (b'{"messages": [], "options": {"strategy": "magic", "apiKey": "key-1"}}', "strategy"),
    ],
)
async def test_a_broken_question_ends_with_one_line(
    stdin: bytes, word: str, tmp_path: Path
) -> None:
    code, out, err = await run(stdin, tmp_path)
    assert (code, out) == (2, b"")
    assert word in err and err.count("\n") == 1
    assert "key-1" not in err
