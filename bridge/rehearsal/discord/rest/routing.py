"""From method and path to a handler; literal segments such as `@me` win over parameters."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.files import Upload


@dataclass(frozen=True)
class Call:
    """A parsed request on its way to a handler."""

    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    files: Mapping[str, Upload] = field(default_factory=dict[str, Upload])

    @property
    def form(self) -> Json:
        """The body where a JSON object is expected."""
        body: Any = self.body
        return cast(Json, body) if isinstance(body, dict) else {}

    def __getitem__(self, name: str) -> str:
        return self.params[name]


@dataclass(frozen=True)
class Reply:
    """An answer; no body means 204."""

    body: Any = None
    status: int = 200


Handler = Callable[[Call], Reply]


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    handler: Handler
    # Interaction answers carry their token in the path and need no authorization.
    public: bool = False

    @property
    def name(self) -> str:
        return f"{self.method} {self.template}"


class Router:
    def __init__(self, routes: Iterable[Route]) -> None:
        ordered = sorted(routes, key=lambda route: route.template.count("{"))
        self._routes = [(_pattern(route.template), route) for route in ordered]

    def find(self, method: str, raw_path: str) -> tuple[Route, dict[str, str]] | None:
        """The route of a percent-encoded path, with its decoded parameters."""
        for pattern, route in self._routes:
            if route.method == method and (found := pattern.fullmatch(raw_path)):
                return route, {key: unquote(value) for key, value in found.groupdict().items()}
        return None


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(
        "/".join(
            rf"(?P<{part[1:-1]}>{_segment(part[1:-1])})"
            if part.startswith("{")
            else re.escape(part)
            for part in template.split("/")
        )
    )


def _segment(name: str) -> str:
    return r"\d+" if name.endswith("_id") else "[^/]+"
