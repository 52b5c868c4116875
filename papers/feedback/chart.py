"""Recall over turns as an SVG line chart."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from papers.feedback.report import SINGLE, FeedbackFigures

_COLOURS: Final = (
    "#475569", "#b45309", "#1d6f8c", "#15803d", "#7c3aed", "#be123c",
    "#0284c7", "#a16207", "#db2777", "#65a30d", "#4338ca", "#0d9488",
)  # fmt: skip
_DASHED: Final = {SINGLE: "5 4", "ceiling": "2 3"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _STEP = 420, 300, 60, 24, 18


def chart(figures: FeedbackFigures) -> str:
    """Return the accumulated recall of each method by turn; the single turn and the ceiling are dashed."""
    lines = {name: [each.micro for each in of] for name, of in figures.recall.items()}
    lines["ceiling"] = list(figures.ceiling)
    n_turns = max(1, len(figures.ceiling) - 1)
    width = _LEFT + _WIDTH + 30 + 8 * max(map(len, lines)) + 40

    def at(turn: float, recall: float) -> str:
        return f"{_LEFT + _WIDTH * turn / n_turns:.1f} {_TOP + _HEIGHT * (1 - recall):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_TOP + _HEIGHT + 56}" width="{width}" '
        f'height="{_TOP + _HEIGHT + 56}" font-family="sans-serif" font-size="12" fill="#27272a">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for tick in range(6):
        down = _TOP + _HEIGHT * (1 - tick / 5)
        parts.append(f'<path d="M{_LEFT} {down:.1f}h{_WIDTH}" stroke="#e4e4e7"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{tick * 20} %</text>')
    for turn in range(len(figures.ceiling)):
        across = _LEFT + _WIDTH * turn / n_turns
        parts.append(f'<text x="{across:.1f}" y="{_TOP + _HEIGHT + 20}" text-anchor="middle">{turn}</text>')
    middle = _LEFT + _WIDTH / 2
    parts.append(f'<text x="{middle}" y="{_TOP + _HEIGHT + 42}" text-anchor="middle">turn of {figures.k} photos</text>')
    parts.append(f'<text x="{_LEFT}" y="14">accumulated recall, {figures.n_queries:,} queries</text>')
    for number, (name, values) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        dashes = f' stroke-dasharray="{_DASHED[name]}"' if name in _DASHED else ""
        style = f'stroke="{_COLOURS[0] if dashes else colour}" stroke-width="2"{dashes}'
        points = "L".join(at(turn, value) for turn, value in enumerate(values))
        parts.append(f'<path d="M{points}" fill="none" {style}/>')
        right, down = _LEFT + _WIDTH + 16, _TOP + 8 + number * _STEP
        parts.append(f'<path d="M{right} {down}h24" {style}/>')
        parts.append(f'<text x="{right + 30}" y="{down + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
