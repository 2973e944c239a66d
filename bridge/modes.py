"""What Claude may do without asking: the permission mode of a thread, and how it is switched."""

from bridge.config import Config
from bridge.process import LiveProcess, ProcessGone
from bridge.runner import Runner
from state import Record, Store

MODES = {
    "default": "asks before it changes or runs anything",
    "acceptEdits": "edits files without asking",
    "plan": "only reads and plans, and puts the plan before you",
    "auto": "a model decides what needs to be asked",
    "bypassPermissions": "never asks",
}
BYPASS = "bypassPermissions"
_WITHIN = 10.0
"""Seconds for a process to take another mode."""


def may_bypass(config: Config) -> bool:
    """Whether the operator lets people switch all questions off."""
    return config.allow_bypass or config.permission_mode == BYPASS


def mode_of(record: Record, config: Config) -> str:
    """The mode in which the thread's processes start; what is permitted no more is the default."""
    chosen = record.settings.permission_mode
    if chosen is None or (chosen == BYPASS and not may_bypass(config)):
        return config.permission_mode
    return chosen


class Modes:
    """Switches the modes of threads."""

    def __init__(self, config: Config, store: Store, runner: Runner) -> None:
        """The store keeps what was chosen, the runner has the processes that live."""
        self._config = config
        self._store = store
        self._runner = runner

    async def switch(self, thread: int, mode: str) -> str:
        """Let a thread go on in a mode, at once where a process lives; says what came of it."""
        if mode == BYPASS and not may_bypass(self._config):
            return (
                "🚫 The operator does not permit `bypassPermissions`.\n"
                "Choose another mode, or set `BRIDGE_ALLOW_BYPASS` on the bot's machine."
            )
        process = self._runner.live(thread)
        if process is not None and (fault := await _tell(process, mode)):
            return (
                f"⚠️ The running process does not take the mode `{mode}` ({fault}).\n"
                "Nothing was changed. Give `/stop`, and try it again later."
            )
        self._store.update(thread, lambda record: _chosen(record, mode))
        await self._store.durable()
        return f"🔐 Mode `{mode}` from now on: Claude {MODES[mode]}."


async def _tell(process: LiveProcess, mode: str) -> str:
    """Switch a process that lives; returns why it refused, or nothing."""
    try:
        answer = await process.ask("set_permission_mode", within=_WITHIN, mode=mode)
    except ProcessGone:
        return ""  # the next one starts in the mode
    except TimeoutError:
        return "no answer"
    return str(answer.get("error", ""))


def _chosen(record: Record, mode: str) -> Record:
    settings = record.settings.model_copy(update={"permission_mode": mode})
    return record.model_copy(update={"settings": settings})
