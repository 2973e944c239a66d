"""Requests and answers of Jev's System One interface, as values: nothing is sent from here."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from compaction.jev.errors import AnswerError, SetupError, StatusError

BASE_URL = "https://api.typesafe.ai/v1/systemone"
MODEL = "jev-latest"
KEY_VARIABLE = "TYPESAFE_API_KEY"

State = Mapping[str, Any]
Questions = Mapping[str, Mapping[str, Any]]
Answers = Mapping[str, Mapping[str, Any]]
"""By the key of each question: `{"noul": probability}`, perhaps with `"type": "noul"`."""


class JevAsker(Protocol):
    """Whoever can answer the questions about a state: Jev itself, a stand-in, an offline scorer."""

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        """One answer for each question, under the same key."""
        ...


@dataclass(frozen=True, slots=True)
class JevRequest:
    """One POST; the headers hold the key and are in no representation."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def compact_json(value: Any) -> str:
    """JSON without a needless character, as a browser's `JSON.stringify` writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build_jev_request(
    state: State,
    questions: Questions,
    *,
    api_key: str,
    model: str = MODEL,
    base_url: str = BASE_URL,
    key_variable: str = KEY_VARIABLE,
) -> JevRequest:
    """The request that asks the questions; raises `SetupError` without a key or a whole address."""
    key = api_key.strip()
    if not key:
        raise SetupError(f"no API key: set {key_variable}")
    if not (key.isascii() and key.isprintable()) or " " in key:
        # Whoever sends it would say so too, and quote it.
        raise SetupError(f"the API key in {key_variable} has characters that no header can carry")
    _check_url(base_url)
    body = compact_json({"model": model, "state": state, "questions": questions})
    return JevRequest(
        url=base_url,
        headers={
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
        },
        # A lone surrogate has no UTF-8; its escape is the same character in JSON.
        body=body.encode("utf-8", "backslashreplace"),
    )


def parse_jev_response(status: int, body: str) -> Answers:
    """The answers of a response; raises `StatusError` or `AnswerError` where there are none."""
    if not 200 <= status <= 299:
        raise StatusError(status, body)
    try:
        data: Any = json.loads(body)
    except ValueError as error:
        raise AnswerError("malformed response: no JSON") from error
    answers = cast(dict[str, Any], data).get("answers") if isinstance(data, dict) else None
    if not isinstance(answers, dict):
        raise AnswerError("malformed response: missing answers")
    return cast(Answers, answers)


def probabilities(answers: Any, keys: Iterable[str]) -> dict[str, float]:
    """The probability under each key; raises one `AnswerError` that names every bad key."""
    if not isinstance(answers, Mapping):
        raise AnswerError("malformed answers: no mapping")
    found: dict[str, float] = {}
    bad: list[str] = []
    for key in keys:
        value = _probability(cast(Mapping[str, Any], answers).get(key))
        if value is None:
            bad.append(key)
        else:
            found[key] = value
    if bad:
        raise AnswerError(f"missing or malformed answers: {', '.join(bad)}")
    return found


def _probability(answer: Any) -> float | None:
    if not isinstance(answer, Mapping):
        return None
    fields = cast(Mapping[str, Any], answer)
    value = fields.get("noul")
    if fields.get("type", "noul") != "noul" or isinstance(value, bool):
        return None
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        return None
    return float(value)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        whole = None
    if not whole:
        raise SetupError("the base URL is no http(s) address")
