"""Drawing of the setting: a branch, trunk, stone, post, water or grass."""

from __future__ import annotations

import math

from training.plates.drawing.anatomy import Bird
from training.plates.drawing.hand import Hand
from training.plates.drawing.palette import darker, ink, lighter, mix
from training.plates.drawing.shapes import Knot, smooth, sweep


def draw_setting(hand: Hand, bird: Bird) -> None:
    """Draw the setting of a bird at the height of its feet."""
    y = bird.ground_y
    if bird.setting == "branch":
        draw_branch(hand, y)
    elif bird.setting == "trunk":
        draw_trunk(hand, y)
    elif bird.setting == "water":
        draw_water(hand, y)
    elif bird.setting == "ground":
        draw_grass(hand, y)
    else:
        draw_seat(hand, y, half_width=24 if bird.setting == "rock" else 8, ink_name=bird.setting)


def draw_branch(hand: Hand, y: float) -> None:
    """Draw a branch from side to side."""
    group = hand.sheet.group(ink("bark"))
    slope = hand.rng.uniform(-1.5, 1.5)
    spine = [(12, y + 3 - slope, 1.5), (40, y + 2, 2.0), (66, y + 2.2, 1.9), (90, y + 1 + slope, 1.3)]
    group.add_discs(hand.discs(sweep(spine)))
    for _ in range(40):
        x, top = hand.rng.uniform(10, 90), y + hand.rng.uniform(0, 4)
        grain = [(x, top), (x + hand.rng.uniform(2, 6), top + hand.rng.uniform(-0.4, 0.4))]
        group.line(hand.frame.points(grain), darker(group.colour, 0.2), 0.3 * hand.unit)
    group.finish(depth=1.8 * hand.unit, shade=0.6, glow=0.3)


def draw_trunk(hand: Hand, x: float) -> None:
    """Draw an upright trunk with its left edge at `x`."""
    group = hand.sheet.group(ink("bark"))
    edge: list[Knot] = [(x, -40), (x + 11, -40), (x + 10, 50), (x + 12, 150), (x - 1, 150), (x + 1, 50)]
    group.add(hand.frame.points(smooth(edge)))
    for _ in range(130):
        left, top = hand.rng.uniform(x, x + 11), hand.rng.uniform(-20, 120)
        grain = [(left, top), (left + hand.rng.uniform(-0.8, 0.8), top + hand.rng.uniform(3, 8))]
        group.line(hand.frame.points(grain), darker(group.colour, hand.rng.uniform(0.1, 0.3)), 0.5 * hand.unit)
    group.finish(depth=5 * hand.unit, shade=0.6, glow=0.3)


def draw_water(hand: Hand, y: float) -> None:
    """Draw a few ripples."""
    for i in range(7):
        x, top = 50 + hand.rng.uniform(-16, 16), y + i * 1.9
        half = hand.rng.uniform(12, 30) * (1 - i * 0.06)
        ripple: list[Knot] = [(x - half, top), (x - half / 3, top - 0.5), (x + half / 3, top + 0.4), (x + half, top)]
        points = hand.frame.points(smooth(ripple, closed=False))
        hand.sheet.stroke(points, mix(ink("water"), ink("white"), i / 14), 0.7 * hand.unit)


def draw_seat(hand: Hand, y: float, *, half_width: float, ink_name: str) -> None:
    """Draw a stone or a post that reaches down to the edge of the sheet."""
    w = half_width
    group = hand.sheet.group(ink("stone" if ink_name == "rock" else "bark"))
    edge: list[Knot] = [(48 - w, 150), (48 - w * 0.9, y + 4), (48 - w * 0.5, y), (48 + w * 0.6, y + 0.2)]
    group.add(hand.frame.points(smooth([*edge, (48 + w, y + 5), (48 + w * 1.1, 150)])))
    group.plumage(
        hand.rng, direction=0.3 if ink_name == "rock" else math.pi / 2, length=4 * hand.unit, n=120, strength=0.12
    )
    group.finish(depth=5 * hand.unit, shade=0.5, glow=0.3)


def draw_grass(hand: Hand, y: float) -> None:
    """Draw the bird's shadow and some blades of grass."""
    angles = [step / 12 * math.pi for step in range(24)]
    shadow = [(50 + 30 * math.cos(angle), y + 1.6 + 2.6 * math.sin(angle)) for angle in angles]
    hand.sheet.soft_shadow(hand.frame.points(shadow), 0.3, 2.2 * hand.unit)
    for _ in range(26):
        x, root = 50 + hand.rng.gauss(0, 17), y + hand.rng.uniform(0.5, 4)
        blade = [(x, root), (x + hand.rng.uniform(-1.2, 1.2), root - hand.rng.uniform(1.5, 4))]
        hand.sheet.stroke(hand.frame.points(blade), lighter(ink("moss"), hand.rng.uniform(0, 0.4)), 0.35 * hand.unit)
