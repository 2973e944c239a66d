"""How a state file of an older version becomes one of the present version, step by step."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

VERSION = 1

Tree = dict[str, object]
Migrations = Mapping[int, Callable[[Tree], Tree]]

MIGRATIONS: Migrations = MappingProxyType({})
"""From version N to N + 1, keyed by N. Each step must accept any JSON object."""


def migrate(tree: Tree, version: int, migrations: Migrations = MIGRATIONS) -> Tree:
    """Bring `tree` to the present version; a version without a step is taken as it is."""
    for step in range(version, VERSION):
        if step in migrations:
            tree = migrations[step](tree)
    return tree
