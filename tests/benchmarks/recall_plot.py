"""Draws R@10 of every system as bars, from the files of `recall.py`: `python recall_plot.py turns.json … OUT.svg`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

LEFT, TOP, WIDTH, BAR, GAP = 190, 60, 420, 18, 34
COLOURS = ("#0b6e4f", "#c8553d", "#3d5a99", "#c9a227", "#7a7a7a", "#93689a")
PLOTTED_METRIC = "R@10"
_SHAPES = {
    "turns": "LoCoMo, every line said",
    "facts": "LoCoMo, extracted facts",
    "mixed": "Long mixed messages",
    "mixed-bare": "Long mixed messages, bare",
}


def plot(results: Sequence[Mapping[str, Any]]) -> str:
    """Return a file with one group of bars per result, without our variants that have a stage off."""
    names = list(dict.fromkeys(name for result in results for name in _overall_scores(result)))
    colours = dict(zip(names, COLOURS * len(names), strict=False))
    parts, top = [_text(20, 28, "Share of what answers a question among the first ten (R@10)", 'font-size="16"')], TOP
    for result in results:
        parts.append(_text(20, top + 4, _title(result), 'font-weight="bold"'))
        top += 16
        for name, share in _overall_scores(result).items():
            parts.append(_text(LEFT - 8, top + BAR - 5, name, 'text-anchor="end"'))
            parts.append(
                f'<rect x="{LEFT}" y="{top}" width="{round(WIDTH * share, 1)}" height="{BAR - 3}" '
                f'fill="{colours[name]}"/>'
            )
            parts.append(_text(round(LEFT + WIDTH * share + 6, 1), top + BAR - 5, f"{share:.2f}", ""))
            top += BAR
        top += GAP
    width = LEFT + WIDTH + 60
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{top}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _overall_scores(result: Mapping[str, Any]) -> dict[str, float]:
    return {name: figures[PLOTTED_METRIC] for name, figures in result["systems"].items() if "," not in name}


def _title(result: Mapping[str, Any]) -> str:
    embedder = "without a model" if result["embedder"] == "offline" else f"embedder {result['embedder']}"
    return f"{_SHAPES.get(result['shape'], result['shape'])}, {embedder}"


def _text(left: float, top: float, words: str, style: str) -> str:
    return f'<text x="{left}" y="{top}" {style}>{escape(words)}</text>'


if __name__ == "__main__":
    *given, out = map(Path, sys.argv[1:])
    out.write_text(plot([json.loads(each.read_text(encoding="utf-8")) for each in given]), encoding="utf-8")
