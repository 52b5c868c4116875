"""Unsteady pen on a sheet, in the coordinates of a bird."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from training.plates.drawing.canvas import Sheet
from training.plates.drawing.shapes import Disc, Frame, Knot, Point, smooth


class Hand:
    """Puts the shapes of one bird on a sheet; `wobble` is the largest displacement of a knot, in units."""

    def __init__(self, sheet: Sheet, frame: Frame, *, rng: random.Random, wobble: float) -> None:
        self.sheet = sheet
        self.frame = frame
        self.rng = rng
        self.wobble = wobble
        self.unit = frame.scale
        """Pixels per hundredth of the sheet."""

    def curve(self, frame: Frame, knots: Sequence[Knot]) -> list[Point]:
        """Return the smooth outline in pixels through the knots of a frame, each displaced at random."""
        reach = self.wobble * self.unit / frame.scale
        jitter = self.rng.uniform
        moved: list[Knot] = [
            (k[0] + jitter(-reach, reach), k[1] + jitter(-reach, reach), k[2] if len(k) == 3 else 1.0) for k in knots
        ]
        return frame.points(smooth(moved))

    def discs(self, discs: Iterable[Disc]) -> list[Disc]:
        """Return discs, given in units, in pixels."""
        return [(*self.frame.point(x, y), r * self.unit) for x, y, r in discs]
