"""Finding the bot's token, which no message may ever show."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import SecretStr, TypeAdapter, ValidationError

from bridge.config.faults import ConfigError, Fault
from bridge.config.names import CREDENTIAL, CREDENTIALS, KEYS, TOKEN, TOKEN_FILE
from bridge.config.paths import absolute
from bridge.config.settings import TOKEN_EXPECTED, Token
from bridge.config.table import Table

_MISSING = Fault(
    TOKEN, "no token", f"it here, in a file named by {TOKEN_FILE}, or as credential {CREDENTIAL}"
)


def find_token(environ: Mapping[str, str], table: Table, home: Path) -> str:
    """The token, from the environment, else from a file, else from the TOML file itself.

    Raises ConfigError with one fault if there is none or if the first that was found is unusable.
    """
    here = (environ.get(TOKEN, ""), "the environment")
    there = (table.content.get(KEYS["token"], ""), table.origin)
    if here[0].strip():
        return _checked(TOKEN, *here)
    for key, path in _files(environ, table, home):
        try:
            return _checked(key, path.read_text(), str(path))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError([Fault(key, str(path), f"a readable file ({reason})")]) from None
    if there[0]:
        return _checked(KEYS["token"], *there)
    raise ConfigError([_MISSING])


def _files(environ: Mapping[str, str], table: Table, home: Path) -> Iterator[tuple[str, Path]]:
    if name := environ.get(TOKEN_FILE):
        yield TOKEN_FILE, absolute(name, Path(), home)
    if name := environ.get(CREDENTIALS):
        credential = absolute(name, Path(), home) / CREDENTIAL
        if credential.exists():
            yield CREDENTIALS, credential
    key = TOKEN_FILE.lower()
    if entry := table.content.get(key):
        if not isinstance(entry, str):
            raise ConfigError([Fault(key, f"{entry!r} in {table.origin}", "the path of a file")])
        yield key, absolute(entry, table.folder, home)


def _checked(key: str, value: object, origin: str) -> str:
    text = value.strip() if isinstance(value, str) else value
    with contextlib.suppress(ValidationError):
        if token := TypeAdapter[SecretStr](Token).validate_python(text).get_secret_value():
            return token
    found = "nothing" if text == "" else "something else"
    raise ConfigError([Fault(key, f"{found} in {origin}", TOKEN_EXPECTED)])
