"""What the named strategies of `compaction.jev` keep and remove on real sessions.

    python tests/bench/bench_jev.py BENCHMARK [--fitted]

BENCHMARK is the folder of the needed-later benchmark. The asker answers with the scores of the
offline scorer, or with those of the scorer that comes with the benchmark; nothing is sent.
"""

import argparse
import asyncio
import importlib
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from compaction.jev import CompactResult, ScoredAsker, compact, options_for
from compaction.messages import Message, from_json, to_json
from compaction.relevance import score

RUNS: tuple[tuple[str, float | None], ...] = (
    ("library", None),
    ("needed", None),
    ("thresholds", None),
    ("budget", 0.3),
    ("budget", 0.4),
    ("budget", 0.5),
    ("budget", 0.6),
)
SHOWN = ("reduction", "recall", "edit_recall", "error", "skeleton")

Dictionaries = list[dict[str, Any]]
Scorer = Callable[[Dictionaries, Sequence[Message]], Mapping[str, float]]


def offline(_: Dictionaries, messages: Sequence[Message]) -> Mapping[str, float]:
    """The scores of the offline scorer."""
    return score(messages)


def fitted() -> Scorer:
    """The scorer that comes with the benchmark."""
    s_fit: Callable[[Dictionaries], dict[str, float]] = importlib.import_module("baselines").s_fit

    def scorer(data: Dictionaries, _: Sequence[Message]) -> Mapping[str, float]:
        return s_fit(data)

    return scorer


def method(
    name: str,
    target: float | None,
    scorer: Scorer,
    done: list[CompactResult],
) -> Callable[[Dictionaries], Dictionaries]:
    """A method of the benchmark that compacts by a named strategy and notes each result."""
    options = options_for(name, target=target)

    def run(data: Dictionaries) -> Dictionaries:
        messages = [from_json(message) for message in data]
        asker = ScoredAsker(messages, scorer(data, messages))
        done.append(asyncio.run(compact(messages, asker, options)))
        return [to_json(message) for message in done[-1].messages]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Strategies of compaction.jev on real sessions.")
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--fitted", action="store_true", help="the benchmark's own scorer")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.benchmark.resolve()))
    bench = importlib.import_module("bench")
    scorer = fitted() if arguments.fitted else offline
    print("| strategy | reduction | recall | edits | errors | skeleton | requests | ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name, target in RUNS:
        done: list[CompactResult] = []
        figures = bench.run_method("dev", method(name, target, scorer, done))[0]
        assert not figures["pair_errors"] and not figures["mutated_inputs"]
        cells = [name if target is None else f"{name} {target:.0%}"]
        cells += [f"{figures[key]:.3f}" for key in SHOWN]
        cells.append(f"{statistics.mean(each.stats.requests for each in done):.1f}")
        cells.append(f"{statistics.median(each.stats.ms for each in done):.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
