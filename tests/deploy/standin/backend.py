"""A build backend of the standard library: one editable wheel that points back to this folder."""

import zipfile
from pathlib import Path

_INFO = "claude_thread_bridge-1.dist-info"
_METADATA = """\
Metadata-Version: 2.1
Name: claude-thread-bridge
Version: 1
Provides-Extra: cli
Provides-Extra: test
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: standin
Root-Is-Purelib: true
Tag: py3-none-any
"""
_SCRIPTS = """\
[console_scripts]
claude-bridge = standin:bridge
ruff = standin:ruff
pyright = standin:pyright
"""


def build_editable(
    wheel_directory: str,
    config_settings: object = None,
    metadata_directory: str | None = None,
) -> str:
    """The hook of PEP 660."""
    here = Path(__file__).parent
    name = "claude_thread_bridge-1-py3-none-any.whl"
    files = {
        "standin.pth": f"{here}\n",
        f"{_INFO}/METADATA": _METADATA,
        f"{_INFO}/WHEEL": _WHEEL,
        f"{_INFO}/entry_points.txt": _SCRIPTS,
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{_INFO}/RECORD"])
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        for path, text in {**files, f"{_INFO}/RECORD": record}.items():
            wheel.writestr(path, text)
    with (here / "installs").open("a") as log:
        log.write("installed\n")
    return name
