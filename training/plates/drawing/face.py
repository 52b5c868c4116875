"""Drawing of the head: bill, eyes and single crest feathers."""

from __future__ import annotations

from training.plates.drawing.anatomy import Bird, Eye
from training.plates.drawing.hand import Hand
from training.plates.drawing.palette import darker, ink
from training.plates.drawing.shapes import Frame, smooth, tongue


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
    """Draw ring, iris, pupil and the light in it."""
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
