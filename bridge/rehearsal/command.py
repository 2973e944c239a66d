"""`claude-bridge rehearsal`: the product to try in a web page, without any account."""

import asyncio
import signal
import sys
import webbrowser

from bridge.config import ClaudeNotFound
from bridge.rehearsal import page
from bridge.rehearsal.stage import Stage

_WELCOME = """
  The rehearsal runs:  {url}

  Write in #general: a thread opens, and the real Claude Code CLI answers in it. Discord and the
  model are played on this machine; nothing leaves it. Write `help` to see what the model knows.
  Ctrl-C ends it and removes everything.
"""


def main(*, port: int, open_browser: bool) -> int:
    """Run until Ctrl-C; returns the exit code."""
    try:
        return asyncio.run(_rehearse(port, open_browser=open_browser))
    except ClaudeNotFound as fault:
        sys.stderr.write(f"{fault}\n")
        return 78


async def _rehearse(port: int, *, open_browser: bool) -> int:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    sys.stdout.write("Starting the local Discord, the scripted model and the bot …\n")
    stage = Stage(port=port, rate_limits="real")
    page.mount(stage.discord)
    async with stage:
        await stage.start()
        assert stage.bot is not None
        sys.stdout.write(_WELCOME.format(url=stage.discord.url))
        sys.stdout.flush()
        if open_browser:
            await asyncio.to_thread(webbrowser.open, stage.discord.url)
        bot_ended = asyncio.create_task(stage.bot.wait())
        told = asyncio.create_task(ended.wait())
        await asyncio.wait({bot_ended, told}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.is_set():
            sys.stderr.write(f"The bot ended by itself:\n{stage.log_tail()}\n")
            told.cancel()
            return 1
        sys.stdout.write("Ending the rehearsal …\n")
    return 0
