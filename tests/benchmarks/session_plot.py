"""Draws line charts as one SVG file. A plotting library would be larger than all benchmarks together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import log10

WIDTH, HEIGHT, LEFT, TOP = 400, 230, 60, 50
COLOURS = ("#0b6e4f", "#c8553d", "#3d5a99")

Points = Sequence[tuple[float, float]]
Ticks = Mapping[float, str]


def charts(*drawn: str) -> str:
    """Return several charts side by side as one file."""
    width = len(drawn) * (WIDTH + LEFT + 20)
    height = TOP + HEIGHT + 100
    placed = "".join(
        f'<g transform="translate({at * (WIDTH + LEFT + 20)} 0)">{one}</g>' for at, one in enumerate(drawn)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>{placed}</svg>\n'
    )


def chart(title: str, series: Mapping[str, Points], *, x: Ticks, y: Ticks, logarithmic: bool) -> str:
    """Return one chart; `x` and `y` are the ticks with their labels, and the outer ticks are its edges."""
    across, up = _scale(x, logarithmic), _scale(y, logarithmic)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return round(LEFT + WIDTH * across(point[0]), 1), round(TOP + HEIGHT * (1 - up(point[1])), 1)

    parts = [_text(LEFT, 25, title, 'font-size="15" font-weight="bold"')]
    for value, label in y.items():
        height = at((min(x), value))[1]
        parts.append(f'<path d="M{LEFT} {height}h{WIDTH}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 8, height + 4, label, 'text-anchor="end"'))
    parts += [
        _text(at((value, min(y)))[0], TOP + HEIGHT + 20, label, 'text-anchor="middle"') for value, label in x.items()
    ]
    for number, ((name, points), colour) in enumerate(zip(series.items(), COLOURS, strict=False)):
        line = " ".join(f"{left},{top}" for left, top in map(at, points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(LEFT, TOP + HEIGHT + 45 + 17 * number, f"— {name}", f'fill="{colour}" font-weight="bold"'))
    return "".join(parts)


def _scale(ticks: Ticks, logarithmic: bool) -> Callable[[float], float]:
    measure = log10 if logarithmic else float
    low, high = measure(min(ticks)), measure(max(ticks))
    return lambda value: (measure(value) - low) / (high - low)


def _text(left: float, top: float, words: str, style: str) -> str:
    return f'<text x="{left}" y="{top}" {style}>{escape(words)}</text>'
