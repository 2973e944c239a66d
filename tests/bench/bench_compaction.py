"""The curve of reduction against recall over real sessions, as JSON and as a plot.

    python -m tests.bench.bench_compaction BENCHMARK-FOLDER [--split dev] [--out curve]

The folder holds `bench.py` and its sessions; each strategy is run at several prices.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compaction.decisions import apply
from compaction.messages import from_json, to_json
from compaction.relevance import value
from compaction.strategies import AGGRESSIVE, BALANCED, CONSERVATIVE, ByLine

FIGURES = ("reduction", "recall", "edit_recall", "error", "modified_file", "skeleton")
WIDTH, HEIGHT, EDGE = 480, 320, 40


@dataclass(frozen=True)
class Point:
    """One strategy and what came of it, means over all sessions and cuts."""

    name: str
    figures: Mapping[str, float]


def strategies() -> Iterator[tuple[str, ByLine]]:
    """The presets, and each way of weighing length at rising prices."""
    yield "conservative", CONSERVATIVE
    yield "balanced", BALANCED
    yield "aggressive", AGGRESSIVE
    for price in (0.01, 0.03, 0.05, 0.08):
        yield f"price {price}", replace(BALANCED, price=price)
    for price in (0.05, 0.07, 0.1):
        yield f"long lines, price {price}", replace(AGGRESSIVE, price=price)


def measure(bench: Any, split: str) -> Iterator[Point]:
    """A point for each strategy; the sessions are valued once."""
    prefixes = [row[2] for row in bench.truths(split)]
    parsed = [[from_json(message) for message in prefix] for prefix in prefixes]
    valued = [value(messages) for messages in parsed]
    for name, strategy in strategies():
        turn = iter(zip(parsed, valued, strict=True))

        def method(_: object, strategy: ByLine = strategy, turn: Any = turn) -> list[Any]:
            messages, values = next(turn)
            return [to_json(message) for message in apply(messages, strategy.decide(values))]

        figures, _ = bench.run_method(split, method)
        yield Point(name, {key: figures[key] for key in FIGURES})


def plot(points: Sequence[Point]) -> str:
    """An SVG: reduction to the right, recall (blue) and edit recall (orange) upwards."""

    def circle(point: Point, key: str, colour: str) -> str:
        x = EDGE + point.figures["reduction"] * (WIDTH - 2 * EDGE)
        y = HEIGHT - EDGE - point.figures[key] * (HEIGHT - 2 * EDGE)
        title = f"{point.name}: {key} {point.figures[key]:.3f}"
        place = f'cx="{x:.1f}" cy="{y:.1f}"'
        return f'<circle {place} r="4" fill="{colour}"><title>{title}</title></circle>'

    dots = [circle(point, "recall", "#36c") for point in points]
    dots += [circle(point, "edit_recall", "#e80") for point in points]
    axes = f"M{EDGE} {EDGE}V{HEIGHT - EDGE}H{WIDTH - EDGE}"
    label = f'<text x="{WIDTH // 2}" y="{HEIGHT - 10}" font-size="12">reduction, 0 to 1</text>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return "\n".join(
        [head, f'<path d="{axes}" fill="none" stroke="#888"/>', label, *dots, "</svg>"]
    )


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--out", type=Path, default=Path("curve"))
    given = parser.parse_args()
    sys.path.insert(0, str(given.folder))
    points: list[Point] = []
    for point in measure(importlib.import_module("bench"), given.split):
        points.append(point)
        print(point.name, " ".join(f"{key}={number}" for key, number in point.figures.items()))
    rows = [{"name": point.name, **point.figures} for point in points]
    given.out.with_suffix(".json").write_text(json.dumps(rows, indent=1), "utf-8")
    given.out.with_suffix(".svg").write_text(plot(points), "utf-8")


if __name__ == "__main__":
    main()
