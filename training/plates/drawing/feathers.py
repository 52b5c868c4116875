"""Drawing of wings and tails, feather by feather."""

from __future__ import annotations

import math

from training.plates.drawing.anatomy import Bars, Tail, Wing, path
from training.plates.drawing.canvas import Group
from training.plates.drawing.hand import Hand
from training.plates.drawing.palette import Colour, mix
from training.plates.drawing.shapes import Frame, Knot, Point, along, smooth, tongue

COVERT_ROWS = ((0.47, 0.2, 7), (0.34, 0.15, 7), (0.23, 0.12, 7), (0.13, 0.1, 6))
"""Greater, median and two rows of lesser coverts: position of the tips, length, number."""
N_TAIL = 6
"""Number of tail feathers."""
SHOULDER = path("-0.25,-0.1 -0.08,-0.75 0.2,-0.95 0.24,-0.62 0.08,-0.36 -0.01,0 -0.06,0.3 -0.2,0.4")
"""Front of the wing, under the feathers of breast and back; y in wing depths."""


def draw_wing(hand: Hand, wing: Wing) -> None:
    """Draw the folded wing: flight feathers from the tip upwards, coverts over them, bars and patches last."""
    # For a bird that looks right, y grows from back to belly, against the rotation of the wing's axis.
    frame = hand.frame.within(along(wing.shoulder, wing.tip)).within(Frame(mirrored=True, turn=180))
    d, drop = wing.depth, wing.drop
    outline = hand.curve(
        frame,
        (
            (-0.03, 0.02),
            (0.06, -d * 0.36),
            (0.28, -d * 0.5),
            (0.56, -d * 0.42),
            (0.8, -d * 0.2),
            (1.0, drop, 0.3),
            (0.86, d * 0.2 + drop),
            (0.62, d * 0.42),
            (0.32, d * 0.52),
            (0.08, d * 0.4),
        ),
    )
    light = hand.sheet.light
    moved = Frame(x=-light[0] * 0.9 * hand.unit, y=-light[1] * 0.9 * hand.unit)
    hand.sheet.soft_shadow(moved.points(outline), 0.28, 1.6 * hand.unit)
    group = hand.sheet.group(wing.flight)
    group.add(outline)
    for i in range(wing.n):  # from the primaries at the lower edge up to the tertials
        share = i / (wing.n - 1)
        root = (0.26 - 0.1 * share, d * (0.34 - 0.62 * share))
        tip = (1.0 - 0.36 * share**1.25, drop + d * (0.08 - 0.36 * share + 0.1 * math.sin(math.pi * share)))
        draw_feather(hand, group, frame, root, tip, d * 0.26, wing.flight, wing.edge, wing.feather_bars)
    edge = wing.covert_edge or mix(wing.coverts, wing.edge, 0.35)
    for row, (at, length, n) in enumerate(COVERT_ROWS):
        fringe = mix(edge, wing.coverts, 0.25 * row)
        for i in range(n):
            x, y = row_place(at, (i + 0.5) / n, d)
            draw_feather(hand, group, frame, (at - length - 0.06, y), (x, y), d / n * 1.55, wing.coverts, fringe, ())
    front = path("-0.1,-0.2 0.04,-0.6 0.1,-0.5 0.09,0 0.08,0.5 0,0.6")
    group.patch(frame.points(smooth([(k[0], k[1] * d) for k in front])), wing.coverts, soft=0.8 * hand.unit)
    for bars in wing.bars:
        draw_wing_bars(group, frame, bars, d)
    for item in wing.patches:
        group.patch(hand.curve(frame, item.outline), item.colour, soft=item.soft * hand.unit)
    group.fade(frame.points(smooth([(k[0], k[1] * d) for k in SHOULDER])), soft=3.2 * hand.unit)
    group.finish(depth=frame.scale * d * 0.3, shade=0.42, glow=0.2, outline=0.5)


def row_place(at: float, share: float, depth: float) -> Point:
    """Return the tip of a covert in wing coordinates; `share` runs from the lower edge (0) to the upper (1)."""
    x = at + 0.05 * math.sin(math.pi * share) + 0.06 * (share - 0.5)
    return x, depth * (0.5 - share) * (1.02 - 0.45 * at)


def draw_feather(
    hand: Hand,
    group: Group,
    frame: Frame,
    root: Point,
    tip: Point,
    width: float,
    colour: Colour,
    edge: Colour,
    bars: tuple[Bars, ...],
) -> None:
    """Paint one feather with its bars and its fringe."""
    points = frame.points(tongue(root, tip, width))
    group.patch(points, colour)
    own = frame.within(along(root, tip))
    half = width / math.dist(root, tip) * 0.52
    for bar in bars:
        for at in bar.at:
            a, b = at - bar.width / 2, at + bar.width / 2
            group.patch(own.points([(a, -half), (b, -half), (b, half), (a, half)]), bar.colour)
    group.line([*points, points[0]], edge, hand.unit * 0.32)


def draw_wing_bars(group: Group, frame: Frame, bars: Bars, depth: float) -> None:
    """Paint each wing bar as a row of feather tips."""
    n = 7
    half = depth / n * 0.62
    for at in bars.at:
        for i in range(n):
            x, y = row_place(at, (i + 0.5) / n, depth)
            root = x - bars.width
            front: list[Knot] = [(root, y - half), (x, y - half * 0.9), (x + 0.015, y), (x, y + half * 0.9)]
            tip = [*front, (root, y + half), (x - bars.width * 0.7, y)]
            group.patch(frame.points(smooth(tip, steps=4)), bars.colour)


def draw_tail(hand: Hand, tail: Tail) -> None:
    """Draw the closed tail, its feathers side by side, the outer ones below the inner ones."""
    frame = hand.frame.within(along(tail.base, tail.end))
    group = hand.sheet.group(tail.colour)
    middle = (N_TAIL - 1) / 2
    for i in sorted(range(N_TAIL), key=lambda i: -abs(i - middle)):
        side = (i - middle) / middle  # -1 .. 1
        width = max(tail.width, tail.spread) / N_TAIL * 2.1
        root, tip = (0.0, side * tail.width * 0.32), (reach_of(tail, side), side * (tail.spread - width * 0.6) / 2)
        colour = tail.outer if tail.outer and abs(side) > 0.99 else tail.colour
        group.add(frame.points(tongue(root, tip, width, blunt=0.8)))
        draw_feather(hand, group, frame, root, tip, width, colour, tail.edge, tail.bars)
    half = tail.width / 2
    group.add(frame.points([(-0.08, -half), (0.3, -half), (0.3, half), (-0.08, half)]))
    for item in tail.patches:
        group.patch(hand.curve(frame, item.outline), item.colour, soft=item.soft * hand.unit)
    group.finish(depth=2.2 * hand.unit, shade=0.4, glow=0.15, outline=0.5)


def reach_of(tail: Tail, side: float) -> float:
    """Return the length of a tail feather relative to the longest; `side` is -1 or 1 for the outermost ones."""
    reach: dict[str, float] = {
        "square": 1.0 - 0.02 * abs(side),
        "rounded": 1.0 - 0.12 * side * side,
        "notched": 0.92 + 0.08 * abs(side),
        "forked": 0.62 + 0.38 * abs(side) ** 1.6,
        "graduated": 1.0 - 0.42 * abs(side),
        "wedge": 1.0 - 0.25 * abs(side),
    }
    return reach[tail.tip]
