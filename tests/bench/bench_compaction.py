"""The curve of reduction against recall over real sessions, as JSON and as a plot.

    python -m tests.bench.bench_compaction BENCHMARK-FOLDER [--split dev] [--out curve]

The folder holds `bench.py` and its sessions; the line strategy is run at several prices, and every
strategy that has a name of its own beside it.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from compaction.choice import STRATEGIES, Goal, at_price
from compaction.decisions import Decision, apply
from compaction.messages import Message, from_json, to_json
from compaction.relevance import value
from compaction.strategies import AGGRESSIVE, BALANCED, CONSERVATIVE

FIGURES = ("reduction", "recall", "edit_recall", "error", "modified_file", "skeleton")
SWEEP = (0.001, 0.005, 0.01, 0.03, 0.04, 0.05, 0.075, 0.09)
OPENCLAW_WINDOWS = (200_000, 50_000, 25_000)
PRESETS = {"conservative": CONSERVATIVE, "balanced": BALANCED, "aggressive": AGGRESSIVE}

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 700, 420, 56, 48, 24, 170
SERIES = {
    "lines": ("#2563eb", "lines by worth (ours)"),
    "jev": ("#d97706", "whole results (fast-jev)"),
    "prune": ("#6b7280", "OpenClaw's pruning"),
}


@dataclass(frozen=True)
class Point:
    """One strategy and what came of it, means over all sessions and cuts."""

    name: str
    series: str
    figures: Mapping[str, float]


def measure(bench: Any, split: str) -> Iterator[Point]:
    """A point for each strategy; the sessions are parsed and valued once."""
    parsed = [[from_json(m) for m in row[2]] for row in bench.truths(split)]
    valued = [value(messages) for messages in parsed]

    def point(name: str, series: str, decided: Iterator[Mapping[str, Decision]]) -> Point:
        turn = iter(zip(parsed, decided, strict=True))

        def method(_: object) -> list[Any]:
            messages, decisions = next(turn)
            return [to_json(message) for message in apply(messages, decisions)]

        figures, _ = bench.run_method(split, method)
        return Point(name, series, {key: figures[key] for key in FIGURES})

    for name, strategy in PRESETS.items():
        yield point(name, "lines", (strategy.decide(values) for values in valued))
    for price in SWEEP:
        strategy = at_price(price)
        yield point(f"price {price}", "lines", (strategy.decide(values) for values in valued))
    for name in STRATEGIES:
        if name.startswith("jev-"):
            yield point(name, "jev", _decided(parsed, Goal(name)))
    for window in OPENCLAW_WINDOWS:
        name = f"prune, window {window // 1000}k"
        yield point(name, "prune", _decided(parsed, Goal("prune", window=window)))


def _decided(parsed: Sequence[list[Message]], goal: Goal) -> Iterator[Mapping[str, Decision]]:
    return (STRATEGIES[goal.strategy](messages, goal) for messages in parsed)


def plot(points: Sequence[Point]) -> str:
    """An SVG: reduction to the right, recall (filled) and edit recall (rings) upwards."""

    def x(share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(share: float) -> float:
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for tenth in range(0, 11, 2):
        share = tenth / 10
        out += [
            f'<path d="M{x(0)} {y(share)}H{x(1)}M{x(share)} {y(0)}V{y(1)}" stroke="#e5e7eb"/>',
            f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.1f}</text>',
            f'<text x="{x(share)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{share:.1f}'
            "</text>",
        ]
    out += [
        f'<text x="{x(0.5)}" y="{HEIGHT - 10}" text-anchor="middle">'
        "share of the tokens that is gone</text>",
        f'<text transform="translate(16 {y(0.5)}) rotate(-90)" text-anchor="middle">'
        "share of what was needed later that is still there</text>",
    ]
    ours = sorted((p for p in points if p.series == "lines"), key=lambda p: p.figures["reduction"])
    way = " ".join(f"{x(p.figures['reduction']):.1f},{y(p.figures['recall']):.1f}" for p in ours)
    out.append(
        f'<polyline points="{way}" fill="none" stroke="{SERIES["lines"][0]}" stroke-opacity=".4"/>'
    )
    for p in points:
        colour = SERIES[p.series][0]
        for key, fill in (("edit_recall", "#fff"), ("recall", colour)):
            title = escape(f"{p.name}: {key} {p.figures[key]:.3f} at {p.figures['reduction']:.3f}")
            out.append(
                f'<circle cx="{x(p.figures["reduction"]):.1f}" cy="{y(p.figures[key]):.1f}" r="4.5"'
                f' fill="{fill}" stroke="{colour}" stroke-width="1.5"><title>{title}</title>'
                "</circle>"
            )
        if p.name in PRESETS:
            out.append(
                f'<text x="{x(p.figures["reduction"]):.1f}" y="{y(p.figures["recall"]) + 15:.1f}"'
                f' dx="8" fill="{colour}">{p.name}</text>'
            )
    for row, (colour, label) in enumerate(SERIES.values()):
        at = TOP + 12 + 20 * row
        out += [
            f'<circle cx="{WIDTH - RIGHT + 12}" cy="{at}" r="4.5" fill="{colour}"/>',
            f'<text x="{WIDTH - RIGHT + 22}" y="{at + 4}" font-size="11">{label}</text>',
        ]
    at = TOP + 12 + 20 * len(SERIES)
    out += [
        f'<text x="{WIDTH - RIGHT + 6}" y="{at + 4}" font-size="11">● results needed</text>',
        f'<text x="{WIDTH - RIGHT + 6}" y="{at + 22}" font-size="11">○ text of later edits</text>',
        "</svg>",
    ]
    return "\n".join(out) + "\n"


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
    rows = [{"name": point.name, "series": point.series, **point.figures} for point in points]
    given.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    given.out.with_suffix(".svg").write_text(plot(points), "utf-8")


if __name__ == "__main__":
    main()
