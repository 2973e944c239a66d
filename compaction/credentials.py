"""Which outputs look like they hold a credential, so that no copy of them is made."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from compaction.inputs import leaves

_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("PRIVATE KEY-----",), re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    (("sk-",), re.compile(r"\bsk-(?:ant-|proj-|svcacct-)?(?=[\w-]*[0-9])[A-Za-z0-9_-]{24,}")),
    (("k_live_", "k_test_"), re.compile(r"\b[rs]k_(?:live|test)_\w{16,}")),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
        re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"),
    ),
    (("xox",), re.compile(r"\bxox[abeoprs]-[\w-]{16,}")),
    (
        ("npm_", "hf_", "pypi-"),
        re.compile(r"\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}|\bpypi-[\w-]{50,}"),
    ),
    (("AKIA", "ASIA", "AIza"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{35}")),
    (("eyJ",), re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}")),
    (
        ("://",),
        re.compile(r"://[^\s/:@\"'`<>{}$]{1,64}:[^\s/:@\"'`<>{}$*]{4,64}@[\w.-]"),
    ),
    (
        (".",),
        re.compile(
            r"\.(?<=[\w-]{23}\.)[\w-]{6,7}\.(?=[\w-]*[0-9])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{27,}"
        ),
    ),
)
"""What must be in a text for a form to be looked for, and the form: most texts have none of it."""
_NAMES = ("passw", "passphrase", "secret", "token", "key")
_ASSIGNED = re.compile(
    r"(?im)^[ \t]*(?:export[ \t]+)?[\"']?[\w.-]*(?:password|passwd|passphrase|secret|token|api_?key"
    r"|access_?key|private_?key)[\w.-]{0,20}[\"']?[ \t]*[=:][ \t]*[\"']?"
    r"(?=[^\s\"']{0,80}[0-9])(?=[^\s\"']{0,80}[A-Za-z])[A-Za-z0-9+/=_~-]{16,}[\"']?[ \t,;]*$"
)
"""A line that gives a secret name a value which is letters and digits mixed, and no code."""
_IN_JSON = re.compile(
    r"(?i)\"(?:password|client_?secret|secret|(?:access|refresh|id|auth)_?token|api_?key)\"\s*:\s*\""
    r"(?=[^\s\"]{0,80}[0-9])(?=[^\s\"]{0,80}[A-Za-z])[A-Za-z0-9+/=_~.-]{16,}\""
)
"""The same anywhere in JSON on one line, as servers answer."""
_FILES = re.compile(
    r"(?i)(?:\.env(?:\.(?!example|sample|template)[\w.-]+)?|\.npmrc|\.pypirc|\.netrc|\.pgpass"
    r"|\.git-credentials|\.?credentials(?:\.json)?|id_(?:rsa|dsa|ecdsa|ed25519)|[\w.-]+\.(?:pem|p12|key))"
)


def holds_credential(given: Mapping[str, Any], output: str) -> bool:
    """Whether a call is about a file of credentials, or its input or output shows one."""
    named = [text for path, text in leaves(given) if path[-1:] == ("file_path",)]
    if any(_FILES.fullmatch(PurePath(name).name) for name in named):
        return True
    texts = (output, *(text for _, text in leaves(given)))
    return any(_has_form(text) or _is_assigned(text) for text in texts)


def _has_form(text: str) -> bool:
    return any(form.search(text) for words, form in _FORMS if any(word in text for word in words))


def _is_assigned(text: str) -> bool:
    low = text.lower()
    named = any(name in low for name in _NAMES)
    return named and any(form.search(text) for form in (_ASSIGNED, _IN_JSON))
