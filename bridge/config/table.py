"""A TOML file of settings."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Table:
    """What a file says, and how it is called in messages; paths in it start at `folder`."""

    content: Mapping[str, object] = field(default_factory=dict[str, object])
    origin: str = "the TOML file"
    folder: Path = Path()


def read_table(path: Path) -> Table:
    """Read a file; raises OSError, and ValueError where it is no TOML."""
    with path.open("rb") as file:
        return Table(tomllib.load(file), str(path), path.parent)
