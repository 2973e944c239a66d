"""What the CLI, and with it every command that it runs, gets to see of the bot's environment."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from bridge.config.settings import Config

PASSED = (
    *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "XDG_*"),
    *("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_*", "DISABLE_*", "IS_SANDBOX"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
)
"""Names that the CLI needs; all others stay behind."""

KEPT_BACK = (
    *("DISCORD_TOKEN*", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "TYPESAFE_API_KEY"),
    # These two say that the CLI runs within another session, which it does not.
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
)
"""Names that stay behind whatever the settings ask for."""


def child_environment(config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """The part of `environ` for the CLI: an allow-list, and what `pass_env` adds to it.

    The bot's token is never in it, under whatever name.
    """
    token = config.token.get_secret_value()
    wanted = (*PASSED, *config.pass_env)
    return {
        name: value
        for name, value in environ.items()
        if _matches(name, wanted)
        and not _matches(name, KEPT_BACK)
        and not (token and value.strip() == token)
    }


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
