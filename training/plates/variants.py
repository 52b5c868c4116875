"""Variants of a drawing: side, tilt, size, place, head, paper, light, small details."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from PIL import Image

from training.plates.drawing.anatomy import Bird
from training.plates.drawing.bird import draw_bird
from training.plates.drawing.canvas import Sheet
from training.plates.drawing.hand import Hand
from training.plates.drawing.palette import Colour
from training.plates.drawing.setting import draw_setting
from training.plates.drawing.shapes import Frame, Point

Purpose = Literal["plate", "anchor", "query"]
SIZE_PX = 360
OVERSAMPLING = 2
PAPERS: tuple[tuple[Colour, Colour], ...] = (
    ((250, 249, 244), (236, 233, 222)),
    ((240, 245, 248), (222, 230, 234)),
    ((247, 243, 234), (232, 224, 208)),
    ((243, 246, 238), (224, 231, 214)),
    ((246, 242, 246), (230, 224, 230)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Pose, light and paper of one drawing. `seed` places knots, streaks and feathers."""

    seed: int
    mirrored: bool = False
    tilt: float = 0.0
    """Degrees, clockwise on a bird that looks right."""
    scale: float = 1.0
    shift: Point = (0.0, 0.0)
    head_turn: float = 0.0
    paper: int = 0
    light: Point = (-0.5, -0.85)
    exposure: float = 1.0
    warmth: float = 0.0
    wobble: float = 0.0
    """Largest displacement of a knot, in hundredths of the sheet."""


def variant_for(name: str, purpose: Purpose, number: int) -> Variant:
    """Return the variant of one drawing of the bird `name`: plates are plain, anchors and queries vary.

    The same arguments always give the same variant; no two purposes share one.
    """
    seed = zlib.crc32(f"{name}/{purpose}/{number}".encode())
    if purpose == "plate":
        return Variant(seed=seed)
    rng = random.Random(seed)
    return Variant(
        seed=seed,
        mirrored=rng.random() < 0.5,
        tilt=rng.uniform(-7, 7),
        scale=rng.uniform(0.84, 1.02),
        shift=(rng.uniform(-3, 3), rng.uniform(-3, 3)),
        head_turn=rng.uniform(-9, 9),
        paper=rng.randrange(len(PAPERS)),
        light=(rng.choice((-1, 1)) * rng.uniform(0.3, 0.7), -0.8),
        exposure=rng.uniform(0.92, 1.05),
        warmth=rng.uniform(-0.04, 0.04),
        wobble=0.35,
    )


def draw(bird: Bird, variant: Variant, *, size: int = SIZE_PX) -> Image.Image:
    """Return the drawing of a bird, `(size, size)` RGB; the same within one version of Pillow."""
    top, bottom = PAPERS[variant.paper]
    sheet = Sheet(size, oversampling=OVERSAMPLING, top=top, bottom=bottom, light=variant.light)
    unit = sheet.width / 100
    rng = random.Random(variant.seed)
    standing = Frame(
        x=unit * (50 + variant.shift[0]),
        y=unit * (50 + variant.shift[1]),
        scale=unit * variant.scale,
        mirrored=variant.mirrored,
    ).within(Frame(x=-50, y=-50))
    draw_setting(Hand(sheet, standing, rng=rng, wobble=0.0), bird)
    x, y = bird.legs.foot
    # The bird tilts about its feet; the ground does not tilt.
    tilted = standing.within(Frame(x=x, y=y, turn=variant.tilt)).within(Frame(x=-x, y=-y))
    draw_bird(Hand(sheet, tilted, rng=rng, wobble=variant.wobble), bird, head_turn=variant.head_turn)
    return balanced(sheet.printed(), exposure=variant.exposure, warmth=variant.warmth)


def balanced(image: Image.Image, *, exposure: float, warmth: float) -> Image.Image:
    """Return the picture as under another light: brighter or darker, warmer or cooler."""
    if exposure == 1.0 and warmth == 0.0:
        return image
    return image.point([level for gain in gains(exposure, warmth) for level in gain])


@lru_cache(maxsize=8)
def gains(exposure: float, warmth: float) -> tuple[tuple[int, ...], ...]:
    """Return the 256 output levels of red, green and blue."""
    factors = (exposure * (1 + warmth), exposure, exposure * (1 - warmth))
    return tuple(tuple(min(255, round(level * factor)) for level in range(256)) for factor in factors)
