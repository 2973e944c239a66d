"""Masks what looks like a credential before a state leaves the machine."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

MASK = "[masked]"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "pwd", "secret", "secrets", "token", "apikey", "authtoken"}
    | {"authorization", "cookie", "credential", "credentials", "accesstoken", "secretkey"}
)
_SECRET_PAIRS = frozenset(
    {("api", "key"), ("access", "key"), ("private", "key"), ("auth", "key"), ("signing", "key")}
    | {("encryption", "key"), ("service", "key")}
)
_COUNTS = frozenset({"max", "min", "num", "count", "total", "limit", "budget", "usage", "type"})
"""Words that make a `token` a number or a kind of thing and no secret."""

_NAME = (
    r"[A-Za-z0-9_.-]{0,64}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|credential)[A-Za-z0-9_-]{0,64}"
)
_VALUES = (
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    ),
    re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"),
    re.compile(r"\b(?:xox[a-z]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,})"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    re.compile(r"\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
)
_AFTER_NAME = (
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}"),
    re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,200}:)[^\s/@]{1,200}(?=@)"),
    re.compile(rf"(?i)((?<![\w.-]){_NAME}[\"']?\s*[=:]\s*[\"']?)[^\s\"'$&;,<>(){{}}\[\]]{{6,}}"),
    re.compile(rf"(?i)((?<!\S)--?{_NAME}\s+[\"']?)[^\s\"'$&;-][^\s\"'&;]*"),
)
_HINT = re.compile(
    r"(?i)passw|passphrase|secret|token|key|credential|bearer|basic|://|eyj|[sprk]k[-_]|gh[pousr]_"
    r"|github_pat|glpat|xox|npm_|hf_|akia|asia|aiza|[mno][\w-]{23,27}\."
)
"""What some pattern above cannot do without; texts that have none of it are not searched."""


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a credential, in any of the usual spellings."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if _COUNTS.intersection(words):
        return False
    pairs = set(itertools.pairwise(words))
    return bool(_SECRET_WORDS.intersection(words) or _SECRET_PAIRS & pairs)


def mask_text(text: str) -> str:
    """The text with every credential of a known form masked."""
    if not _HINT.search(text):
        return text
    for pattern in _VALUES:
        text = pattern.sub(MASK, text)
    for pattern in _AFTER_NAME:
        text = pattern.sub(rf"\1{MASK}", text)
    return text


def mask_value(value: Any) -> Any:
    """A JSON value with credentials masked: by the names of its fields, and by their form."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, Mapping):
        return {
            key: MASK
            if is_secret_name(str(key)) and item is not None and not isinstance(item, bool)
            else mask_value(item)
            for key, item in cast(Mapping[Any, Any], value).items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [mask_value(item) for item in cast(Sequence[Any], value)]
    return value
