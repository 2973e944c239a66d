"""A note of each start of the CLI, taken by the CLI's own process: nothing starts unseen."""

import shlex
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """\
#!/bin/sh
# Which session this process will write to: its own new one, else the one that it resumes.
before= sid=
for word; do
    case $before in --session-id) sid=$word ;; --resume) : "${{sid:=$word}}" ;; esac
    before=$word
done
if [ -n "$sid" ]; then
    # Noted before the look around, so that of two that start together one sees the other.
    (IFS='\x1f'; printf '%s\\n' "$$\x1f$sid\x1f$PWD\x1f$*" >> {starts})
    alive=0
    while IFS='\x1f' read -r pid other _; do
        [ -n "$({{ tr -d '\\0' < /proc/$pid/cmdline; }} 2>&-)" ] || continue
        alive=$((alive + 1))
        # A predecessor that still runs with the same session is what must never be.
        if [ "$other" = "$sid" ] && [ "$pid" != $$ ]; then
            echo "$sid: $pid still runs when $$ starts" >> {overlaps}
        fi
    done < {starts}
    echo $alive >> {counts}
fi
exec {claude} "$@"
"""


@dataclass(frozen=True)
class Start:
    """One start of the CLI: its process, the session that it writes to, where, and how."""

    pid: int
    sid: str
    cwd: str
    arguments: tuple[str, ...]

    @property
    def resumed(self) -> str | None:
        """The session whose history it starts from."""
        if "--resume" not in self.arguments:
            return None
        return self.arguments[self.arguments.index("--resume") + 1]


class Starts:
    """A program for `BRIDGE_CLAUDE` that becomes the real CLI once it has noted its start."""

    def __init__(self, folder: Path, claude: Path) -> None:
        """The program and its notes lie in `folder`, which exists; `claude` is the real CLI."""
        self.program = folder / "claude"
        self._starts = folder / "starts"
        self._overlaps = folder / "overlaps"
        self._counts = folder / "counts"
        self._starts.touch()
        script = _SCRIPT.format(
            claude=shlex.quote(str(claude)),
            starts=shlex.quote(str(self._starts)),
            overlaps=shlex.quote(str(self._overlaps)),
            counts=shlex.quote(str(self._counts)),
        )
        self.program.write_text(script)
        self.program.chmod(0o700)

    def all(self) -> list[Start]:
        """All starts so far, in order."""
        lines = self._starts.read_text().splitlines()
        rows = (line.split("\x1f") for line in lines)
        return [Start(int(pid), sid, cwd, tuple(rest)) for pid, sid, cwd, *rest in rows]

    @property
    def most_at_once(self) -> int:
        """How many lived at the same time at most."""
        return max(map(int, self._counts.read_text().split()))

    @property
    def overlaps(self) -> list[str]:
        """Where two processes ran on one session at the same time."""
        return self._overlaps.read_text().splitlines() if self._overlaps.exists() else []
