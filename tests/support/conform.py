"""Checks REST traffic against Discord's own OpenAPI description, where that file is at hand."""

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from bridge.rehearsal.discord import Exchange

SPEC = Path(__file__).parents[3] / "shared" / "data" / "discord-openapi.json"

_ROOT = "urn:discord"
_JSON = "application/json"
_MULTIPART = "multipart/form-data"
# `nsfw` is documented in prose only; discord.py adds `tts` to every edit, and Discord ignores it.
_TOLERATED_KEYS = frozenset({"nsfw", "tts"})
# discord.py adds it to forum posts.
_TOLERATED_QUERY = frozenset({"use_nested_fields"})


class Conformity:
    """An `audit` for the loopback Discord; `violations` is what a test asserts to be empty.

    Where the description is missing nothing is checked, so that all else can still be tested.
    """

    def __init__(self) -> None:
        self.spec = load(SPEC) if SPEC.exists() else None
        self.violations: list[str] = []

    def __call__(self, exchange: Exchange) -> None:
        if self.spec is not None:
            self.violations += self.spec.check(exchange)


class Spec:
    """The parsed description; one per process, because reading it takes a second."""

    def __init__(self, document: dict[str, Any]) -> None:
        # Discord takes ids as numbers too, and discord.py sends some so.
        schemas = document["components"]["schemas"]
        schemas["SnowflakeType"]["type"] = ["string", "integer"]
        # A form's errors carry words such as BASE_TYPE_REQUIRED, as Discord's reference shows.
        word = {"type": "object", "properties": {"code": {"type": ["string", "integer"]}}}
        schemas["InnerErrors"]["properties"]["_errors"]["items"] = word
        self._document = document
        resource = Resource[Any].from_contents(document, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry[Any]().with_resource(_ROOT, resource)
        by_parameters = sorted(document["paths"], key=lambda template: template.count("{"))
        self._templates = [(_pattern(template), template) for template in by_parameters]
        self._validators: dict[str, Draft202012Validator] = {}

    def check(self, exchange: Exchange) -> list[str]:
        """What is wrong with a request and its answer, a line each."""
        where = f"{exchange.method} {exchange.path}"
        if exchange.status >= 500 and exchange.fault is None:
            return [f"{where}: the loopback Discord itself failed"]
        template = next((t for p, t in self._templates if p.fullmatch(exchange.path)), None)
        operation = self._document["paths"].get(template, {}).get(exchange.method.lower())
        if template is None or operation is None:
            return [f"{where}: no such operation"]
        pointer = f"#/paths/{_escaped(template)}/{exchange.method.lower()}"
        found = [f"query {name!r} is not described" for name in _strange_query(exchange, operation)]
        if exchange.request is not None:
            found += self._request(exchange, operation, pointer)
        if exchange.status and exchange.status < 500:
            found += self._response(exchange, operation, pointer)
        return [f"{where}: {line}" for line in found]

    def _request(self, exchange: Exchange, operation: Any, pointer: str) -> Iterator[str]:
        contents: Mapping[str, Any] = operation.get("requestBody", {}).get("content", {})
        if exchange.files and _MULTIPART not in contents:
            yield "the request takes no files"
        kind = _JSON if _JSON in contents else next(iter(contents), None)
        if kind is None:
            yield "the request takes no body"
            return
        schema = f"{pointer}/requestBody/content/{_escaped(kind)}/schema"
        for error in self._errors(schema, exchange.request):
            yield f"request {error}"
        for key in self._strange_keys(schema, exchange.request):
            yield f"request key {key!r} is not described"

    def _response(self, exchange: Exchange, operation: Any, pointer: str) -> Iterator[str]:
        responses: Mapping[str, Any] = operation["responses"]
        status = str(exchange.status)
        key = status if status in responses else f"{status[0]}XX"
        if key not in responses:
            yield f"status {status} is not described"
            return
        place = f"{pointer}/responses/{key}"
        response = responses[key]
        if "$ref" in response:
            place = response["$ref"]
            response = self._at(place)
        if "content" not in response:
            if exchange.response is not None:
                yield f"status {status} has no body"
            return
        schema = f"{place}/content/{_escaped(_JSON)}/schema"
        for error in self._errors(schema, exchange.response):
            yield f"response {status} {error}"

    def _errors(self, pointer: str, instance: Any) -> Iterator[str]:
        if pointer not in self._validators:
            self._validators[pointer] = Draft202012Validator(
                {"$ref": _ROOT + pointer}, registry=self._registry
            )
        errors: Iterator[ValidationError] = self._validators[pointer].iter_errors(instance)  # pyright: ignore[reportUnknownMemberType]
        for error in errors:
            deepest = _deepest(error)
            place = "/".join(map(str, deepest.absolute_path)) or "."
            yield f"{place}: {_shortened(deepest.message)}"

    def _strange_keys(self, pointer: str, instance: object) -> list[str]:
        """The top-level keys of a request that no branch of its schema describes."""
        schema = self._at(pointer)
        items: list[Any]
        if isinstance(instance, list):
            items, schema = cast(list[Any], instance), self._followed(schema).get("items", {})
        else:
            items = [instance]
        described = self._properties(schema)
        objects = [cast(dict[str, Any], item) for item in items if isinstance(item, dict)]
        keys = {key for item in objects for key in item}
        return sorted(keys - described - _TOLERATED_KEYS) if described else []

    def _properties(self, schema: Mapping[str, Any]) -> set[str]:
        schema = self._followed(schema)
        names = set(schema.get("properties", ()))
        for union in ("anyOf", "oneOf", "allOf"):
            for branch in schema.get(union, ()):
                names |= self._properties(branch)
        return names

    def _followed(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._at(schema["$ref"]) if "$ref" in schema else schema

    def _at(self, pointer: str) -> Any:
        place: Any = self._document
        for part in pointer.removeprefix("#/").split("/"):
            place = place[part.replace("~1", "/").replace("~0", "~")]
        return place


@functools.cache
def load(path: Path) -> Spec:
    return Spec(json.loads(path.read_text()))


def _strange_query(exchange: Exchange, operation: Any) -> Sequence[str]:
    described = {p["name"] for p in operation.get("parameters", ()) if p.get("in") == "query"}
    return sorted(set(exchange.query) - described - _TOLERATED_QUERY)


def _deepest(error: ValidationError) -> ValidationError:
    """Of a failed union, the error of the branch that got furthest; its own says nothing."""
    while error.context:
        error = max(error.context, key=lambda inner: (len(inner.absolute_path), _is_type(inner)))
    return error


def _shortened(message: str) -> str:
    """A message starts with the faulty value, however long, and ends with what is wrong."""
    return message if len(message) <= 240 else f"{message[:80]} ... {message[-150:]}"


def _is_type(error: ValidationError) -> bool:
    return error.validator not in ("enum", "const")


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^}]+\\\}", "[^/]+", re.escape(template)))


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
