"""What a thread can choose for itself, and how a process that lives is told of it."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bridge.config import Config
from bridge.process import LiveProcess, ProcessGone
from bridge.render.inline import code
from state import Settings

log = logging.getLogger(__name__)

DEFAULT = "default"
MODELS = (DEFAULT, "opus", "sonnet", "haiku", "fable")
"""Names that the CLI has for the newest model of each kind; full names are taken as well."""
EFFORTS = (DEFAULT, "low", "medium", "high", "xhigh", "max")
VERBOSITIES = (DEFAULT, "quiet", "normal", "full")
QUEUE_MODES = (DEFAULT, "queue", "interrupt")

PATIENCE = 10.0
"""Seconds that the CLI has to take a new setting."""

_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@\[\]-]{0,99}")


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a setting in the process that lives: its own word for it, or its refusal."""

    resolved: str = ""
    refused: str = ""
    live: bool = False


def possible_model(name: str) -> bool:
    """Whether this can be the name of a model at all."""
    return _MODEL.fullmatch(name) is not None


def known_model(name: str, config: Config) -> bool:
    """Whether the name looks like one that the model's side knows; others have names, too."""
    return name in (*MODELS, config.model) or name.startswith("claude-") or bool({*"/:"} & {*name})


async def set_model(process: LiveProcess | None, name: str | None, config: Config) -> Applied:
    """Let a process answer by another model from its next request on; None is the default."""
    return await _ask(process, "set_model", model=name or config.model or DEFAULT)


async def set_effort(process: LiveProcess | None, level: str | None, config: Config) -> Applied:
    """Let a process work with another effort from its next request on; None is the default."""
    settings = {"effortLevel": level or config.effort}
    return await _ask(process, "apply_flag_settings", settings=settings)


def chosen(settings: Settings, config: Config) -> Mapping[str, str]:
    """What holds for a thread, by name; what the bot's settings leave open is the CLI's choice."""
    return {
        "model": settings.model or config.model or DEFAULT,
        "effort": settings.effort or config.effort or DEFAULT,
        "verbosity": settings.verbosity or config.verbosity,
        "queue mode": settings.queue_mode or config.queue_mode,
    }


def chosen_line(settings: Settings, config: Config) -> str:
    """The same in one line, for /status; the model has a line of its own there."""
    found = chosen(settings, config)
    return " · ".join(f"{name} {code(value)}" for name, value in found.items() if name != "model")


async def _ask(process: LiveProcess | None, subtype: str, **fields: object) -> Applied:
    if process is None:
        return Applied()
    try:
        reply = await process.ask(subtype, within=PATIENCE, **fields)
    except (ProcessGone, TimeoutError) as fault:
        log.warning("process %d did not take %s: %r", process.info.pid, subtype, fault)
        return Applied()
    if "error" in reply:
        return Applied(refused=str(reply["error"]))
    return Applied(resolved=str(reply.get("model") or ""), live=True)
