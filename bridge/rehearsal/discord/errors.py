"""Discord's refusals: one exception, with the codes and words that Discord documents."""

from collections.abc import Mapping
from types import MappingProxyType

from bridge.rehearsal.discord.document import Json

_KNOWN: Mapping[int, tuple[int, str]] = MappingProxyType(
    {
        10002: (404, "Unknown Application"),
        10003: (404, "Unknown Channel"),
        10004: (404, "Unknown Guild"),
        10007: (404, "Unknown Member"),
        10008: (404, "Unknown Message"),
        10011: (404, "Unknown Role"),
        10013: (404, "Unknown User"),
        10014: (400, "Unknown Emoji"),
        10015: (404, "Unknown Webhook"),
        10062: (404, "Unknown interaction"),
        10063: (404, "Unknown application command"),
        30003: (400, "Maximum number of pins reached for the channel (250)"),
        30010: (400, "Maximum number of reactions reached (20)"),
        30015: (400, "Maximum number of attachments in a message reached (10)"),
        30032: (400, "Maximum number of application commands reached (100)"),
        40005: (413, "Request entity too large"),
        40060: (400, "Interaction has already been acknowledged."),
        50001: (403, "Missing Access"),
        50005: (403, "Cannot edit a message authored by another user"),
        50006: (400, "Cannot send an empty message"),
        50007: (403, "Cannot send messages to this user"),
        50008: (400, "Cannot send messages in a non-text channel"),
        50013: (403, "Missing Permissions"),
        50016: (
            400,
            "Provided too few or too many messages to delete. Must provide between 2 and 100",
        ),
        50021: (403, "Cannot execute action on a system message"),
        50024: (400, "Cannot execute action on this channel type"),
        50027: (401, "Invalid Webhook Token"),
        50083: (400, "Thread is archived"),
        50109: (400, "The request body contains invalid JSON."),
        160002: (400, "Cannot reply without permission to read message history"),
        160004: (400, "A thread has already been created for this message"),
        160005: (403, "Thread is locked"),
        160006: (400, "Maximum number of active threads reached"),
    }
)


class ApiError(Exception):
    """A request that Discord refuses: HTTP status, code, message and, for forms, the bad fields."""

    def __init__(self, status: int, code: int, message: str, errors: Json | None = None) -> None:
        super().__init__(f"{code} {message}" + (f" {errors}" if errors else ""))
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    @property
    def body(self) -> Json:
        body: Json = {"message": self.message, "code": self.code}
        return body if self.errors is None else body | {"errors": self.errors}


def refusal(code: int) -> ApiError:
    """The error with one of Discord's documented codes."""
    status, message = _KNOWN[code]
    return ApiError(status, code, message)


def not_found() -> ApiError:
    return ApiError(404, 0, "404: Not Found")


def unauthorized() -> ApiError:
    return ApiError(401, 0, "401: Unauthorized")


def invalid(path: str, code: str, message: str) -> ApiError:
    """`Invalid Form Body`, the faulty field named by a path such as `embeds.0.title`."""
    errors: Json = {"_errors": [{"code": code, "message": message}]}
    for key in reversed(path.split(".") if path else []):
        errors = {key: errors}
    return ApiError(400, 50035, "Invalid Form Body", errors)


def too_long(path: str, limit: int) -> ApiError:
    return invalid(path, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")


def bad_length(path: str, low: int, high: int) -> ApiError:
    return invalid(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {low} and {high} in length.")


def required(path: str) -> ApiError:
    return invalid(path, "BASE_TYPE_REQUIRED", "This field is required")
