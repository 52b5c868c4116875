"""Points and curves: smooth outlines through a few knots, the sweep of a body, and frames on the paper.

Coordinates: x grows to the right (a bird is designed looking right), y grows downwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]
Knot = tuple[float, float] | tuple[float, float, float]
"""Point on a curve; a third number of 0 makes it a corner, 1 (the default) a smooth bend."""
Disc = tuple[float, float, float]
"""Centre and radius."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A position, a scale and a rotation: maps its own coordinates to those of the sheet."""

    x: float = 0.0
    y: float = 0.0
    scale: float = 1.0
    turn: float = 0.0
    """Degrees, clockwise."""
    mirrored: bool = False
    """Whether x points left before the turn."""

    def point(self, x: float, y: float) -> Point:
        """Return the point `(x, y)` of this frame in the frame around it."""
        return self.points([(x, y)])[0]

    def points(self, points: Iterable[Point]) -> list[Point]:
        """Return points of this frame in the frame around it."""
        across = self.scale * math.cos(math.radians(self.turn))
        down = self.scale * math.sin(math.radians(self.turn))
        side = -1 if self.mirrored else 1
        return [(self.x + side * x * across - y * down, self.y + side * x * down + y * across) for x, y in points]

    def within(self, inner: Frame) -> Frame:
        """Return `inner`, a frame in coordinates of this one, as a frame in the coordinates around this one."""
        x, y = self.point(inner.x, inner.y)
        return Frame(
            x=x,
            y=y,
            scale=self.scale * inner.scale,
            turn=self.turn + (-inner.turn if self.mirrored else inner.turn),
            mirrored=self.mirrored != inner.mirrored,
        )


def along(start: Point, end: Point) -> Frame:
    """Return the frame with origin `start` and `end` at x = 1; y points clockwise of x."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    return Frame(x=start[0], y=start[1], scale=math.hypot(dx, dy), turn=math.degrees(math.atan2(dy, dx)))


def smooth(knots: Sequence[Knot], *, closed: bool = True, steps: int = 7) -> list[Point]:
    """Return the points of a cubic curve through the knots (chordal Catmull-Rom, so uneven knots do not overshoot).

    Example:
        >>> smooth([(0, 0), (1, 0)], closed=False, steps=2)
        [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)]
    """
    n = len(knots)
    tangents = []
    for i, knot in enumerate(knots):
        before = knots[i - 1] if closed or i > 0 else knot
        after = knots[(i + 1) % n] if closed or i < n - 1 else knot
        reach = math.dist(before[:2], knot[:2]) + math.dist(knot[:2], after[:2]) or 1.0
        bend = knot[2] if len(knot) == 3 else 1.0
        tangents.append((bend * (after[0] - before[0]) / reach, bend * (after[1] - before[1]) / reach))
    curve: list[Point] = []
    for i in range(n if closed else n - 1):
        j = (i + 1) % n
        length = math.dist(knots[i][:2], knots[j][:2])
        for step in range(steps):
            t = step / steps
            a, b = 2 * t**3 - 3 * t**2 + 1, (t**3 - 2 * t**2 + t) * length
            c, d = 3 * t**2 - 2 * t**3, (t**3 - t**2) * length
            curve.append(
                (
                    a * knots[i][0] + b * tangents[i][0] + c * knots[j][0] + d * tangents[j][0],
                    a * knots[i][1] + b * tangents[i][1] + c * knots[j][1] + d * tangents[j][1],
                )
            )
    return curve if closed else [*curve, (float(knots[-1][0]), float(knots[-1][1]))]


def sweep(spine: Sequence[Disc], *, steps: int = 6) -> list[Disc]:
    """Return the discs along a spine, centre and radius changing smoothly."""
    centres = smooth([(x, y) for x, y, _ in spine], closed=False, steps=steps)
    places = smooth([(float(i), 0.0) for i in range(len(spine))], closed=False, steps=steps)
    radii = smooth([(float(i), r) for i, (_, _, r) in enumerate(spine)], closed=False, steps=steps)
    return [(x, y, r) for (x, y), _, (_, r) in zip(centres, places, radii, strict=True)]


def tongue(root: Point, tip: Point, width: float, *, blunt: float = 0.6) -> list[Point]:
    """Return the outline of one feather: narrow at the root, widest past the middle, its end `blunt` (0..1)."""
    frame = along(root, tip)
    half = width / 2 / (frame.scale or 1.0)
    shape: list[Knot] = [
        (0.0, -half * 0.7),
        (0.5, -half),
        (0.86, -half * (0.55 + 0.4 * blunt)),
        (1.0, 0.0, blunt),
        (0.86, half * (0.55 + 0.4 * blunt)),
        (0.5, half),
        (0.0, half * 0.7),
    ]
    return frame.points(smooth(shape, steps=4))
