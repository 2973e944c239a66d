"""The language of the prompts: which words make the scripted model do what.

The first of these keywords in a prompt decides; what stands before it is ignored. A keyword stands
at the beginning of the prompt or after white space, in capitals.

=============================== ==================================================================
Prompt                          Answer
=============================== ==================================================================
any other text                  `Echo #<n>: <prompt> | saw: <earlier prompts joined by " / ">`
`help`                          this table
`SAY: <text>`                   exactly this text
`RUN: <command>`                a Bash call, then `Tool said: <first 1500 characters of its result>`
`TOOL: {"name": ..., ...}`      the call {name, input}, then `Tool said: ...`
`TOOLS: [{...}, {...}]`         parallel calls in one message, then `Tool said: ...`
`SLOW <seconds> ...`            text streamed over that time, ending in `END-OF-SLOW <prompt>`
`LONG <characters>`             Markdown with headings, fences and tables, ending in `END-OF-LONG`
`MARKDOWN`                      everything Markdown can do, ending in `END-OF-MARKDOWN`
`THINK ...`                     a signed thinking block, then the echo (or what a next step says)
`ASK ...`                       a question with buttons (AskUserQuestion), then `Tool said: ...`
`PLAN ...`                      a plan to approve (ExitPlanMode), then `Tool said: ...`
`ERROR <kind> [times=N]`        that failure N times (always, if not given), then the echo; kinds:
                                401 413 429 500 529 overloaded-midstream prompt-too-long
                                usage-limit no-credit invalid
`HANG`                          accepts the request and never answers
`STEPS: a ;; b ;; c`            each step one of the above; a tool call ends a message, the last
                                step's text is the answer
=============================== ==================================================================
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from bridge.rehearsal.model import showcase
from bridge.rehearsal.model.blocks import (
    Error,
    Hang,
    Message,
    Text,
    Thinking,
    Tool,
    Turn,
    compose,
)
from bridge.rehearsal.model.faults import FAULTS, MIDSTREAM
from bridge.rehearsal.model.situation import Situation

SHOWN_OF_A_RESULT = 1500
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Keyword:
    """One row of the table: how it is found in a prompt, and the turns that it stands for."""

    usage: str
    does: str
    pattern: re.Pattern[str]
    turns: Callable[[str, Situation], Sequence[Turn]]


def answer(turns: Sequence[Turn], situation: Situation) -> Message:
    """The message that is due at this step; past its end every script goes on with the obvious."""
    messages = compose(turns, situation.failed)
    if situation.step < len(messages):
        message = messages[situation.step]
        # The model never only thinks.
        only_thinks = all(isinstance(block, Thinking) for block in message)
        return (*message, echo(situation)) if only_thinks else message
    return (tool_said(situation) if situation.after_tool else echo(situation),)


def turns_for(situation: Situation) -> Sequence[Turn]:
    """The turns that the prompt's own words ask for."""
    prompt = situation.prompt
    if prompt.strip().lower() == "help":
        return (Text(help_text()),)
    if _asks_for_a_summary(prompt):
        return (Text(_summary(situation)),)
    found = ((keyword.pattern.search(prompt), keyword) for keyword in KEYWORDS)
    matches = [(match, keyword) for match, keyword in found if match]
    if not matches:
        return (echo(situation),)
    match, keyword = min(matches, key=lambda found: found[0].start())
    return keyword.turns(match["rest"].strip(), situation)


def echo(situation: Situation) -> Text:
    saw = " / ".join(situation.earlier)
    return Text(f"Echo #{len(situation.prompts)}: {situation.prompt} | saw: {saw}")


def tool_said(situation: Situation) -> Text:
    return Text(f"Tool said: {' | '.join(situation.results)[:SHOWN_OF_A_RESULT]}")


def help_text() -> str:
    rows = "\n".join(f"- `{keyword.usage}` {keyword.does}" for keyword in KEYWORDS)
    return (
        "I am a scripted model: no account, no cost, but the CLI and its tools are real. Try\n"
        f"{rows}\n\nAnything else is echoed, with what I saw of this conversation before."
    )


def _say(rest: str, _: Situation) -> Sequence[Turn]:
    return (Text(rest or "(nothing to say)"),)


def _run(rest: str, _: Situation) -> Sequence[Turn]:
    command = rest.partition("\n")[0]
    call = Tool("Bash", {"command": command, "description": f"Run {command.split(' ')[0]}"})
    return (Text("Running it."), call)


def _tool(rest: str, _: Situation) -> Sequence[Turn]:
    return _calls(rest, "TOOL")


def _tools(rest: str, _: Situation) -> Sequence[Turn]:
    return _calls(rest, "TOOLS")


def _calls(rest: str, keyword: str) -> Sequence[Turn]:
    try:
        found: Any = json.JSONDecoder().raw_decode(rest)[0]
        calls = cast("list[dict[str, Any]]", found if isinstance(found, list) else [found])
        return (tuple(Tool(str(call["name"]), dict(call.get("input") or {})) for call in calls),)
    except (ValueError, TypeError, KeyError) as error:
        return (Text(f'{keyword} needs JSON like {{"name": "Read", "input": {{}}}} ({error}).'),)


