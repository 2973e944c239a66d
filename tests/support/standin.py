#!/usr/bin/env python3
"""A stand-in for the CLI that fails on command: for faults that the real one shows too rarely.

It speaks the line protocol in shapes recorded from the real CLI, one turn after the other. The
words of a prompt say what goes wrong in its turn; without any, the prompt is echoed.

  STDERR n     n bytes on stderr before the answer
  LINE n       an answer of n characters, on one line
  COUNT n      n numbered text deltas before the answer
  BULK n       a tool's result of n bytes, on one line, before the answer
  LAMENT code  says why on stderr, and exits without a result
  NOISE        lines that are no JSON and events of unknown types and shapes before the answer
  STRING       a user event whose content is a text and no list before the answer
  TWICE        says its result twice
  CALL code    calls a tool, gets its result, and exits without a result of the turn
  TREE kinds   starts descendants before the answer: setsid, env, term, daemon, all, forks (commas)
  EXIT code    exits without a result
  DIE number   ends itself with a signal, without a result
  HANG         never answers, whatever comes on stdin, not even EOF
  STAY         answers, and then does not end at EOF

Only the standard library, and nothing of the product: it must start fast and run anywhere.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any

MODEL = "claude-opus-5-5"
VERSION = "2.1.332"
LIFETIME = "600"
USAGE = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 0}

TREES = {
    "setsid": "setsid sleep {t} &",
    "env": "env -i sleep {t} &",
    "term": "(trap '' TERM; exec sleep {t}) &",
    "daemon": "(setsid sh -c 'sleep {t} & sleep {t}' &)",
    "all": "(trap '' TERM; setsid env -i sh -c 'sleep {t} & sleep {t}' &)",
    "forks": "(while :; do sleep 0.3 & sleep 0.003; done) &",
}


def option(name: str) -> str | None:
    args = sys.argv[1:]
    return args[args.index(name) + 1] if name in args else None


SESSION = option("--session-id") or option("--resume") or str(uuid.uuid4())


def say(event: dict[str, Any]) -> None:
    line = json.dumps({**event, "session_id": SESSION, "uuid": str(uuid.uuid4())})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def number(word: str, prompt: str) -> int | None:
    found = re.search(rf"\b{word} (\d+)", prompt)
    return int(found[1]) if found else None


def sleep_forever() -> None:
    while True:
        time.sleep(600)


def init() -> None:
    say(
        {
            "type": "system",
            "subtype": "init",
            "cwd": os.getcwd(),  # noqa: PTH109 - one import less
            "tools": ["Bash", "Edit", "Read", "Write"],
            "mcp_servers": [],
            "model": MODEL,
            "permissionMode": option("--permission-mode") or "default",
            "slash_commands": ["compact", "context", "usage"],
            "apiKeySource": "ANTHROPIC_API_KEY",
            "claude_code_version": VERSION,
            "output_style": "default",
        }
    )


def delta(text: str) -> None:
    say(
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text},
            },
            "parent_tool_use_id": None,
        }
    )


def answer(text: str) -> None:
    delta(text)
    say(
        {
            "type": "assistant",
            "message": {
                "id": f"msg_{uuid.uuid4().hex[:20]}",
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [{"type": "text", "text": text}],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": USAGE,
            },
            "parent_tool_use_id": None,
        }
    )
    result(text)


def result(text: str) -> None:
    say(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 20,
            "duration_api_ms": 10,
            "num_turns": 1,
            "result": text,
            "total_cost_usd": 0.01,
            "usage": USAGE,
            "modelUsage": {MODEL: {"contextWindow": 1000000}},
            "permission_denials": [],
            "terminal_reason": "completed",
        }
    )


def user(content: Any) -> None:
    say({"type": "user", "message": {"role": "user", "content": content}})


def call(result: str) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "true"}}
    message = {"id": "msg_call", "role": "assistant", "model": MODEL, "content": [use]}
    say({"type": "assistant", "message": message, "parent_tool_use_id": None})
    user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}])


def granted(request_id: str) -> dict[str, Any]:
    return {"subtype": "success", "request_id": request_id, "response": {}}


def plant(kinds: str) -> None:
    """Start descendants; they keep stdout and stderr open, as a tool's children do."""
    for kind in kinds.split(","):
        subprocess.run(["sh", "-c", TREES[kind].format(t=LIFETIME)], check=True)


def turn(prompt: str) -> None:
    """One turn; what never comes back from here is a fault that was asked for."""
    init()
    if (code := number("EXIT", prompt)) is not None:
        sys.exit(code)
    if (fatal := number("DIE", prompt)) is not None:
        os.kill(os.getpid(), fatal)
    if "HANG" in prompt:
        sleep_forever()
    if size := number("STDERR", prompt):
        sys.stderr.write(("e" * 99 + "\n") * (size // 100 + 1))
        sys.stderr.flush()
    if (code := number("LAMENT", prompt)) is not None:
        sys.stderr.write("the last words\n")
        sys.exit(code)
    if "NOISE" in prompt:
        sys.stdout.write("Debugger attached.\n\n[1, 2]\n{\x00 \udcff}\n")
        say({"type": "made_up_by_a_later_release", "content": [None]})
        for kind in ("system", "stream_event", "assistant", "user", "control_response"):
            say({"type": kind, "subtype": 7, "message": "?", "event": [], "response": None})
    if size := number("BULK", prompt):
        call("b" * size)
    if "STRING" in prompt:
        user("a text where others have a list")
    if (code := number("CALL", prompt)) is not None:
        call("done")
        sys.exit(code)
    for count in range(number("COUNT", prompt) or 0):
        delta(f"[{count}]")
    if planted := re.search(r"\bTREE ([\w,]+)", prompt):
        plant(planted[1])
    text = "x" * (number("LINE", prompt) or 0) or f"Echo: {prompt}"
    answer(text)
    if "TWICE" in prompt:
        result(text)


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(block.get("text", "") for block in content)


def lines() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        if line.strip():
            yield json.loads(line)


def main() -> None:
    # A shell that starts this in the background would have it ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    stay = False
    for message in lines():
        if message["type"] == "control_request":
            say({"type": "control_response", "response": granted(message["request_id"])})
        elif message["type"] == "user":
            prompt = text_of(message["message"]["content"])
            stay = stay or "STAY" in prompt
            turn(prompt)
    if stay:
        sleep_forever()


if __name__ == "__main__":
    main()
