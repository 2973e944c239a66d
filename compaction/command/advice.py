"""What a person can do next when there is no smaller session."""

from compaction.command.sessions import NotFound
from compaction.lineage import NotCompacted
from compaction.session import NothingToDo, Refused

Failure = Refused | NotFound | NotCompacted | OSError

_BY_REASON = (
    ("has the session open", "End what uses the session, and try again."),
    ("changed since", "Something still writes to the session: let it finish, and try again."),
    ("within a tool loop", "Resume the session, let Claude finish its answer, and try again."),
    ("no result", "Resume the session, let Claude finish its answer, and try again."),
    ("no conversation", "Name another session: --list shows those of the current folder."),
)
"""Words of a reason for which a session is refused, and what helps then."""
_WHOLE = "Resume the session as it is: it has not changed."


def following(failure: Failure) -> str:
    """One sentence that fits the reason."""
    match failure:
        case NothingToDo():
            return "Resume the session as it is, or set a lower --target."
        case Refused():
            said = str(failure)
            return next((advice for words, advice in _BY_REASON if words in said), _WHOLE)
        case NotFound() | NotCompacted():
            return "--list shows the sessions of the current folder."
        case OSError():
            return "Nothing that was there before has changed."
