"""Line charts as SVG: panels side by side with a common legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

COLOURS: Final = ("#b45309", "#1d6f8c", "#3f3f46", "#cc79a7", "#56b4e9", "#d4a900", "#009e73", "#7c3aed")
"""Colours of the lines, distinct without red-green vision."""

_SIDE: Final = 260  # pixels of a panel's plot, which is square
_LEFT, _TOP, _BOTTOM, _GAP, _RIGHT = 62, 40, 78, 64, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line through points in `[0, 1] x [0, 1]`; with `is_marked` the points are dots on it."""

    name: str
    points: Sequence[tuple[float, float]]
    is_marked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A plot; names of lines are the same in all panels."""

    title: str
    lines: Sequence[Line]
    has_diagonal: bool = False
    x_ticks: Sequence[tuple[float, str]] = tuple((tenths / 10, f"{tenths / 10:.1f}") for tenths in range(0, 11, 2))
    """Places on the horizontal axis and their labels; by default every 0.2."""
    y_ticks: Sequence[tuple[float, str]] = ()
    """The same on the vertical axis; by default every 0.2 up to its end."""


def draw(panels: Sequence[Panel], *, x: str, y: str, top: float = 1.0) -> str:
    """Return the SVG of some panels.

    Args:
        panels: from left to right.
        x: label of the horizontal axis, from 0 to 1.
        y: label of the vertical axis.
        top: end of the vertical axis, a multiple of 0.2.
    """
    width = _LEFT + len(panels) * _SIDE + (len(panels) - 1) * _GAP + _RIGHT
    height = _TOP + _SIDE + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" fill="#27272a">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, _LEFT + number * (_SIDE + _GAP), x=x, y=y, top=top)
    at = _LEFT
    for line, colour in zip(panels[0].lines, COLOURS, strict=False):
        parts.append(f'<path d="M{at} {height - 18}h16" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{at + 21}" y="{height - 14}">{escape(line.name)}</text>')
        at += 35 + 7 * len(line.name)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: float, *, x: str, y: str, top: float) -> list[str]:
    def at(point: tuple[float, float]) -> tuple[float, float]:
        return left + point[0] * _SIDE, _TOP + _SIDE * (1 - min(point[1], top) / top)

    parts = [f'<text x="{left + _SIDE / 2}" y="{_TOP - 14}" text-anchor="middle">{escape(panel.title)}</text>']
    for place, label in panel.x_ticks:
        across, _ = at((place, 0))
        parts.append(f'<path d="M{across:.1f} {_TOP}v{_SIDE}" stroke="#e4e4e7"/>')
        parts.append(f'<text x="{across:.1f}" y="{_TOP + _SIDE + 18}" text-anchor="middle">{label}</text>')
    tenths = range(0, round(top * 10) + 1, 2)
    for place, label in panel.y_ticks or [(tenth / 10, f"{tenth / 10:.1f}") for tenth in tenths]:
        _, down = at((0, place))
        parts.append(f'<path d="M{left} {down:.1f}h{_SIDE}" stroke="#e4e4e7"/>')
        parts.append(f'<text x="{left - 8}" y="{down + 4:.1f}" text-anchor="end">{label}</text>')
    middle = _TOP + _SIDE / 2
    parts.append(f'<text x="{left + _SIDE / 2}" y="{_TOP + _SIDE + 38}" text-anchor="middle">{escape(x)}</text>')
    parts.append(
        f'<text x="{left - 40}" y="{middle}" text-anchor="middle" transform="rotate(-90 {left - 40} {middle})">'
        f"{escape(y)}</text>"
    )
    parts.append(f'<rect x="{left}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#71717a"/>')
    if panel.has_diagonal:
        parts.append(
            f'<path d="M{left} {_TOP + _SIDE}L{left + _SIDE} {_TOP}" stroke="#71717a" stroke-dasharray="4 4"/>'
        )
    for line, colour in zip(panel.lines, COLOURS, strict=False):
        points = [at(point) for point in line.points]
        path = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if line.is_marked:
            parts += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>' for across, down in points]
    return parts
