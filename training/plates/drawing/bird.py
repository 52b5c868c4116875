"""Drawing of a bird: tail, legs, bill, body, wing and eyes, in the order of overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence

from training.plates.drawing.anatomy import Bird, Eye, Marks, Patch
from training.plates.drawing.canvas import Group
from training.plates.drawing.feathers import draw_tail, draw_wing
from training.plates.drawing.hand import Hand
from training.plates.drawing.palette import darker, ink
from training.plates.drawing.shapes import Frame, Knot, Point, smooth, sweep, tongue

N_FEATHER_TIPS = 260


def draw_bird(hand: Hand, bird: Bird, *, head_turn: float = 0.0) -> None:
    """Draw the bird with its head turned by `head_turn` degrees."""
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
    """Return the frames of patches: head, body and sheet."""
    x, y, r = bird.spine[-1]
    before, middle, after = (bird.spine[bird.body + step] for step in (-1, 0, 1))
    axis = math.degrees(math.atan2(after[1] - before[1], after[0] - before[0]))
    return {
        "head": hand.frame.within(Frame(x=x, y=y, scale=r, turn=head_turn)),
        "body": hand.frame.within(Frame(x=middle[0], y=middle[1], scale=middle[2], turn=axis)),
        "sheet": hand.frame,
    }


def draw_legs(hand: Hand, bird: Bird) -> None:
    """Draw the far leg in shadow, then the near one, each with its feathered thigh."""
    legs = bird.legs
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


def draw_bill(hand: Hand, bird: Bird, head: Frame) -> None:
    """Draw the lower mandible, then the upper one over it."""
    bill = bird.bill
    frame = head.within(Frame(x=bird.bill_offset[0], y=bird.bill_offset[1]))
    for outline, colour in ((bill.lower, bill.lower_colour), (bill.upper, bill.upper_colour)):
        group = hand.sheet.group(colour)
        group.add(frame.points(smooth(outline)))
        for item in bill.patches:
            group.patch(frame.points(smooth(item.outline)), item.colour, soft=item.soft * hand.unit)
        group.finish(depth=head.scale * 0.22, shade=0.45, glow=0.4, outline=0.6)


def draw_eye(hand: Hand, eye: Eye, head: Frame) -> None:
    """Draw ring, iris, pupil and highlight."""
    x, y = head.point(*eye.at)
    r = eye.radius * head.scale
    if eye.ring:
        hand.sheet.dot(x, y, r * (1 + eye.ring_width), eye.ring)
    hand.sheet.dot(x, y, r * 1.08, darker(eye.iris, 0.6))
    hand.sheet.dot(x, y, r, eye.iris)
    hand.sheet.dot(x, y, r * eye.pupil, ink("black"))
    light = hand.sheet.light
    hand.sheet.dot(x + light[0] * r * 0.42, y + light[1] * r * 0.42, r * 0.3, ink("white"))


def draw_crest_feathers(hand: Hand, bird: Bird, head: Frame) -> None:
    """Draw single crest feathers with coloured tips."""
    vane, tip_colour = bird.crest_colours or (bird.colour, bird.colour)
    for root, tip, width in bird.crest_feathers:
        group = hand.sheet.group(vane)
        a, b = head.point(*root), head.point(*tip)
        group.add(tongue(a, b, width * head.scale, blunt=0.3))
        cut = (a[0] + (b[0] - a[0]) * 0.74, a[1] + (b[1] - a[1]) * 0.74)
        end = (b[0] * 1.02 - cut[0] * 0.02, b[1] * 1.02 - cut[1] * 0.02)
        group.patch(tongue(cut, end, width * 2.2 * head.scale), tip_colour)
        group.finish(depth=1.2 * hand.unit, shade=0.25, glow=0.1)


def draw_body(hand: Hand, bird: Bird, frames: dict[str, Frame]) -> None:
    """Draw rump, trunk, neck and head as one group, with crest and patches."""
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
