"""The table of all settings, for the README and for `--help`."""

from dataclasses import dataclass
from types import MappingProxyType

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from bridge.config.names import CONFIG_FILE, CREDENTIAL, KEYS, TOKEN_FILE, VARIABLES
from bridge.config.settings import TIME, Config, duration

_DEFAULTS = MappingProxyType(
    {
        "state_dir": "$XDG_STATE_HOME/claude-thread-bridge, else in ~/.local/state",
        "project_dir": "the present folder",
        "claude": "`claude` on PATH, else the bundled one",
        "model": "the CLI's choice",
        "effort": "the CLI's choice",
        "discord_url": "Discord",
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: its key in the TOML file ("" if it has none), its variable, and so on."""

    name: str
    env: str
    default: str
    meaning: str


def describe() -> tuple[Row, ...]:
    """All settings, in the order in which a person wants to read of them."""
    token, *others = (
        Row(KEYS[field], VARIABLES[field], _default(field, info), info.description or "")
        for field, info in Config.model_fields.items()
    )
    about_file = f"File with the token; a systemd credential {CREDENTIAL} is another way."
    return (
        token,
        Row(TOKEN_FILE.lower(), TOKEN_FILE, "", about_file),
        Row("", CONFIG_FILE, "", "TOML file with any of these settings; the environment wins."),
        *others,
    )


def _default(field: str, info: FieldInfo) -> str:
    match info.default:
        case _ if field in _DEFAULTS:
            return _DEFAULTS[field]
        case SecretStr() | () | None:
            return ""
        case bool(switch):
            return str(switch).lower()
        case float(seconds) if TIME in info.metadata:
            return duration(seconds)
        case float(number):
            return f"{number:g}"
        case value:
            return str(value)
