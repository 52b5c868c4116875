"""Paper, pose and light of a drawing, chosen by its number."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFilter

from training.plates.drawing.palette import Colour, darker, lighter, mix
from training.plates.drawing.shapes import Frame, Knot, Point, smooth
from training.plates.variants import balanced

SIZE_PX = 360
OVERSAMPLING = 2
GROUNDS: tuple[tuple[Colour, Colour], ...] = (
    ((226, 236, 214), (150, 176, 120)),
    ((238, 234, 222), (196, 180, 150)),
    ((214, 228, 240), (160, 188, 200)),
    ((206, 220, 196), (96, 128, 84)),
    ((244, 240, 236), (214, 206, 198)),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A sheet with a blurred ground, and a frame of 100 x 100 units in which the creature is drawn upright."""

    image: Image.Image
    pen: ImageDraw.ImageDraw
    frame: Frame
    rng: random.Random

    def fill(self, knots: Sequence[Knot], colour: Colour) -> None:
        """Fill the smooth outline through some knots, with a darker edge."""
        self.polygon(smooth(knots), colour)

    def polygon(self, points: Iterable[Point], colour: Colour, *, edge: bool = True) -> None:
        """Fill an outline."""
        placed = self.frame.points(points)
        self.pen.polygon(placed, fill=colour)
        if edge:
            self.pen.line([*placed, placed[0]], fill=darker(colour, 0.35), width=self.px(0.4))

    def line(self, points: Iterable[Point], colour: Colour, width: float) -> None:
        """Draw a line, `width` units wide."""
        self.pen.line(self.frame.points(points), fill=colour, width=self.px(width), joint="curve")

    def oval(self, x: float, y: float, rx: float, ry: float, colour: Colour, *, edge: bool = False) -> None:
        """Fill an oval about a centre."""
        turns = (step / 18 * math.pi for step in range(36))
        self.polygon([(x + rx * math.cos(turn), y + ry * math.sin(turn)) for turn in turns], colour, edge=edge)

    def px(self, units: float) -> int:
        """Return a length in whole pixels, at least one."""
        return max(1, round(units * self.frame.scale))


def scene(name: str, number: int) -> Scene:
    """Return the empty scene of drawing `number` of a creature; the same arguments always give the same one."""
    rng = random.Random(zlib.crc32(f"{name}/{number}".encode()))
    width = SIZE_PX * OVERSAMPLING
    upper, lower = GROUNDS[rng.randrange(len(GROUNDS))]
    column = Image.new("RGB", (1, 64))
    column.putdata([mix(upper, lower, row / 63) for row in range(64)])
    image = column.resize((width, width), Image.Resampling.BILINEAR)
    pen = ImageDraw.Draw(image)
    for _ in range(40):  # leaves out of focus
        x, y, r = rng.uniform(0, width), rng.uniform(width / 3, width), rng.uniform(width / 40, width / 9)
        shade = rng.uniform(0, 0.3)
        pen.ellipse(
            (x - r, y - r / 2, x + r, y + r / 2),
            fill=darker(lower, shade) if rng.random() < 0.6 else lighter(lower, shade),
        )
    image = image.filter(ImageFilter.GaussianBlur(width / 60))
    unit = width / 100
    middle = Frame(
        x=unit * (50 + rng.uniform(-5, 5)), y=unit * (50 + rng.uniform(-5, 5)), scale=unit * rng.uniform(0.72, 0.98),
        turn=rng.uniform(-18, 18), mirrored=rng.random() < 0.5,
    )  # fmt: skip
    return Scene(image, ImageDraw.Draw(image), middle.within(Frame(x=-50, y=-50)), rng)


def finished(drawn: Scene) -> Image.Image:
    """Return the drawing at its size, under a light of its own, with the grain of a photo."""
    small = drawn.image.resize((SIZE_PX, SIZE_PX), Image.Resampling.LANCZOS)
    lit = balanced(small, exposure=drawn.rng.uniform(0.85, 1.08), warmth=drawn.rng.uniform(-0.06, 0.06))
    grain = Image.frombytes("L", (SIZE_PX, SIZE_PX), drawn.rng.randbytes(SIZE_PX * SIZE_PX)).convert("RGB")
    return Image.blend(lit, grain, 0.03)
