"""The API's failures, in its own words: status, error type, message and headers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_FINAL: Mapping[str, str] = {"x-should-retry": "false"}
MIDSTREAM = "overloaded-midstream"


@dataclass(frozen=True)
class Fault:
    """One error answer; `midstream` ones come as an SSE event after the answer has begun."""

    status: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    midstream: bool = False

    def body(self, request_id: str) -> dict[str, Any]:
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": request_id}


def invalid(message: str) -> Fault:
    """What the API answers to a request that breaks its rules."""
    return Fault(400, "invalid_request_error", message)


def _usage_limit() -> Fault:
    reset = str(int(time.time()) + 3600)
    return Fault(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
        {
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": reset,
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "anthropic-ratelimit-unified-5h-status": "rejected",
            "anthropic-ratelimit-unified-5h-reset": reset,
            "anthropic-ratelimit-unified-5h-utilization": "1.0",
            **_FINAL,
        },
    )


FAULTS: Mapping[str, Callable[[], Fault]] = {
    "401": lambda: Fault(401, "authentication_error", "invalid x-api-key", _FINAL),
    "413": lambda: Fault(
        413, "request_too_large", "Request exceeds the maximum allowed number of bytes."
    ),
    "429": lambda: Fault(
        429,
        "rate_limit_error",
        "Number of request tokens has exceeded your per-minute rate limit.",
        {"retry-after": "1"},
    ),
    "500": lambda: Fault(500, "api_error", "Internal server error"),
    "529": lambda: Fault(529, "overloaded_error", "Overloaded"),
    MIDSTREAM: lambda: Fault(529, "overloaded_error", "Overloaded", midstream=True),
    "prompt-too-long": lambda: invalid("prompt is too long: 212345 tokens > 200000 maximum"),
    "usage-limit": _usage_limit,
    "no-credit": lambda: invalid(
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits."
    ),
    "invalid": lambda: invalid("messages.0.content.0.type: Field required"),
}


def fault(kind: str | int) -> Fault:
    """The failure of that name; an unknown one is a fault of the script, said as a KeyError."""
    return FAULTS[str(kind)]()
