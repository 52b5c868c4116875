"""Drawing of legs and feet."""

from __future__ import annotations

from training.plates.drawing.anatomy import Bird
from training.plates.drawing.hand import Hand
from training.plates.drawing.palette import darker
from training.plates.drawing.shapes import Knot, Point, smooth, tongue


def draw_legs(hand: Hand, bird: Bird) -> None:
    """Draw the far leg in shadow, then the near one, each with its feathered thigh."""
    legs = bird.legs
    if legs is None:
        return
    for is_far in (True, False):
        shift = legs.apart if is_far else 0.0
        hip = (legs.hip[0] + shift * 0.5, legs.hip[1])
        foot = (legs.foot[0] + shift, legs.foot[1] - (0.6 if is_far else 0.0))
        ankle = ((hip[0] + foot[0]) / 2 - legs.ankle, (hip[1] + foot[1]) / 2)
        group = hand.sheet.group(darker(legs.colour, 0.3) if is_far else legs.colour)
        half = legs.width / 2
        bend = half * (1.35 if legs.ankle else 1.0)
        group.add_discs(hand.discs([(*hip, half * 1.1), (*ankle, bend), (*foot, half)]))
        for toe in toes(legs.kind, foot, legs.width):
            group.add(hand.frame.points(toe))
        group.finish(depth=0.9 * hand.unit, shade=0.35, glow=0.3, outline=0.6)
        if legs.thigh:
            thigh = hand.sheet.group(darker(legs.thigh_colour or bird.colour, 0.2 if is_far else 0.04))
            knee = (hip[0] * 0.6 + ankle[0] * 0.4, hip[1] * 0.55 + ankle[1] * 0.45)
            thigh.add_discs(hand.discs([(hip[0], hip[1] - 2, legs.thigh), (*knee, legs.thigh * 0.5)]))
            thigh.finish(depth=1.6 * hand.unit, shade=0.4, glow=0.1)


def toes(kind: str, foot: Point, width: float) -> list[list[Point]]:
    """Return the outlines of the toes of a foot at `foot`, in the sheet's units."""
    x, y = foot
    if kind == "webbed":
        web: list[Knot] = [(x - 1.2, y - 0.8), (x + 2.5, y - 0.6), (x + 6.6, y + 1.6, 0), (x + 3, y + 2.1)]
        web.append((x - 1.5, y + 2.0, 0))
        return [smooth(web)]
    size = width * {"perching": 2.2, "wading": 2.9, "talons": 2.6}[kind]
    thick = width * (1.0 if kind == "talons" else 0.72)
    drop = {"perching": 1.1, "wading": 0.9, "talons": 1.7}[kind]
    tips = [(x + size * 1.15, y + drop * 0.7), (x + size * 0.7, y + drop * 1.5), (x - size * 0.75, y + drop * 1.1)]
    return [tongue((x, y - 0.3), tip, thick, blunt=0.4) for tip in tips]
