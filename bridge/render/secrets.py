"""Keys and tokens hidden in whatever leaves for Discord or the logs.

Each pattern wants the marks of a real credential (its prefix, its length, letters and digits
mixed), so that ordinary code, hashes and placeholders stay as they are.
"""

import re
from dataclasses import dataclass

_HIDDEN = "***"
_MIXED = r"(?=[\w.~+/-]{0,80}\d)(?=[\d.~+/_-]{0,80}[A-Za-z])"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of secret: its first group stays, what follows is hidden.

    A text without any of the `signs` is not searched, which makes the common case cheap.
    """

    signs: tuple[str, ...]
    pattern: re.Pattern[str]

    def mask(self, text: str) -> str:
        if not any(sign in text for sign in self.signs):
            return text
        return self.pattern.sub(rf"\g<1>{_HIDDEN}", text)


def _kind(pattern: str, *signs: str) -> _Kind:
    return _Kind(signs, re.compile(pattern))


_KINDS = (
    _kind(
        r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)"
        r"(?:\s+[A-Za-z0-9+/=]{32,76}(?![A-Za-z0-9+/=]))+(?:\s+[A-Za-z0-9+/=]{1,76}(?=\s|$))?",
        "PRIVATE KEY-----",
    ),
    _kind(r"(sk-ant-)[\w-]{10,}", "sk-ant-"),
    _kind(r"(?<!\w)(sk-(?:proj-|svcacct-)?)(?=[\w-]{0,99}\d)(?=[\w-]{0,99}[A-Z])[\w-]{32,}", "sk-"),
    _kind(
        r"(gh[pousr]_|github_pat_)\w{20,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"
    ),
    _kind(r"(glpat-)[\w-]{20,}", "glpat-"),
    _kind(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b", "AKIA", "ASIA"),
    _kind(r"(xox[abeoprs]-)[\w-]{16,}", "xox"),
    _kind(r"(AIza)[\w-]{35}", "AIza"),
    _kind(r"\b(npm_|hf_)[A-Za-z0-9]{30,}", "npm_", "hf_"),
    _kind(r"(pypi-)[\w-]{50,}", "pypi-"),
    _kind(r"([rs]k_(?:live|test)_)\w{16,}", "k_live_", "k_test_"),
    _kind(r"(/api/webhooks/\d{15,22}/)[\w-]{40,}", "/api/webhooks/"),
    _kind(r"(eyJ)[\w-]{10,999}\.eyJ[\w-]{10,9999}\.[\w-]{10,}", ".eyJ"),
    _kind(r"\b([MNO])[\w-]{22,28}\.[\w-]{6,7}\.[\w-]{27,}", "."),  # Discord's bots
    _kind(rf"([Bb]earer\s+){_MIXED}[\w.~+/-]{{20,}}=*", "earer "),
    _kind(
        r"(_(?:TOKEN|SECRET|PASSWORD|API_KEY|ACCESS_KEY|SECRET_KEY)(?:=|[\"']?\s?[=:]\s?[\"']))"
        rf"{_MIXED}[\w~+/-]{{16,}}(?![\w~+/.(\[-])=*",
        "_TOKEN",
        "_SECRET",
        "_PASSWORD",
        "_KEY",
    ),
    _kind(r"(://[^\s/:@\"'`<>{}$]{1,64}:)[^\s/:@\"'`<>{}$*]{4,}(?=@[\w.-])", "://"),
)


def mask(text: str) -> str:
    """The text with its secrets hidden behind their kind; never longer than it was."""
    for kind in _KINDS:
        text = kind.mask(text)
    return text
