"""Drawing of a bird: tail, legs, bill, body with its patches, wing and eyes, in the order in which they overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence

from training.plates.drawing.anatomy import Bird, Marks, Patch
from training.plates.drawing.canvas import Group
from training.plates.drawing.face import draw_bill, draw_crest_feathers, draw_eye
from training.plates.drawing.feathers import draw_tail, draw_wing
from training.plates.drawing.hand import Hand
from training.plates.drawing.limbs import draw_legs
from training.plates.drawing.shapes import Frame, Point, smooth, sweep

N_FEATHER_TIPS = 260


def draw_bird(hand: Hand, bird: Bird, *, head_turn: float = 0.0) -> None:
    """Draw the bird with its head turned by some degrees."""
    frames = frames_of(hand, bird, head_turn)
    head = frames["head"]
    draw_tail(hand, bird.tail)
    draw_legs(hand, bird)
    if not bird.bill.over:
        draw_bill(hand, bird, head)
    draw_body(hand, bird, frames)
    draw_crest_feathers(hand, bird, head)
    draw_wing(hand, bird.wing)
    for item in bird.over:
        group = hand.sheet.group(item.colour)
        group.add(hand.curve(frames[item.on], item.outline))
        group.finish(depth=2 * hand.unit, shade=0.3, glow=0.15)
    if bird.bill.over:
        draw_bill(hand, bird, head)
    for eye in bird.eyes:
        draw_eye(hand, eye, head)


def frames_of(hand: Hand, bird: Bird, head_turn: float) -> dict[str, Frame]:
    """Return the frames that patches are given in: head, body and sheet."""
    x, y, r = bird.spine[-1]
    before, middle, after = (bird.spine[bird.body + step] for step in (-1, 0, 1))
    axis = math.degrees(math.atan2(after[1] - before[1], after[0] - before[0]))
    return {
        "head": hand.frame.within(Frame(x=x, y=y, scale=r, turn=head_turn)),
        "body": hand.frame.within(Frame(x=middle[0], y=middle[1], scale=middle[2], turn=axis)),
        "sheet": hand.frame,
    }


def draw_body(hand: Hand, bird: Bird, frames: dict[str, Frame]) -> None:
    """Draw rump, trunk, neck and head as one thing, with the crest and all patches."""
    group = hand.sheet.group(bird.colour)
    group.add_discs(hand.discs(sweep(bird.spine)))
    if bird.crest:
        group.add(hand.curve(frames["head"], bird.crest))
    for item in bird.patches:
        frame = frames[item.on]
        if isinstance(item, Patch):
            group.patch(hand.curve(frame, item.outline), item.colour, soft=item.soft * hand.unit)
        else:
            draw_marks(hand, group, item, frame)
    middle, rear = frames["body"].point(0, 0), frames["body"].point(-1, 0)
    tailwards = math.atan2(rear[1] - middle[1], rear[0] - middle[0])
    group.plumage(hand.rng, direction=tailwards, length=2.6 * hand.unit, n=N_FEATHER_TIPS, strength=bird.texture)
    group.finish(depth=frames["body"].scale * 0.5)


def draw_marks(hand: Hand, group: Group, marks: Marks, frame: Frame) -> None:
    """Scatter small marks evenly in a region."""
    region = smooth(marks.outline)
    left, right = min(x for x, _ in region), max(x for x, _ in region)
    upper, lower = min(y for _, y in region), max(y for _, y in region)
    across = max(2, round(math.sqrt(marks.n * (right - left) / (lower - upper))))
    down = max(2, round(marks.n / across))
    width = marks.width * hand.unit
    bow = {"bars": 0.22, "scales": 0.6}.get(marks.kind, 0.0)
    for row in range(down):
        for column in range(across):
            x = left + (right - left) * (column + 0.5 * (row % 2) + hand.rng.uniform(0.15, 0.6)) / across
            y = upper + (lower - upper) * (row + hand.rng.uniform(0.2, 0.8)) / down
            size = marks.length * hand.rng.uniform(0.7, 1.15)
            if not is_inside(region, x, y):
                continue
            if marks.kind == "streaks":
                group.line(frame.points([(x, y), (x - size, y + 0.02)]), marks.colour, width)
            elif marks.kind == "spots":
                group.dot(*frame.point(x, y), width * hand.rng.uniform(0.7, 1.2), marks.colour)
            else:
                arc = smooth([(x, y - size / 2), (x - size * bow, y), (x, y + size / 2)], closed=False, steps=4)
                group.line(frame.points(arc), marks.colour, width)


def is_inside(region: Sequence[Point], x: float, y: float) -> bool:
    """Return whether the point lies in the outline (even-odd rule)."""
    hit = False
    for (ax, ay), (bx, by) in zip(region, [*region[1:], region[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            hit = not hit
    return hit
