"""How the settings are called in the environment and in the TOML file."""

from types import MappingProxyType

from bridge.config.settings import Config

PREFIX = "BRIDGE_"
CONFIG_FILE = "BRIDGE_CONFIG"
TOKEN = "DISCORD_TOKEN"
TOKEN_FILE = "DISCORD_TOKEN_FILE"
CREDENTIALS = "CREDENTIALS_DIRECTORY"
CREDENTIAL = "discord-token"

VARIABLES = MappingProxyType(
    {field: TOKEN if field == "token" else PREFIX + field.upper() for field in Config.model_fields}
)
"""The environment variable of each field."""

KEYS = MappingProxyType(
    {field: name.removeprefix(PREFIX).lower() for field, name in VARIABLES.items()}
)
"""The key in the TOML file of each field: its variable without the prefix, in lower case."""
