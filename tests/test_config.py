"""The settings: where they come from, what is refused and how, and what the CLI gets to see."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from bridge.config import (
    ClaudeNotFound,
    Config,
    ConfigError,
    child_environment,
    describe,
    find_claude,
    load,
)

TOKEN = "MTIz.GhIjKl.a-token-that-nobody-may-see"


def read(table: str | None = None, *, folder: Path | None = None, **environ: str) -> Config:
    """The settings from some variables and perhaps a TOML file in `folder`."""
    if table is not None and folder is not None:
        (folder / "bridge.toml").write_text(table)
        environ["BRIDGE_CONFIG"] = str(folder / "bridge.toml")
    return load({"HOME": "/home/me", "DISCORD_TOKEN": TOKEN} | environ)


def faults(table: str | None = None, *, folder: Path | None = None, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(table, folder=folder, **environ)
    assert TOKEN not in str(caught.value)
    return str(caught.value).splitlines()


def test_what_all_names_begin_with_is_no_likeness() -> None:
    (fault,) = faults(BRIDGE_COLOUR="red")
    assert "did you mean" not in fault


def test_a_token_is_all_that_is_needed() -> None:
    config = read()
    assert config.token.get_secret_value() == TOKEN
    assert config.state_dir == Path("/home/me/.local/state/claude-thread-bridge")
    assert config.project_dir == Path.cwd()
    assert config.max_processes == 4
    assert config.channels == ()
    assert config == read()


def test_settings_cannot_be_changed_and_do_not_show_the_token() -> None:
    config = read()
    with pytest.raises(ValidationError):
        config.max_processes = 5  # pyright: ignore[reportAttributeAccessIssue]
    assert TOKEN not in repr(config)


def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    table = "max_processes = 7\nidle_timeout = '2h'\nchannels = [1, '2']\nlog_level = 'debug'"
    config = read(table, folder=tmp_path, BRIDGE_MAX_PROCESSES="9", BRIDGE_CHANNELS="3, 4,")
    assert config.max_processes == 9
    assert config.channels == (3, 4)
    assert config.idle_timeout == 7200
    assert config.log_level == "DEBUG"
    assert config.stop_grace == 5


def test_lists_in_a_file_are_arrays_or_texts(tmp_path: Path) -> None:
    table = "channels = [123456789012345678, '2']\nallowed_users = '3,4'\npass_env = ['A', 'B_*']"
    config = read(table, folder=tmp_path)
    assert config.channels == (123456789012345678, 2)
    assert config.allowed_users == (3, 4)
    assert config.pass_env == ("A", "B_*")


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    config = read("max_processes = 7", folder=tmp_path, BRIDGE_MAX_PROCESSES="", BRIDGE_MODEL=" ")
    assert config.max_processes == 7
    assert config.model is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("0.5", 0.5), ("30s", 30), ("15m", 900), ("1.5h", 5400), ("2 h", 7200)],
)
def test_times_are_seconds_or_carry_a_unit(text: str, seconds: float) -> None:
    assert read(BRIDGE_IDLE_TIMEOUT=text).idle_timeout == seconds


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "15 minutes", "1.2.3s", "s", "True"])
def test_what_is_no_time_is_refused(text: str) -> None:
    (fault,) = faults(BRIDGE_IDLE_TIMEOUT=text)
    assert fault.startswith(f"BRIDGE_IDLE_TIMEOUT: found {text!r} in the environment; expected a ")
    assert '"15m"' in fault


def test_paths_start_where_they_are_written(tmp_path: Path) -> None:
    config = read(
        'project_dir = "work"\nclaude = "~/bin/claude"', folder=tmp_path, BRIDGE_STATE_DIR="state"
    )
    assert config.project_dir == tmp_path / "work"
    assert config.claude == Path("/home/me/bin/claude")
    assert config.state_dir == Path.cwd() / "state"


def test_the_state_is_kept_where_the_desktop_rules_say() -> None:
    assert read(XDG_STATE_HOME="/var/me").state_dir == Path("/var/me/claude-thread-bridge")
    assert read(XDG_STATE_HOME="relative").state_dir == read().state_dir


def test_every_fault_is_reported_with_key_place_and_expectation(tmp_path: Path) -> None:
    table = "max_processes = 0\nidle_timeout = true\nturn_timout = 5\ncolour = 'red'"
    found = faults(
        table,
        folder=tmp_path,
        DISCORD_TOKEN="",
        BRIDGE_CHANNELS="1,general,-2",
        BRIDGE_PERMISSION_MODE="yolo",
        BRIDGE_DISCORD_URL="ftp://here",
        BRIDGE_CHANELS="1",
    )
    file = tmp_path / "bridge.toml"
    assert len(found) == 9
    for part in (
        "DISCORD_TOKEN: found no token; expected it here",
        "BRIDGE_CHANNELS: found '1,general,-2' in the environment; expected ids such as",
        "BRIDGE_PERMISSION_MODE: found 'yolo' in the environment; expected one of default, ",
        "BRIDGE_DISCORD_URL: found 'ftp://here' in the environment; expected an address",
        "BRIDGE_CHANELS: found an unknown setting in the environment; expected BRIDGE_CHANNELS",
        f"max_processes: found 0 in {file}; expected a whole number, at least 1",
        f"idle_timeout: found True in {file}; expected a time",
        f"turn_timout: found an unknown setting in {file}; expected turn_timeout",
        f"colour: found an unknown setting in {file}; expected one that",
    ):
        assert sum(line.startswith(part) for line in found) == 1, part


@pytest.mark.parametrize("content", [b"= nonsense", b"\xff", None])
def test_a_file_that_cannot_be_read_is_a_fault_beside_the_others(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "bridge.toml"
    if content is not None:
        path.write_bytes(content)
    found = faults(BRIDGE_CONFIG=str(path), BRIDGE_MAX_PROCESSES="many")
    assert len(found) == 2
    assert found[0].startswith(f"BRIDGE_CONFIG: found {path}; expected a readable TOML file (")


def token(table: str = "", *, folder: Path, **environ: str) -> str:
    return read(table, folder=folder, **{"DISCORD_TOKEN": ""} | environ).token.get_secret_value()


def test_the_token_comes_from_the_first_place_that_has_one(tmp_path: Path) -> None:
    for name in ("file", "discord-token", "third"):
        (tmp_path / name).write_text(f"token-of-{name}\n")
    places: dict[str, str] = {
        "DISCORD_TOKEN": " token-of-variable ",
        "DISCORD_TOKEN_FILE": str(tmp_path / "file"),
        "CREDENTIALS_DIRECTORY": str(tmp_path),
    }
    table = 'discord_token_file = "third"\ndiscord_token = "token-of-table"'
    for expected in ("variable", "file", "discord-token"):
        assert token(table, folder=tmp_path, **places) == f"token-of-{expected}"
        places.pop(next(iter(places)))
    assert token(table, folder=tmp_path) == "token-of-third"
    assert token(table.splitlines()[1], folder=tmp_path) == "token-of-table"


def test_a_credentials_folder_without_a_token_is_no_fault(tmp_path: Path) -> None:
    assert read(CREDENTIALS_DIRECTORY=str(tmp_path)).token.get_secret_value() == TOKEN


@pytest.mark.parametrize("text", [f"Bot {TOKEN}", f'"{TOKEN}"', f"{TOKEN}\n{TOKEN}"])
def test_a_token_with_something_around_it_is_refused_without_being_shown(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "file").write_text(text)
    (fault,) = faults(DISCORD_TOKEN="", DISCORD_TOKEN_FILE=str(tmp_path / "file"))
    assert fault.startswith(f"DISCORD_TOKEN_FILE: found something else in {tmp_path / 'file'}; ")
    assert len(faults(DISCORD_TOKEN=text)) == 1


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", None])
def test_a_token_file_without_a_token_is_a_fault(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    (fault,) = faults(DISCORD_TOKEN="", DISCORD_TOKEN_FILE=str(tmp_path / "file"))
    assert fault.startswith("DISCORD_TOKEN_FILE: ")


def test_a_token_pasted_into_another_setting_is_not_shown() -> None:
    (fault,) = faults(BRIDGE_CHANNELS=TOKEN)
    assert fault.startswith("BRIDGE_CHANNELS: found the token in the environment")


@pytest.mark.parametrize("found", ["", "Bot x"])
def test_where_no_token_is_required_an_unusable_one_is_no_fault(found: str) -> None:
    config = load({"HOME": "/home/me", "DISCORD_TOKEN": found}, require_token=False)
    assert config.token == SecretStr("")
    with pytest.raises(ConfigError):
        load({"HOME": "/", "BRIDGE_MAX_PROCESSES": "x"}, require_token=False)


def test_the_surroundings_of_the_process_do_not_count() -> None:
    script = "from bridge.config import load; print(load({}, require_token=False).max_processes)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"BRIDGE_MAX_PROCESSES": "9", "MAX_PROCESSES": "8"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "4\n"


def test_every_setting_is_described() -> None:
    rows = describe()
    assert {row.name for row in rows} >= set(Config.model_fields) - {"token"}
    assert all(row.meaning.endswith(".") for row in rows)
    shown = {row.env: row.default for row in rows}
    assert shown["BRIDGE_IDLE_TIMEOUT"] == "15m"
    assert shown["BRIDGE_MAX_PROCESSES"] == "4"
    assert shown["BRIDGE_CHANNELS"] == shown["DISCORD_TOKEN"] == ""


PASSED = [
    *("HOME", "PATH", "LANG", "LC_ALL", "LANGUAGE", "TZ", "TERM", "TMPDIR", "USER", "LOGNAME"),
    *("SHELL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "DISABLE_TELEMETRY"),
    *("CLAUDE_CODE_USE_BEDROCK", "IS_SANDBOX", "HTTPS_PROXY", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "XDG_CONFIG_HOME"),
]
KEPT_BACK = [
    *("DISCORD_TOKEN", "DISCORD_TOKEN_FILE", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET"),
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
]
OTHERS = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "BRIDGE_STATE_DIR", "PYTHONPATH", "home"]


def seen(environ: Mapping[str, str], *pass_env: str) -> set[str]:
    config = Config(
        token=SecretStr(TOKEN),
        state_dir=Path("/state"),
        project_dir=Path("/project"),
        pass_env=pass_env,
    )
    return set(child_environment(config, environ))


def test_the_cli_sees_only_what_it_needs() -> None:
    assert seen({name: "x" for name in PASSED + KEPT_BACK + OTHERS}) == set(PASSED)


def test_more_can_be_passed_by_name_and_by_pattern() -> None:
    environ = dict.fromkeys(["MY_A", "MY_B", "OTHER", "my_c"], "x")
    assert seen(environ, "MY_*", "OTHER") == {"MY_A", "MY_B", "OTHER"}


names = st.sampled_from(PASSED + KEPT_BACK + OTHERS) | st.text(min_size=1)


@given(st.dictionaries(names, st.sampled_from(["x", TOKEN, f" {TOKEN}\n"])), st.lists(names))
@settings(deadline=None)
def test_no_pattern_passes_the_token_or_what_leads_to_it(
    environ: dict[str, str], patterns: list[str]
) -> None:
    for name in seen(environ, "*", *patterns):
        assert name not in KEPT_BACK
        assert TOKEN not in environ[name]


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_cli_is_the_one_that_the_settings_name(tmp_path: Path) -> None:
    named, other = program(tmp_path / "my-claude"), program(tmp_path / "bin" / "claude")
    environ = {"PATH": str(other.parent)}
    assert find_claude(read(BRIDGE_CLAUDE=str(named)), environ) == named
    assert find_claude(read(), environ) == other


def test_without_one_on_path_the_bundled_cli_is_taken() -> None:
    pytest.importorskip("claude_agent_sdk", reason="the SDK with its bundled CLI is not installed")
    found = find_claude(read(), {"PATH": "/nowhere"})
    assert found.parts[-3:] == ("claude_agent_sdk", "_bundled", "claude")


def test_a_named_cli_that_cannot_run_is_not_replaced_by_another(tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("no program")
    for path in (tmp_path / "claude", tmp_path, tmp_path / "missing"):
        with pytest.raises(ClaudeNotFound, match="BRIDGE_CLAUDE"):
            find_claude(read(BRIDGE_CLAUDE=str(path)), dict(os.environ))


def found_in_child(*path: Path) -> list[str]:
    """What a process finds that looks for packages in `path` first: the CLI, and the SDK loaded?"""
    script = (
        "import sys; from bridge.config import ClaudeNotFound, find_claude, load\n"
        "try: print(find_claude(load({}, require_token=False), {}))\n"
        "except ClaudeNotFound as error: print(error)\n"
        "print('claude_agent_sdk' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[1],
        env={"PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_sdk_is_not_loaded_to_find_its_cli() -> None:
    pytest.importorskip("claude_agent_sdk", reason="the SDK with its bundled CLI is not installed")
    claude, loaded = found_in_child()
    assert claude.endswith("claude")
    assert loaded == "False"


def test_where_there_is_no_cli_at_all_the_next_step_is_told(tmp_path: Path) -> None:
    (tmp_path / "claude_agent_sdk").mkdir()
    (tmp_path / "claude_agent_sdk" / "__init__.py").touch()
    said, _ = found_in_child(tmp_path)
    assert "Install it" in said
    assert "BRIDGE_CLAUDE" in said


def test_compaction_is_a_strategy_or_off() -> None:
    assert read(BRIDGE_COMPACTION="Off").compaction == "off"
    assert read(BRIDGE_COMPACTION="balanced").compaction == "balanced"
    (fault,) = faults(BRIDGE_COMPACTION="atuo")
    assert "expected one of off, auto, " in fault


def test_a_compaction_ends_below_where_it_begins() -> None:
    assert read(BRIDGE_COMPACT_AT="0.5", BRIDGE_COMPACT_TO="0.4").compact_to == 0.4
    for (fault,) in (faults(BRIDGE_COMPACT_AT="0.2"), faults(BRIDGE_COMPACT_TO="0.3")):
        assert fault.startswith("BRIDGE_COMPACT_TO: found ")
        assert "below the one at which compaction begins" in fault


def test_the_key_of_the_scorer_stays_with_the_bot() -> None:
    environ = {"TYPESAFE_API_KEY": "a-key", "PATH": "/bin"}
    config = read(BRIDGE_PASS_ENV="TYPESAFE_*")
    assert child_environment(config, environ) == {"PATH": "/bin"}


def read_settings(home: Path, **environ: str) -> Config:
    return load({"HOME": str(home), "DISCORD_TOKEN": "abc", **environ})


def test_roots_are_folders_wherever_they_are_written(tmp_path: Path) -> None:
    config = read_settings(tmp_path, BRIDGE_PROJECT_ROOTS="~/work, /srv/code")
    assert config.project_roots == (tmp_path / "work", Path("/srv/code"))
    file = tmp_path / "conf" / "bridge.toml"
    file.parent.mkdir()
    file.write_text('project_roots = ["../code", "~/work"]\n')
    config = read_settings(tmp_path, BRIDGE_CONFIG=str(file))
    assert config.project_roots == (file.parent / "../code", tmp_path / "work")
    file.write_text("project_roots = [1]\n")
    with pytest.raises(ConfigError, match="paths of folders"):
        read_settings(tmp_path, BRIDGE_CONFIG=str(file))


@pytest.mark.parametrize("amount", ["-1", "nan", "much"])
def test_a_budget_is_an_amount(tmp_path: Path, amount: str) -> None:
    assert read_settings(tmp_path, BRIDGE_DAILY_BUDGET="12.5").daily_budget == 12.5
    with pytest.raises(ConfigError, match="US dollars"):
        read_settings(tmp_path, BRIDGE_DAILY_BUDGET=amount)
