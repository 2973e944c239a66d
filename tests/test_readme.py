"""The README says what the program says."""

import re
from pathlib import Path

from bridge.commands import HELP
from bridge.config import describe

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def settings_table() -> str:
    """The table of settings as the README has it."""
    head = ["| Variable | Meaning | Default |", "|---|---|---|"]
    return "\n".join(head + [f"| `{r.env}` | {r.meaning} | {r.default} |" for r in describe()])


def test_the_table_of_settings_is_the_programs() -> None:
    begin, end = README.index("<!-- settings:"), README.index("<!-- /settings -->")
    assert README[begin:end].split("-->\n", 1)[1].strip() == settings_table()


def test_every_command_of_the_help_is_in_the_readme() -> None:
    commands = set(re.findall(r"^`(/\w+)", HELP, re.MULTILINE))
    assert commands
    assert commands <= set(re.findall(r"`(/\w+)", README))


def test_every_file_that_the_readme_names_is_there() -> None:
    named = set(re.findall(r"(?:deploy|bridge|tests|state|compaction)/[\w./-]*\w", README))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
