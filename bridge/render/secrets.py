"""Keys and tokens hidden in whatever leaves for Discord or the logs.

Each pattern wants the marks of a real credential (its prefix, its length, letters and digits
mixed), so that ordinary code, hashes and placeholders stay as they are.
"""

import re

_HIDDEN = "***"
_MIXED = r"(?=[^\s\"'`]{0,80}\d)(?=[^\s\"'`]{0,80}[A-Za-z])"

_SECRET = re.compile(
    "|".join(
        (
            r"(?P<anthropic>sk-ant-)[\w-]{10,}",
            r"(?P<github>\b(?:gh[pousr]|github_pat)_)\w{20,}",
            r"(?P<gitlab>\bglpat-)[\w-]{20,}",
            r"(?P<aws>\b(?:AKIA|ASIA))[A-Z0-9]{16}\b",
            r"(?P<slack>\bxox[abeoprs]-)[\w-]{16,}",
            r"(?P<google>\bAIza)[\w-]{35}",
            r"(?P<npm>\b(?:npm|hf)_)[A-Za-z0-9]{30,}",
            r"(?P<pypi>\bpypi-)[\w-]{50,}",
            r"(?P<stripe>\b[rs]k_(?:live|test)_)\w{16,}",
            r"(?P<openai>\bsk-(?:proj-|svcacct-)?)(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{32,}",
            r"(?P<discord>\b[MNO])[\w-]{22,28}\.[\w-]{6,7}\.[\w-]{27,}",
            r"(?P<webhook>/api/webhooks/\d{15,22}/)[\w-]{40,}",
            r"(?P<jwt>\beyJ)[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
            rf"(?P<bearer>\b[Bb]earer\s+){_MIXED}[\w.~+/-]{{20,}}=*",
            rf"(?P<variable>\b[A-Z][A-Z0-9_]*_(?:TOKEN|SECRET|PASSWORD|(?:API|ACCESS|SECRET)_KEY)"
            rf"\s?[=:]\s?[\"']?){_MIXED}[\w.~+/-]{{16,}}=*",
            r"(?P<login>\b[a-z][a-z0-9+.-]{1,15}://[^\s/:@\"'`<>{}$]{1,64}:)"
            r"[^\s/:@\"'`<>{}$*]{4,}(?=@[\w.-])",
            r"(?P<private>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)"
            r"(?:\s+[A-Za-z0-9+/=]{32,76}(?![A-Za-z0-9+/=]))+(?:\s+[A-Za-z0-9+/=]{1,76}(?=\s|$))?",
        )
    )
)


def mask(text: str) -> str:
    """The text with its secrets hidden behind their kind; never longer than it was."""
    return _SECRET.sub(lambda found: f"{found[found.lastgroup or 0]}{_HIDDEN}", text)