def _slow(rest: str, situation: Situation) -> Sequence[Turn]:
    seconds = float(_number(rest))
    return (Text("working " * 40 + f"END-OF-SLOW {situation.prompt}", seconds),)


def _long(rest: str, _: Situation) -> Sequence[Turn]:
    return (Text(showcase.long_text(int(float(_number(rest))))),)


def _markdown(_rest: str, _: Situation) -> Sequence[Turn]:
    return (Text(showcase.MARKDOWN),)


def _think(rest: str, _: Situation) -> Sequence[Turn]:
    return (Thinking(f"Let me think about this: {rest}. An echo will do."),)


def _ask(rest: str, _: Situation) -> Sequence[Turn]:
    question = {
        "question": rest or "Which way shall I go?",
        "header": "Choice",
        "multiSelect": False,
        "options": [
            {"label": "The short way", "description": "Fast, touches one file"},
            {"label": "The long way", "description": "Thorough, with tests"},
        ],
    }
    return (Text("I have a question."), Tool("AskUserQuestion", {"questions": [question]}))


def _plan(rest: str, situation: Situation) -> Sequence[Turn]:
    plan = f"## Plan\n\n1. Look at {rest or 'the code'}\n2. Change it\n3. Run the tests"
    # The CLI names a file for the plan once it plans; what stands there is put before the person.
    write = Tool("Write", {"file_path": situation.plan_file or "plan.md", "content": plan})
    return (Tool("EnterPlanMode"), Text("This is what I would do."), write, Tool("ExitPlanMode"))


def _error(rest: str, situation: Situation) -> Sequence[Turn]:
    kind, *_ = rest.split()
    if kind not in FAULTS:
        return (Text(f"ERROR knows these kinds: {', '.join(FAULTS)}."),)
    found = re.search(r"times=(\d+)", rest)
    times = int(found[1]) if found else None
    if kind == MIDSTREAM:
        broken = (Text("So far so good, "), Error(kind))
        return broken * (situation.step + 1 if times is None else times) + (echo(situation),)
    return (Error(kind, times), echo(situation))


def _hang(_rest: str, _: Situation) -> Sequence[Turn]:
    return (Hang(),)


def _steps(rest: str, situation: Situation) -> Sequence[Turn]:
    return tuple(_step_turns(rest, situation))


def _step_turns(rest: str, situation: Situation) -> Iterator[Turn]:
    for step in rest.split(";;"):
        prompts = (*situation.earlier, step.strip())
        yield from turns_for(replace(situation, prompts=prompts))


def _number(rest: str) -> str:
    found = _NUMBER.match(rest)
    return found[0] if found else "0"


def _keyword(
    usage: str, head: str, does: str, turns: Callable[[str, Situation], Sequence[Turn]]
) -> Keyword:
    return Keyword(usage, does, re.compile(rf"(?:^|\s)(?:{head})(?P<rest>.*)", re.DOTALL), turns)


KEYWORDS: Sequence[Keyword] = (
    _keyword("RUN: <command>", "RUN:", "runs it in the session's folder", _run),
    _keyword("THINK <words>", r"THINK\b", "thinks before it answers", _think),
    _keyword(
        "SLOW <seconds>", rf"SLOW(?= {_NUMBER.pattern})", "streams an answer over that time", _slow
    ),
    _keyword("LONG <characters>", r"LONG(?= \d+)", "gives a long answer", _long),
    _keyword("MARKDOWN", r"MARKDOWN\b", "shows all that Markdown can do", _markdown),
    _keyword("ASK <question>", r"ASK\b", "asks you a question with buttons", _ask),
    _keyword("PLAN <what>", r"PLAN\b", "proposes a plan", _plan),
    _keyword('TOOL: {"name": ..., "input": ...}', "TOOL:", "calls any tool", _tool),
    _keyword("TOOLS: [<tool>, <tool>]", "TOOLS:", "calls several tools at once", _tools),
    _keyword("STEPS: a ;; b ;; c", "STEPS:", "does several of these in one turn", _steps),
    _keyword("SAY: <text>", "SAY:", "says exactly that", _say),
    _keyword("ERROR <kind> [times=N]", r"ERROR(?= \S)", f"fails ({', '.join(FAULTS)})", _error),
    _keyword("HANG", r"HANG\b", "never answers", _hang),
)


def _asks_for_a_summary(prompt: str) -> bool:
    """The CLI's own compaction asks for a summary in its own long words."""
    return "detailed summary of the conversation" in prompt


def _summary(situation: Situation) -> str:
    said = "\n".join(f"- {prompt[:200]}" for prompt in situation.earlier)
    return f"<analysis>Short.</analysis>\n<summary>\nThe person said:\n{said}\n</summary>"
