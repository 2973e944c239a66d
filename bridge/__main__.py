"""The command line: `claude-bridge`, which is the same as `python -m bridge`."""

import argparse
import asyncio
import os
import sys
from importlib.metadata import version

DESCRIPTION = "Discord threads as Claude Code sessions."


def main(argv: list[str] | None = None) -> int:
    """Run the bot, or one of the commands around it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="claude-bridge", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=version("claude-thread-bridge"))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("run", help="run the bot (the default)")
    commands.add_parser("doctor", help="check the whole set-up, and say what to do")
    commands.add_parser("config", help="list all settings and their defaults")
    rehearse = commands.add_parser(
        "rehearsal", help="try it all on this machine: no Discord, no account, no model"
    )
    rehearse.add_argument("--port", type=int, default=0, help="of the web page (default: any)")
    rehearse.add_argument("--no-browser", action="store_true", help="only print the address")
    options = parser.parse_args(argv)
    # Each command imports what it needs: the bot's memory is no place for the others' modules.
    if options.command == "doctor":
        from bridge import doctor

        return asyncio.run(doctor.main(os.environ))
    if options.command == "config":
        from bridge.config import describe

        for row in describe():
            default = f"  (default: {row.default})" if row.default else ""
            print(f"{row.env}\n    {row.meaning}{default}")
        return 0
    if options.command == "rehearsal":
        from bridge.rehearsal import command

        return command.main(port=options.port, open_browser=not options.no_browser)
    from bridge import service

    return service.run(os.environ)


if __name__ == "__main__":
    sys.exit(main())
