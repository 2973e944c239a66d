"""Named ways to judge a conversation, from the library's own to those that correct it.

| name       | what it changes                                                              |
|------------|------------------------------------------------------------------------------|
| library    | nothing: fast-jev-compaction as it is                                        |
| needed     | asks only whether a result is still needed                                   |
| thresholds | `needed`, one threshold for calls and one for results, narrated calls stay   |
| budget     | `needed`, no thresholds: results go by score per character down to a target  |

All but the first leave errors and stubs alone, do not ask about calls that the state had no room
for, and, where thresholds decide, keep the best quarter whatever the scale of the scores.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from compaction.decisions import Decision, Strategy
from compaction.jev.compact import compact
from compaction.jev.options import Beyond, Options
from compaction.jev.wire import JevAsker
from compaction.messages import Message

_NEEDED = Beyond(
    wording="needed", skip_stubs=True, keep_errors=True, overflow="leave_out", guard="floor"
)

STRATEGIES: Mapping[str, Beyond] = MappingProxyType(
    {
        "library": Beyond(),
        "needed": _NEEDED,
        "thresholds": replace(
            _NEEDED, call_threshold=0.15, result_threshold=0.3, stub_narrated=True
        ),
        "budget": replace(_NEEDED, target_reduction=0.5, stub_narrated=True),
    }
)


def options_for(name: str, *, target: float | None = None, **options: Any) -> Options:
    """The options of a named strategy; `target` is the share of characters that shall go.

    Raises `ValueError` for an unknown name, or a target where thresholds decide.
    """
    beyond = STRATEGIES.get(name)
    if beyond is None:
        raise ValueError(f"no strategy {name!r}; there are {', '.join(STRATEGIES)}")
    if target is not None:
        if beyond.target_reduction is None:
            raise ValueError(f"the strategy {name!r} decides by thresholds and takes no target")
        beyond = replace(beyond, target_reduction=target)
    return Options(beyond=beyond, **options)


def as_strategy(asker: JevAsker, options: Options) -> Strategy:
    """A strategy like any other, for threads without a running event loop."""

    def decide(messages: Sequence[Message]) -> Mapping[str, Decision]:
        return asyncio.run(compact(messages, asker, options)).plan

    return decide
