"""The frozen settings object: each field with its type, its default, and how to speak of it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from compaction.choice import STRATEGIES

TOKEN_EXPECTED = "the token alone: one word, without quotes and without `Bot `"
OFF = "off"
"""The name of no compaction at all."""
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class Expected:
    """Within a field's type: what to tell a person whose value was refused."""

    text: str


def _split(value: object) -> object:
    """A text is a list with commas; a TOML file may have an array instead."""
    if isinstance(value, str):
        return tuple(part for item in value.split(",") if (part := item.strip()))
    return value


def _no_boolean(value: object) -> object:
    """TOML's true is no number, whatever Python thinks."""
    if isinstance(value, bool):
        raise ValueError("a boolean")
    return value


def _seconds(value: object) -> object:
    """Understand 90, "90", "90s", "15m", "2h" and "1d"."""
    if isinstance(value, str) and (found := re.fullmatch(r"([0-9.]+) ?([smhd])", value.strip())):
        return float(found[1]) * dict(_UNITS)[found[2]]
    return _no_boolean(value)


def _web_address(value: str | None) -> str | None:
    if value is None:
        return None
    address = urlsplit(value)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError("no web address")
    return value.rstrip("/")


def _one_word(value: SecretStr) -> SecretStr:
    if re.search(r"[\s\"']", value.get_secret_value()):
        raise ValueError("not one word")
    return value


def _strategy(value: str) -> str:
    name = value.strip().lower()
    if name not in (OFF, *STRATEGIES):
        raise ValueError("no strategy")
    return name


def _below_the_start(value: float, info: ValidationInfo) -> float:
    if value >= info.data.get("compact_at", 1.0):
        raise ValueError("compaction would end above where it begins")
    return value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Token = Annotated[
    SecretStr,
    AfterValidator(_one_word),
    Expected(TOKEN_EXPECTED),
]
Ids = Annotated[
    tuple[Annotated[int, Field(gt=0, lt=2**64), BeforeValidator(_no_boolean)], ...],
    BeforeValidator(_split),
    Expected("ids such as 123456789012345678, separated by commas"),
]
Patterns = Annotated[
    tuple[str, ...],
    BeforeValidator(_split),
    Expected("names or patterns such as MY_*, separated by commas"),
]
TIME = Expected('a time above zero, in seconds or such as "30s", "15m" or "2h"')
Seconds = Annotated[
    float,
    Field(gt=0, allow_inf_nan=False),
    BeforeValidator(_seconds),
    TIME,
]
Count = Annotated[
    int,
    Field(ge=1),
    BeforeValidator(_no_boolean),
    Expected("a whole number, at least 1"),
]
Share = Annotated[
    float,
    Field(gt=0, lt=1),
    BeforeValidator(_no_boolean),
    Expected("a share between 0 and 1"),
]
LowerShare = Annotated[
    float,
    Field(gt=0, lt=1),
    BeforeValidator(_no_boolean),
    AfterValidator(_below_the_start),
    Expected("a share between 0 and 1, below the one at which compaction begins"),
]
Dollars = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False),
    BeforeValidator(_no_boolean),
    Expected("an amount in US dollars such as 20, or 0 for no limit"),
]
Days = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False),
    BeforeValidator(_no_boolean),
    Expected("a number of days, 0 or more"),
]
Strategy = Annotated[
    str,
    AfterValidator(_strategy),
    Expected("one of " + ", ".join((OFF, *STRATEGIES))),
]
Address = Annotated[
    str | None,
    AfterValidator(_web_address),
    Expected("an address that starts with http:// or https://"),
]
Folder = Annotated[Path, Expected("the path of a folder")]
Folders = Annotated[
    tuple[Path, ...],
    BeforeValidator(_split),
    Expected("paths of folders, separated by commas"),
]
Program = Annotated[Path | None, Expected("the path of a program")]
Name = Annotated[str | None, Expected("a name")]
Switch = Annotated[bool, Expected("true or false")]
Mode = Literal["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]
Verbosity = Literal["quiet", "normal", "full"]
QueueMode = Literal["queue", "interrupt"]
Level = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_upper)]


class Config(BaseSettings):
    """All settings of the bot; times are seconds, paths are absolute. `load` makes it."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        # What stands below a field is also what the README and `--help` say of it.
        use_attribute_docstrings=True,
    )

    token: Token = SecretStr("")
    """The bot's token."""
    channels: Ids = ()
    """Channels in which a message opens a thread."""
    allowed_users: Ids = ()
    """People who may speak; without users and roles: the application's owner."""
    allowed_roles: Ids = ()
    """Roles whose members may speak."""
    project_dir: Folder
    """Folder in which sessions work."""
    project_roots: Folders = ()
    """Folders below which `/project` may choose another one to work in."""
    state_dir: Folder
    """Folder of the bot's own state."""
    claude: Program = None
    """The Claude Code CLI."""
    model: Name = None
    """Model of new sessions."""
    effort: Name = None
    """Effort of new sessions."""
    permission_mode: Mode = "default"
    """Permission mode of new sessions."""
    allow_bypass: Switch = False
    """Whether `/mode` may switch all questions off (bypassPermissions)."""
    verbosity: Verbosity = "normal"
    """How much of Claude's work threads show: quiet, normal or full."""
    queue_mode: QueueMode = "queue"
    """What a message does while Claude works: queue, or interrupt what runs."""
    daily_budget: Dollars = 0.0
    """US dollars after which no turn starts until the next day; 0 is no limit."""
    pass_env: Patterns = ()
    """Further environment variables for the CLI."""
    max_processes: Count = 4
    """CLI processes that may live at once."""
    idle_timeout: Seconds = 900.0
    """When an idle process ends."""
    silence_timeout: Seconds = 900.0
    """When a turn without any output ends."""
    turn_timeout: Seconds = 7200.0
    """When a turn ends in any case."""
    approval_timeout: Seconds = 1800.0
    """When a permission request that nobody answers counts as denied."""
    orphan_timeout: Seconds = 900.0
    """When an idle process ends whose bot stays away."""
    stop_grace: Seconds = 5.0
    """Time between two steps of ending a process."""
    compaction: Strategy = "auto"
    """How a long session is made smaller before it is resumed; `off`: only by `/compact`."""
    compact_at: Share = 0.3
    """Share of the model's window from which on a session is made smaller."""
    compact_to: LowerShare = 0.2
    """Share of the window to which it is made smaller."""
    archive_days: Days = 0.0
    """Days after which what was removed from an unused session is deleted; 0 keeps it."""
    discord_url: Address = None
    """Another base of Discord's API."""
    log_level: Level = "INFO"
    """The least important messages that are logged."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what it is given, never this process's own environment: `load` is told which."""
        return (init_settings,)


def duration(seconds: float) -> str:
    """The shortest text that a person would write for a time: 900 -> 15m."""
    for unit, length in _UNITS:
        if seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"
