"""Draws a bird on a sheet: setting, tail, legs, bill, body, wing, crest and eyes, as they overlap."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

from data.starter.plates.anatomy import Bar, Bird, Eye, Marks, Patch, Tail, Wing
from data.starter.plates.canvas import Group, Sheet
from data.starter.plates.palette import Colour, darker, ink, lighter, mix
from data.starter.plates.shapes import Disc, Frame, Knot, Point, along, smooth, sweep, tongue


class BirdDrawing:
    """One bird being drawn; `rng` gives the small differences between two drawings of it."""

    def __init__(
        self, bird: Bird, sheet: Sheet, frame: Frame, *, head_turn: float, rng: random.Random, wobble: float
    ) -> None:
        self.bird = bird
        self.sheet = sheet
        self.frame = frame
        self.rng = rng
        self.wobble = wobble
        x, y, r = bird.spine[-1]
        self.head = frame.within(Frame(x=x, y=y, scale=r, turn=head_turn))
        before, middle, after = (bird.spine[bird.body + step] for step in (-1, 0, 1))
        axis = math.degrees(math.atan2(after[1] - before[1], after[0] - before[0]))
        self.body = frame.within(Frame(x=middle[0], y=middle[1], scale=middle[2], turn=axis))
        self.unit = frame.scale

    def draw(self) -> None:
        """Draw all of it."""
        bird = self.bird
        if bird.order == "tail first":
            self.draw_tail(bird.tail)
        self.draw_legs()
        if not bird.bill.over:
            self.draw_bill()
        self.draw_body()
        if bird.order == "wing first":
            self.draw_wing(bird.wing)
            self.draw_tail(bird.tail)
        else:
            self.draw_wing(bird.wing)
        for patch in bird.over:
            group = self.sheet.group(patch.colour)
            group.add(self.place(patch))
            group.finish(depth=2 * self.unit, shade=0.3, glow=0.15)
        if bird.bill.over:
            self.draw_bill()
        for eye in bird.eyes:
            self.draw_eye(eye)

    # --- places ---------------------------------------------------------------------------------------------------

    def curve(self, frame: Frame, knots: Sequence[Knot]) -> list[Point]:
        """Return the smooth outline in pixels, each knot moved a little."""
        reach = self.wobble * self.unit / frame.scale
        moved: list[Knot] = [
            (
                k[0] + self.rng.uniform(-reach, reach),
                k[1] + self.rng.uniform(-reach, reach),
                k[2] if len(k) == 3 else 1.0,
            )
            for k in knots
        ]
        return frame.points(smooth(moved))

    def frame_of(self, on: str) -> Frame:
        """Return the frame that a patch is given in."""
        return {"head": self.head, "body": self.body}.get(on, self.frame)

    def place(self, patch: Patch) -> list[Point]:
        """Return the outline of a patch in pixels."""
        return self.curve(self.frame_of(patch.on), patch.outline)

    def discs(self, discs: Iterable[Disc]) -> list[Disc]:
        """Return discs in pixels."""
        return [(*self.frame.point(x, y), r * self.unit) for x, y, r in discs]

    # --- body -----------------------------------------------------------------------------------------------------

    def draw_body(self) -> None:
        """Draw rump, trunk, neck and head as one thing, with its crest and all its patches."""
        bird = self.bird
        group = self.sheet.group(bird.colour)
        group.add_discs(self.discs(sweep(bird.spine)))
        for outline in bird.extra:
            group.add(self.curve(self.frame, outline))
        if bird.crest:
            group.add(self.curve(self.head, bird.crest))
        back = self.body.point(-1, 0)
        middle = self.body.point(0, 0)
        tailwards = math.atan2(back[1] - middle[1], back[0] - middle[0])
        for item in bird.patches:
            if isinstance(item, Patch):
                group.patch(self.place(item), item.colour, soft=item.soft * self.unit)
            else:
                self.draw_marks(group, item)
        if bird.texture:
            group.plumage(self.rng, direction=tailwards, length=2.6 * self.unit, n=260, strength=bird.texture)
        group.finish(depth=self.body.scale * 0.5)
        if bird.crest_feathers:
            self.draw_crest_feathers()

    def draw_marks(self, group: Group, marks: Marks) -> None:
        """Scatter small marks evenly in a region."""
        frame = self.frame_of(marks.on)
        region = smooth(marks.outline)
        left, right = min(x for x, _ in region), max(x for x, _ in region)
        upper, lower = min(y for _, y in region), max(y for _, y in region)
        across = max(2, round(math.sqrt(marks.n * (right - left) / (lower - upper))))
        down = max(2, round(marks.n / across))
        for row in range(down):
            for column in range(across):
                x = left + (right - left) * (column + 0.5 * (row % 2) + self.rng.uniform(0.15, 0.6)) / across
                y = upper + (lower - upper) * (row + self.rng.uniform(0.2, 0.8)) / down
                if not inside(region, x, y):
                    continue
                size = marks.length * self.rng.uniform(0.7, 1.15)
                width = marks.width * self.unit
                if marks.kind == "streaks":
                    group.line(frame.points([(x, y), (x - size, y + 0.02)]), marks.colour, width)
                elif marks.kind == "bars":
                    bow = [(x, y - size / 2), (x - size * 0.22, y), (x, y + size / 2)]
                    group.line(frame.points(smooth(bow, closed=False, steps=4)), marks.colour, width)
                elif marks.kind == "scales":
                    bow = [(x, y - size / 2), (x - size * 0.6, y), (x, y + size / 2)]
                    group.line(frame.points(smooth(bow, closed=False, steps=4)), marks.colour, width)
                else:
                    cx, cy = frame.point(x, y)
                    r = width * self.rng.uniform(0.7, 1.2)
                    group.pen.ellipse((cx - r, cy - r * 0.8, cx + r, cy + r * 0.8), fill=marks.colour)

    def draw_crest_feathers(self) -> None:
        """Draw single crest feathers with coloured tips."""
        vane, tip_colour = self.bird.crest_colours or (self.bird.colour, self.bird.colour)
        for root, tip, width in self.bird.crest_feathers:
            group = self.sheet.group(vane)
            a, b = self.head.point(*root), self.head.point(*tip)
            group.add(tongue(a, b, width * self.head.scale, blunt=0.3))
            cut = (a[0] + (b[0] - a[0]) * 0.74, a[1] + (b[1] - a[1]) * 0.74)
            group.patch(
                tongue(cut, (b[0] * 1.02 - cut[0] * 0.02, b[1] * 1.02 - cut[1] * 0.02), width * 2.2 * self.head.scale),
                tip_colour,
            )
            group.finish(depth=1.2 * self.unit, shade=0.25, glow=0.1)

    # --- feathers -------------------------------------------------------------------------------------------------

    def draw_wing(self, wing: Wing) -> None:
        """Draw the folded wing: flight feathers from the tip upwards, coverts over them, bars and patches last."""
        frame = self.frame.within(along(wing.shoulder, wing.tip))
        d = wing.depth
        shape: tuple[Knot, ...] = (
            (-0.03, 0.02),
            (0.06, -d * 0.36),
            (0.28, -d * 0.5),
            (0.56, -d * 0.42),
            (0.8, -d * 0.2),
            (1.0, wing.drop, 0.3),
            (0.86, d * 0.2 + wing.drop),
            (0.62, d * 0.42),
            (0.32, d * 0.52),
            (0.08, d * 0.4),
        )
        group = self.sheet.group(wing.flight)
        outline = self.curve(frame, shape)
        shadow_frame = Frame(x=-self.sheet.light[0] * 0.9 * self.unit, y=-self.sheet.light[1] * 0.9 * self.unit)
        self.sheet.soft_shadow(shadow_frame.points(outline), 0.28, 1.6 * self.unit)
        group.add(outline)
        for i in range(wing.n):  # from the primaries at the lower edge up to the tertials
            share = i / (wing.n - 1)
            root = (0.26 - 0.1 * share, d * (0.34 - 0.62 * share))
            tip = (1.0 - 0.36 * share**1.25, wing.drop + d * (0.08 - 0.36 * share + 0.1 * math.sin(math.pi * share)))
            self.feather(group, frame, root, tip, d * 0.26, wing.flight, wing.edge, wing.feather_bars)
        front: tuple[Knot, ...] = (
            (-0.1, 0.0),
            (0.05, -d * 0.6),
            (0.36, -d * 0.62),
            (0.44, -d * 0.2),
            (0.42, d * 0.15),
            (0.36, d * 0.62),
            (0.02, d * 0.62),
        )
        covert_edge = wing.covert_edge or mix(wing.coverts, wing.edge, 0.35)
        for at, length, n in ((0.46, 0.2, 7), (0.32, 0.15, 7)):  # greater, then median coverts
            for i in range(n):
                share = (i + 0.5) / n
                y = d * (0.5 - share) * (1.02 - 0.5 * at)
                tip = (at + 0.05 * math.sin(math.pi * share) + 0.06 * (share - 0.5), y)
                self.feather(group, frame, (at - length - 0.06, y), tip, d / n * 1.55, wing.coverts, covert_edge, ())
        front = tuple((k[0] * 0.62 - 0.02, k[1]) for k in front)
        group.patch(self.curve(frame, front), wing.coverts, soft=1.0 * self.unit)
        for bar in wing.bars:
            self.bar(group, frame, bar, d)
        for patch in wing.patches:
            group.patch(self.curve(frame, patch.outline), patch.colour, soft=patch.soft * self.unit)
        group.finish(depth=frame.scale * d * 0.3, shade=0.42, glow=0.2, outline=0.5)

    def feather(
        self,
        group: Group,
        frame: Frame,
        root: Point,
        tip: Point,
        width: float,
        colour: Colour,
        edge: Colour,
        bars: tuple[Bar, ...],
    ) -> None:
        """Paint one feather with its fringe."""
        points = frame.points(tongue(root, tip, width))
        group.patch(points, colour)
        own = frame.within(along(root, tip))
        for bar in bars:
            w = width / math.dist(root, tip) * 0.52
            quad = [
                (bar.at - bar.width / 2, -w),
                (bar.at + bar.width / 2, -w),
                (bar.at + bar.width / 2, w),
                (bar.at - bar.width / 2, w),
            ]
            group.patch(own.points(quad), bar.colour)
        group.line([*points, points[0]], edge, self.unit * 0.32)

    def bar(self, group: Group, frame: Frame, bar: Bar, d: float) -> None:
        """Paint a wing bar as a row of feather tips."""
        n = 7
        for i in range(n):
            share = (i + 0.5) / n
            y = d * (0.5 - share) * (1.04 - 0.45 * bar.at)
            x = bar.at + 0.05 * math.sin(math.pi * share) + 0.06 * (share - 0.5)
            half = d / n * 0.62
            shape: list[Knot] = [
                (x - bar.width, y - half),
                (x, y - half * 0.9),
                (x + 0.015, y),
                (x, y + half * 0.9),
                (x - bar.width, y + half),
                (x - bar.width * 0.7, y),
            ]
            group.patch(frame.points(smooth(shape, steps=4)), bar.colour)

    def draw_tail(self, tail: Tail) -> None:
        """Draw the closed tail, its feathers side by side."""
        frame = self.frame.within(along(tail.base, tail.end))
        group = self.sheet.group(tail.colour)
        n = tail.n
        order = sorted(range(n), key=lambda i: -abs(i - (n - 1) / 2))  # outer feathers lie below the inner ones
        for i in order:
            side = (i - (n - 1) / 2) / ((n - 1) / 2)  # -1 .. 1
            reach = {
                "square": 1.0 - 0.02 * abs(side),
                "rounded": 1.0 - 0.12 * side * side,
                "notched": 0.92 + 0.08 * abs(side),
                "forked": 0.62 + 0.38 * abs(side) ** 1.6,
                "graduated": 1.0 - 0.42 * abs(side),
                "wedge": 1.0 - 0.25 * abs(side),
            }[tail.tip]
            width = max(tail.width, tail.spread) / n * 2.1
            root, tip = (0.0, side * tail.width * 0.32), (reach, side * (tail.spread - width * 0.6) / 2)
            colour = tail.outer if tail.outer and abs(side) > 0.99 else tail.colour
            group.add(frame.points(tongue(root, tip, width, blunt=0.8)))
            self.feather(group, frame, root, tip, width, colour, tail.edge, tail.bars)
        group.add(
            frame.points(
                [(-0.08, -tail.width / 2), (0.3, -tail.width / 2), (0.3, tail.width / 2), (-0.08, tail.width / 2)]
            )
        )
        for patch in tail.patches:
            group.patch(self.curve(frame, patch.outline), patch.colour, soft=patch.soft * self.unit)
        group.finish(depth=2.2 * self.unit, shade=0.4, glow=0.15, outline=0.5)

    # --- bill, eye, legs ------------------------------------------------------------------------------------------

    def draw_bill(self) -> None:
        """Draw the lower mandible, then the upper one over it."""
        bill = self.bird.bill
        frame = self.head.within(Frame(x=self.bird.bill_offset[0], y=self.bird.bill_offset[1], turn=bill.turn))
        for outline, colour in ((bill.lower, bill.lower_colour), (bill.upper, bill.upper_colour)):
            group = self.sheet.group(colour)
            group.add(frame.points(smooth(outline)))
            for patch in bill.patches:
                group.patch(frame.points(smooth(patch.outline)), patch.colour, soft=patch.soft * self.unit)
            group.finish(depth=self.head.scale * 0.22, shade=0.45, glow=0.4, outline=0.6)

    def draw_eye(self, eye: Eye) -> None:
        """Draw ring, iris, pupil and the light in it."""
        x, y = self.head.point(*eye.at)
        r = eye.radius * self.head.scale
        lx, ly = self.sheet.light
        for radius, colour, dx, dy in (
            (r * (1 + eye.ring_width) if eye.ring else 0.0, eye.ring or eye.iris, 0.0, 0.0),
            (r * 1.08, darker(eye.iris, 0.6), 0.0, 0.0),
            (r, eye.iris, 0.0, 0.0),
            (r * eye.pupil, ink("black"), 0.0, 0.0),
            (r * 0.3, ink("white"), lx * r * 0.42, ly * r * 0.42),
        ):
            if radius > 0:
                self.spot(x + dx, y + dy, radius, colour)

    def spot(self, x: float, y: float, r: float, colour: Colour) -> None:
        """Fill a disc on the sheet, in pixels."""
        self.sheet.pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)

    def draw_legs(self) -> None:
        """Draw the far leg in shadow, then the near one."""
        legs = self.bird.legs
        if legs is None:
            return
        for far in (True, False):
            shift = legs.apart if far else 0.0
            colour = darker(legs.colour, 0.3) if far else legs.colour
            hip = (legs.hip[0] + shift * 0.5, legs.hip[1])
            foot = (legs.foot[0] + shift, legs.foot[1] - (0.6 if far else 0.0))
            ankle = ((hip[0] + foot[0]) / 2 - legs.ankle, (hip[1] + foot[1]) / 2)
            group = self.sheet.group(colour)
            w = legs.width / 2
            group.add_discs(self.discs([(*hip, w * 1.1), (*ankle, w * (1.35 if legs.ankle else 1.0)), (*foot, w)]))
            for toe in toes(legs.kind, foot, legs.width):
                group.add(self.frame.points(toe))
            group.finish(depth=0.9 * self.unit, shade=0.35, glow=0.3, outline=0.6)
            if legs.thigh:
                thigh = self.sheet.group(darker(legs.thigh_colour or self.bird.colour, 0.18 if far else 0.0))
                knee = ((hip[0] * 0.6 + ankle[0] * 0.4), hip[1] * 0.55 + ankle[1] * 0.45)
                thigh.add_discs(self.discs([(hip[0], hip[1] - 2, legs.thigh), (*knee, legs.thigh * 0.5)]))
                thigh.finish(depth=1.6 * self.unit, shade=0.4, glow=0.1)


def toes(kind: str, foot: Point, width: float) -> list[list[Point]]:
    """Return the outlines of the toes of a foot at `foot`, in the sheet's units."""
    x, y = foot
    if kind == "webbed":
        return [
            smooth(
                [(x - 1.2, y - 0.8), (x + 2.5, y - 0.6), (x + 6.6, y + 1.6, 0), (x + 3, y + 2.1), (x - 1.5, y + 2.0, 0)]
            )
        ]
    size = width * (2.6 if kind == "talons" else 2.9 if kind == "wading" else 2.2)
    thick = width * (1.0 if kind == "talons" else 0.72)
    drop = {"perching": 1.1, "talons": 1.7, "wading": 0.9}[kind]
    tips = [(x + size * 1.15, y + drop * 0.7), (x + size * 0.7, y + drop * 1.5), (x - size * 0.75, y + drop * 1.1)]
    return [tongue((x, y - 0.3), tip, thick, blunt=0.4) for tip in tips]


