"""A frog, a mushroom, a flower and a cat: pictures of other groups."""

from __future__ import annotations

import math
from collections.abc import Callable

from PIL import Image

from training.creatures.setting import Scene, finished, scene
from training.plates.drawing.palette import Colour, darker, ink, lighter
from training.plates.drawing.shapes import Knot

Draw = Callable[[Scene, Colour, Colour], None]
"""Draws a creature in two colours."""


def frog(on: Scene, back: Colour, belly: Colour) -> None:
    """Draw a sitting frog from the front left: body, folded legs, bulging eyes."""
    for side in (-1, 1):
        on.fill(
            [
                (50 + 14 * side, 66),
                (50 + 38 * side, 58),
                (50 + 42 * side, 76),
                (50 + 22 * side, 84),
                (50 + 12 * side, 80),
            ],
            darker(back, 0.15),
        )
        on.fill(
            [(50 + 22 * side, 82), (50 + 44 * side, 84), (50 + 46 * side, 90), (50 + 20 * side, 90)], darker(back, 0.25)
        )
    on.fill([(50, 34), (72, 44), (76, 66), (66, 84), (50, 88), (34, 84), (24, 66), (28, 44)], back)
    on.fill([(50, 56), (62, 64), (60, 82), (50, 86), (40, 82), (38, 64)], belly)
    on.fill([(50, 30), (70, 36), (74, 48), (60, 58), (50, 59), (40, 58), (26, 48), (30, 36)], lighter(back, 0.1))
    on.line([(29, 49), (40, 55), (50, 56), (60, 55), (71, 49)], darker(back, 0.6), 1)
    for side in (-1, 1):
        on.oval(50 + 15 * side, 32, 7.5, 7.5, back, edge=True)
        on.oval(50 + 15 * side, 32, 5.4, 5.4, ink("amber"))
        on.oval(50 + 15 * side, 32, 4, 1.8, ink("black"))
        on.fill(
            [
                (50 + 16 * side, 76),
                (50 + 24 * side, 88),
                (50 + 22 * side, 92),
                (50 + 8 * side, 92),
                (50 + 12 * side, 84),
            ],
            darker(back, 0.1),
        )
    for _ in range(14):
        on.oval(on.rng.uniform(30, 70), on.rng.uniform(38, 54), 1.6, 1.3, darker(back, 0.35))


def mushroom(on: Scene, cap: Colour, stem: Colour) -> None:
    """Draw a mushroom: a stem with a ring, gills below a cap with warts."""
    on.fill([(43, 50), (57, 50), (58, 74), (63, 90), (37, 90), (42, 74)], stem)
    on.fill([(42, 60), (58, 60), (62, 66), (38, 66)], lighter(stem, 0.2))
    on.fill([(12, 50), (50, 44), (88, 50), (50, 60)], darker(stem, 0.12))
    for step in range(15):
        on.line([(50, 50), (16 + 68 * step / 14, 52)], darker(stem, 0.35), 0.5)
    rim: list[Knot] = [(90, 50), (70, 47), (50, 46), (30, 47)]
    on.fill([(10, 50), (16, 32), (34, 18), (50, 15), (66, 18), (84, 32), *rim], cap)
    for x, y in ((30, 32), (44, 22), (58, 30), (70, 28), (76, 40), (42, 38), (22, 44), (60, 42)):
        on.oval(x, y, 3.4, 2.4, lighter(stem, 0.3))


def flower(on: Scene, petal: Colour, heart: Colour) -> None:
    """Draw a flower: a stalk with leaves, and petals about a disc."""
    on.line([(50, 40), (52, 70), (48, 110)], ink("green"), 2.4)
    for side in (-1, 1):
        on.fill([(50, 80), (50 + 14 * side, 66), (50 + 26 * side, 68), (50 + 14 * side, 80)], ink("green"))
    n = 12
    for step in range(n):
        turn = 2 * math.pi * step / n
        across, down = math.cos(turn), math.sin(turn)
        tip, wide = 30, 6
        on.fill(
            [(50 + 6 * across, 40 + 6 * down), (50 + 18 * across - wide * down, 40 + 18 * down + wide * across),
             (50 + tip * across, 40 + tip * down), (50 + 18 * across + wide * down, 40 + 18 * down - wide * across)],
            petal if step % 2 else lighter(petal, 0.12),
        )  # fmt: skip
    on.oval(50, 40, 9, 9, heart, edge=True)
    for _ in range(40):
        on.oval(50 + on.rng.uniform(-6, 6), 40 + on.rng.uniform(-6, 6), 0.7, 0.7, darker(heart, 0.4))


def cat(on: Scene, fur: Colour, chest: Colour) -> None:
    """Draw a sitting cat: body, tail, ears, eyes, whiskers."""
    on.line([(66, 84), (86, 80), (88, 62), (80, 56)], fur, 5)
    on.fill([(50, 44), (66, 60), (70, 84), (60, 92), (40, 92), (30, 84), (34, 60)], fur)
    on.fill([(50, 54), (57, 66), (55, 84), (45, 84), (43, 66)], chest)
    for side in (-1, 1):
        on.polygon([(50 + 18 * side, 32), (50 + 19 * side, 10), (50 + 5 * side, 20)], fur)
        on.polygon([(50 + 16 * side, 27), (50 + 17 * side, 15), (50 + 8 * side, 21)], ink("salmon"))
        on.oval(50 + 8 * side, 91, 6, 4, lighter(fur, 0.1), edge=True)
    on.fill([(50, 17), (66, 22), (71, 34), (62, 47), (50, 51), (38, 47), (29, 34), (34, 22)], fur)
    for side in (-1, 1):
        on.oval(50 + 9 * side, 32, 4.4, 4.4, ink("lime"), edge=True)
        on.oval(50 + 9 * side, 32, 1.3, 3.8, ink("black"))
        for y in (39, 42, 45):
            on.line([(50 + 5 * side, 41), (50 + 27 * side, y - 2)], ink("white"), 0.5)
    on.polygon([(47, 39), (53, 39), (50, 42.5)], ink("pink"))
    for y in (22, 25, 28):
        on.line([(44, y), (56, y)], darker(fur, 0.35), 0.9)


DRAWN: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "frog": (frog, ("green, cream", "olive brown, buff", "red, blue", "lime, white", "slate, yellow")),
    "mushroom": (mushroom, ("red, cream", "brown, buff", "yellow, cream", "violet, pale grey", "white, cream")),
    "flower": (flower, ("white, yellow", "yellow, dark brown", "violet, amber", "pink, yellow", "red, black")),
    "cat": (cat, ("orange, white", "soot, white", "grey, pale grey", "cream, white", "brown, buff")),
}
"""Group -> how it is drawn, and the two inks of each of its kinds."""


def draw(group: str, number: int, *, kind: int | None = None) -> Image.Image:
    """Return drawing `number` of a group, RGB; kinds of different colours take turns unless one is chosen."""
    how, kinds = DRAWN[group]
    chosen = number % len(kinds) if kind is None else kind
    first, second = kinds[chosen].split(", ")
    on = scene(f"{group}/{chosen}", number)
    how(on, ink(first), ink(second))
    return finished(on)
