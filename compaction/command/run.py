"""From the command line to an outcome on the screen; the status is 0, 1 (refused) or 2 (usage)."""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compaction import lineage
from compaction.archive import Settings
from compaction.command import sessions, table
from compaction.command.advice import following
from compaction.command.bar import progress
from compaction.command.options import parse, parser
from compaction.command.output import save
from compaction.jev.environment import asker
from compaction.page import page
from compaction.session import Outcome, Refused, Request, compact_session
from compaction.transcript import Transcript


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit status."""
    options = parse(argv)
    if options.session is None and not options.list:
        parser().print_help()
        return 0
    try:
        if options.list:
            return _list(options)
        path = sessions.find(str(options.session), os.environ, Path.cwd())
        return _undo(options, path) if options.undo else _compact(options, path)
    except (Refused, sessions.NotFound, lineage.NotCompacted, OSError) as failure:
        return _fail(options, str(failure), following(failure))


def _compact(options: argparse.Namespace, path: Path) -> int:
    request = Request(
        strategy=options.strategy,
        target=options.target,
        window=options.window,
        instructions=options.instructions,
        asker=asker(os.environ),
        archive=Settings(keep=options.archive, format=options.format),
        images=options.images,
        dry_run=options.dry_run,
    )
    with progress(sys.stderr) as say:
        say("read")
        transcript = Transcript.read(path)
        outcome = compact_session(path, request, transcript=transcript, progress=say)
    fault = _report(options, outcome, transcript)
    if options.json:
        _print_json(outcome.to_json())
    else:
        _print(*_lines(outcome, options, reported=not fault))
    if fault:
        sys.stderr.write(f"There is no report: {table.plain(fault)}\n")
    return 1 if fault else 0


def _report(options: argparse.Namespace, outcome: Outcome, transcript: Transcript) -> str:
    """Write the report, if one is wanted; why that was not possible, or nothing.

    The session is there by then: whoever lacks the report must still be told of it.
    """
    if options.html:
        # Text cut in half by a host may hold lone surrogates, which have no UTF-8.
        html = page(outcome, transcript.messages).encode("utf-8", "replace")
        try:
            save(Path(options.html), html)
        except OSError as error:
            return str(error)
    return ""


def _lines(outcome: Outcome, options: argparse.Namespace, *, reported: bool) -> list[str]:
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    shown = table.decisions(outcome.calls, width, every=options.all, colour=colour)
    notes = [f"note: {table.plain(note)}" for note in outcome.notes]
    report = [f"report: {options.html}"] if options.html and reported else []
    if outcome.sid is None:
        last = "Nothing was written. Without --dry-run it is."
    else:
        last = f"next: claude --resume {outcome.sid}"
    return [*shown, *([""] if shown else []), table.summary(outcome), *notes, *report, last]


def _undo(options: argparse.Namespace, path: Path) -> int:
    undone = lineage.undo(path)
    if options.json:
        _print_json(
            {
                "sid": undone.sid,
                "path": str(undone.path),
                "since": undone.since,
                "removed": undone.removed,
            }
        )
        return 0
    if undone.since:
        _print(f"{undone.since} prompts since are in {path.stem} only, which stays.")
    elif undone.removed:
        _print(f"{path.stem} is removed: nothing was said in it.")
    _print(f"next: claude --resume {undone.sid}")
    return 0


def _list(options: argparse.Namespace) -> int:
    folder = sessions.project(sessions.projects(os.environ), Path.cwd())
    rows: list[dict[str, Any]] = []
    for path in sessions.newest_first(folder):
        stat = path.stat()
        rows.append(
            {
                "sid": path.stem,
                "bytes": stat.st_size,
                "age": round(time.time() - stat.st_mtime),
                "tokens": Transcript.read(path).tokens,
            }
        )
    if options.json:
        _print_json(rows)
        return 0
    if not rows:
        return _fail(options, f"there is no session in {folder}", "Go to the project's folder.")
    _print(f"{'session':<36}  {'size':>9}  {'age':>7}  {'tokens':>10}")
    for row in rows:
        size, age = f"{row['bytes'] / 1000:,.0f} kB", table.duration(row["age"])
        _print(f"{row['sid']:<36}  {size:>9}  {age:>7}  {row['tokens']:>10,}")
    return 0


def _fail(options: argparse.Namespace, reason: str, advice: str) -> int:
    if options.json:
        _print_json({"error": reason, "next": advice})
    else:
        sys.stderr.write(f"{table.plain(reason)}\n{advice}\n")
    return 1


def _print(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=1) + "\n")