def inside(region: Sequence[Point], x: float, y: float) -> bool:
    """Return whether the point lies in the outline (even-odd rule)."""
    hit = False
    for (ax, ay), (bx, by) in zip(region, [*region[1:], region[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            hit = not hit
    return hit


def draw_setting(bird: Bird, sheet: Sheet, frame: Frame, rng: random.Random) -> None:
    """Draw what the bird stands on: a branch, a stone, water, a post; nothing else is on the sheet."""
    y = bird.ground_y
    unit = frame.scale
    if bird.setting == "branch":
        group = sheet.group(ink("bark"))
        slope = rng.uniform(-1.5, 1.5)
        group.add_discs(
            [
                (*frame.point(px, py), r * unit)
                for px, py, r in sweep(
                    [(12, y + 3 - slope, 1.5), (40, y + 2, 2.0), (66, y + 2.2, 1.9), (90, y + 1 + slope, 1.3)]
                )
            ]
        )
        for _ in range(40):
            px = rng.uniform(10, 90)
            group.line(
                frame.points([(px, y + rng.uniform(0, 4)), (px + rng.uniform(2, 6), y + rng.uniform(0, 4))]),
                darker(group.colour, 0.2),
                0.3 * unit,
            )
        group.finish(depth=1.8 * unit, shade=0.6, glow=0.3)
    elif bird.setting == "trunk":
        group = sheet.group(ink("bark"))
        group.add(frame.points(smooth([(y, -8), (y + 11, -8), (y + 10, 50), (y + 12, 108), (y - 1, 108), (y + 1, 50)])))
        for _ in range(90):
            px, py = rng.uniform(y, y + 11), rng.uniform(-5, 105)
            group.line(
                frame.points([(px, py), (px + rng.uniform(-0.8, 0.8), py + rng.uniform(3, 8))]),
                darker(group.colour, rng.uniform(0.1, 0.3)),
                0.5 * unit,
            )
        group.finish(depth=5 * unit, shade=0.6, glow=0.3)
    elif bird.setting in ("water", "shallows"):
        for i in range(7):
            cx, cy, half = 50 + rng.uniform(-16, 16), y + i * 1.9, rng.uniform(12, 30) * (1 - i * 0.06)
            line = smooth(
                [(cx - half, cy), (cx - half / 3, cy - 0.5), (cx + half / 3, cy + 0.4), (cx + half, cy)], closed=False
            )
            sheet.pen.line(
                frame.points(line), fill=mix(ink("water"), ink("white"), i / 14), width=round(0.7 * unit), joint="curve"
            )
    elif bird.setting in ("rock", "post"):
        wide = 24 if bird.setting == "rock" else 7
        group = sheet.group(ink("stone") if bird.setting == "rock" else ink("bark"))
        shape: list[Knot] = [
            (48 - wide, 104),
            (48 - wide * 0.9, y + 4),
            (48 - wide * 0.5, y),
            (48 + wide * 0.6, y + 0.2),
            (48 + wide, y + 5),
            (48 + wide * 1.1, 104),
        ]
        group.add(frame.points(smooth(shape)))
        group.plumage(rng, direction=0.3, length=4 * unit, n=120, strength=0.12)
        group.finish(depth=5 * unit, shade=0.5, glow=0.3)
    else:
        ground = [(50 + 30 * math.cos(a / 12 * math.pi), y + 1.6 + 2.6 * math.sin(a / 12 * math.pi)) for a in range(24)]
        sheet.soft_shadow(frame.points(ground), 0.3, 2.2 * unit)
        for _ in range(26):
            px, py = 50 + rng.gauss(0, 17), y + rng.uniform(0.5, 4)
            sheet.pen.line(
                frame.points([(px, py), (px + rng.uniform(-1.2, 1.2), py - rng.uniform(1.5, 4))]),
                fill=lighter(ink("moss"), rng.uniform(0, 0.4)),
                width=max(1, round(0.35 * unit)),
            )
