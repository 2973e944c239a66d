"""What can be wrong with the settings, and how it is said."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong; `found` says what and where."""

    key: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.key}: found {self.found}; expected {self.expected}"


class ConfigError(Exception):
    """The settings cannot be used; the text has one line for each fault."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


def unknown(key: str, origin: str, known: Iterable[str], prefix: str = "") -> Fault:
    """A setting that does not exist, with the one that was probably meant.

    The `prefix` that all have in common does not count as a likeness.
    """
    names = sorted(name.removeprefix(prefix) for name in known)
    near = difflib.get_close_matches(key.removeprefix(prefix), names, n=1, cutoff=0.75)
    listed = "one that `claude-bridge --help` shows"
    expected = f"{prefix}{near[0]} (did you mean that?)" if near else listed
    return Fault(key, f"an unknown setting in {origin}", expected)
