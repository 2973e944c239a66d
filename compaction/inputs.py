"""The strings in the input of a call: where they are, and the input with some shorter."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

Path = tuple[str | int, ...]


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every string of an input with its path, in the order of the input."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[str, object], value).items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            yield from leaves(inner, (*path, index))


def replaced(value: Any, texts: Mapping[Path, str], path: Path = ()) -> Any:
    """A copy of an input with the strings at these paths replaced; all keys stay."""
    if isinstance(value, str):
        return texts.get(path, value)
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return {key: replaced(inner, texts, (*path, key)) for key, inner in items}
    if isinstance(value, list):
        inners = enumerate(cast(list[Any], value))
        return [replaced(inner, texts, (*path, index)) for index, inner in inners]
    return value
