"""What can go wrong; every error leaves the conversation as it was.

JevError
  +- HistoryError         the conversation has no shape that can be judged
  +- TooLargeError        the state, or a single pair of questions, fits into no request
  +- SetupError           no key, no usable address: a request cannot even be made
  +- AnswerError          an answer came, but not one that can be believed
  +- StatusError          the service refused with a status
  +- TransportError       no whole answer came: no connection, a broken one, the deadline
  +- KeptNothingError     everything that was asked about would go, and the options forbid it
"""


class JevError(Exception):
    """The compaction did not happen."""

    transient: bool = False
    """Whether the same request may succeed a moment later."""


class HistoryError(JevError):
    """Two calls or two results share an id, or a result stands before its call."""


class TooLargeError(JevError):
    """Even the barest view of the conversation is over a limit of the options."""


class SetupError(JevError):
    """What a request needs is missing or malformed."""


class AnswerError(JevError):
    """The answers are malformed, missing, or no probabilities."""


class StatusError(JevError):
    """The service answered with something else than success."""

    def __init__(self, status: int, body: str = "") -> None:
        super().__init__(f"Jev request failed with status {status}: {body[:200]}".rstrip(": "))
        self.status = status
        self.transient = status == 429 or 500 <= status <= 599


class TransportError(JevError):
    """The request or its answer was lost on the way."""

    transient = True


class KeptNothingError(JevError):
    """The scores would remove every single call that was asked about."""
