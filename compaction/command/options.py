"""What may be said on the command line."""

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from compaction.choice import STRATEGIES
from compaction.images import Images
from compaction.policy import WINDOW

IMAGES: Mapping[str | None, Images] = MappingProxyType({None: False, "old": True, "all": "all"})

EXAMPLES = """examples:
  python -m compaction --list                          the sessions of this folder
  python -m compaction SESSION-ID --dry-run            what would happen
  python -m compaction SESSION-ID --html report.html   write a smaller session, and a report
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m compaction",
        description="Make a Claude Code session smaller; the original stays as it is.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add(
        "session",
        nargs="?",
        metavar="FILE|SESSION-ID",
        help="a transcript, or a session's id or the beginning of one",
    )
    add("--strategy", choices=tuple(STRATEGIES), default="auto", metavar="NAME", help=_names())
    add("--target", metavar="TOKENS|PERCENT%", help="the context's size afterwards")
    add(
        "--window", type=_positive, default=WINDOW, metavar="N", help="the model's window in tokens"
    )
    add("--instructions", default="", metavar="TEXT", help="what a scorer is to keep in mind")
    add("--dry-run", action="store_true", help="write no session")
    add("--archive", action=argparse.BooleanOptionalAction, default=True, help="keep what goes")
    add("--format", choices=("persisted", "plain"), default="persisted", help="of the stubs")
    add(
        "--images",
        choices=[name for name in IMAGES if name],
        help="let images go, too: those of old turns, or all, where one breaks the session",
    )
    add("--undo", action="store_true", help="go back to the session this one was made of")
    add("--list", action="store_true", help="list the sessions of the current folder's project")
    add("--all", action="store_true", help="show every call, not only the largest savings")
    add("--json", action="store_true", help="print JSON only")
    add("--html", metavar="FILE", help="write a report to look through")
    return made


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options; ends the process with status 2 where they make no sense."""
    made = parser()
    options = made.parse_args(argv)
    if options.undo and (options.dry_run or options.html):
        made.error("--undo goes with neither --dry-run nor --html")
    if options.undo and options.session is None:
        made.error("--undo needs a session")
    try:
        options.target = target(options.target, options.window)
    except ValueError as error:
        made.error(str(error))
    options.images = IMAGES[options.images]
    return options


def target(text: str | None, window: int) -> int | None:
    """Tokens of `40000`, `40k` or `20%` (of the window); raises `ValueError` for anything else."""
    if text is None:
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("%", "k") else (text, "")
    try:
        value = float(number.replace(",", "").replace("_", ""))
    except ValueError:
        value = -1.0
    tokens = value * {"%": window / 100, "k": 1000, "": 1}[unit]
    if not 0 < tokens < 1e12:
        raise ValueError(f"--target takes tokens (40000, 40k) or a share (20%), not {text!r}")
    return round(tokens)


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise ValueError(text)
    return value


def _names() -> str:
    return f"one of {', '.join(STRATEGIES)}"
