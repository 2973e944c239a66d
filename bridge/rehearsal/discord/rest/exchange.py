"""One REST request with its answer, for whoever observes the traffic."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Exchange:
    """`path` lacks base and query; `template` is None for an unknown route.

    `fault` names the rehearsed trouble that met the request: `fail`, `drop before`, `drop after`.
    """

    method: str
    path: str
    template: str | None
    request: Any
    status: int
    response: Any
    at: float
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    fault: str | None = None
