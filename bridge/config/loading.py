"""Reading the settings: environment, then credential files, then the TOML file, then defaults."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from bridge.config.faults import ConfigError, Fault, unknown
from bridge.config.names import CONFIG_FILE, KEYS, PREFIX, TOKEN, TOKEN_FILE, VARIABLES
from bridge.config.paths import absolute
from bridge.config.settings import Config, Expected
from bridge.config.table import Table, read_table
from bridge.config.token import find_token

_PATHS = frozenset({"claude", "project_dir", "state_dir"})
_PATH_LISTS = frozenset({"project_roots"})
_SHOWN = 60


class Layer(PydanticBaseSettingsSource):
    """What one origin says: values by field, and what the fields are called there."""

    def __init__(self, origin: str, values: Mapping[str, object], keys: Mapping[str, str]) -> None:
        super().__init__(Config)
        self.origin = origin
        self.values = values
        self.keys = keys

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """One value, in the form that the base class asks for."""
        return self.values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """All values."""
        return dict(self.values)


def load(environ: Mapping[str, str], *, require_token: bool = True) -> Config:
    """The settings that `environ` leads to; raises ConfigError with every fault.

    An empty variable counts as unset. "~" is the home folder, paths in the TOML file start at the
    folder of that file. Without `require_token` an unusable token is no fault; it is then empty.
    """
    home = Path(environ.get("HOME") or Path.home())
    faults: list[Fault] = []
    table = _table(environ, home, faults)
    token = ""
    try:
        token = find_token(environ, table, home)
    except ConfigError as error:
        faults += error.faults if require_token else ()
    layers = (
        Layer("", {"token": SecretStr(token)}, {}),
        Layer("the environment", _from_environment(environ, home), VARIABLES),
        Layer(table.origin, _from_table(table, home), KEYS),
        Layer("the defaults", _defaults(environ, home), KEYS),
    )
    faults += _unknown(environ, table)
    # Type checkers know a model's fields only, not the settings' own arguments.
    sources: dict[str, Any] = {"_build_sources": (layers, {})}
    try:
        config = Config(**sources)
    except ValidationError as error:
        fields = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors())
        faults += (_fault(field, layers, token) for field in fields)
        raise ConfigError(faults) from None
    if faults:
        raise ConfigError(faults)
    return config


def _table(environ: Mapping[str, str], home: Path, faults: list[Fault]) -> Table:
    name = environ.get(CONFIG_FILE)
    if not name:
        return Table()
    path = absolute(name, Path(), home)
    try:
        return read_table(path)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        faults.append(Fault(CONFIG_FILE, str(path), f"a readable TOML file ({reason})"))
        return Table()


def _from_environment(environ: Mapping[str, str], home: Path) -> dict[str, object]:
    found = {field: environ.get(name, "").strip() for field, name in VARIABLES.items()}
    return {
        field: _rooted(field, text, Path(), home)
        for field, text in found.items()
        if text and field != "token"
    }


def _from_table(table: Table, home: Path) -> dict[str, object]:
    found = {field: table.content[key] for field, key in KEYS.items() if key in table.content}
    return {
        field: _rooted(field, value, table.folder, home)
        for field, value in found.items()
        if value != "" and field != "token"
    }


def _rooted(field: str, value: object, folder: Path, home: Path) -> object:
    """A value whose paths, if it has any, are absolute."""
    if field in _PATHS and isinstance(value, str):
        return absolute(value, folder, home)
    if field in _PATH_LISTS:
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, list):
            texts = [p.strip() if isinstance(p, str) else p for p in cast("list[object]", parts)]
            return [absolute(p, folder, home) if isinstance(p, str) else p for p in texts if p]
    return value


def _defaults(environ: Mapping[str, str], home: Path) -> dict[str, object]:
    """The defaults that depend on the surroundings."""
    state = Path(environ.get("XDG_STATE_HOME") or "")
    if not state.is_absolute():  # the XDG rules: a relative path is to be ignored
        state = home / ".local" / "state"
    return {"state_dir": state / "claude-thread-bridge", "project_dir": Path.cwd()}


def _unknown(environ: Mapping[str, str], table: Table) -> Iterator[Fault]:
    variables = {CONFIG_FILE, *VARIABLES.values()} - {TOKEN}
    for name in environ:
        if name.startswith(PREFIX) and name not in variables:
            yield unknown(name, "the environment", variables, PREFIX)
    keys = {*KEYS.values(), TOKEN_FILE.lower()}
    for key in table.content:
        if key not in keys:
            yield unknown(key, table.origin, keys)


def _fault(field: str, layers: Sequence[Layer], token: str) -> Fault:
    # A default, too, may be at odds with what somebody set.
    defaults = Layer("the defaults", {field: Config.model_fields[field].default}, VARIABLES)
    layer = next((layer for layer in layers if field in layer.values), defaults)
    value = layer.values[field]
    shown = str(value) if isinstance(value, Path) else repr(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    if token and token in repr(value):
        shown = "the token"
    return Fault(layer.keys[field], f"{shown} in {layer.origin}", _expected(field))


def _expected(field: str) -> str:
    info = Config.model_fields[field]
    texts = [item.text for item in info.metadata if isinstance(item, Expected)]
    return texts[0] if texts else "one of " + ", ".join(map(str, get_args(info.annotation)))
