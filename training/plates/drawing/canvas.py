"""Sheet of paper: shapes are drawn oversized, shaded as groups, and reduced once at the end."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from training.plates.drawing.palette import Colour, darker, lighter, mix
from training.plates.drawing.shapes import Disc, Point

COARSE = 6
"""Factor by which the grid of the soft shadows is coarser than the drawing."""


class Sheet:
    """A square drawing in the making, `size` px wide when printed, drawn `oversampling` times as large."""

    def __init__(self, size: int, *, oversampling: int, top: Colour, bottom: Colour, light: Point) -> None:
        self.size = size
        self.width = size * oversampling
        self.light = light
        """The direction towards the light, of length about one."""
        column = Image.new("RGB", (1, 64))
        column.putdata([mix(top, bottom, (row / 63) ** 1.4) for row in range(64)])
        self.image = column.resize((self.width, self.width), Image.Resampling.BILINEAR)
        self._pen = ImageDraw.Draw(self.image)

    def group(self, colour: Colour) -> Group:
        """Return an empty group of shapes filled with a colour."""
        return Group(self, colour)

    def soft_shadow(self, points: Sequence[Point], strength: float, blur: float) -> None:
        """Darken the paper inside an outline; the edge fades over `blur` px."""
        mask, corner = soft_mask(points, blur)
        self.image.paste((40, 40, 56), corner, mask.point(lambda level: round(level * strength)))

    def dot(self, x: float, y: float, r: float, colour: Colour) -> None:
        """Fill a disc, in px."""
        self._pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)

    def stroke(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line, `width` px wide."""
        self._pen.line(list(points), fill=colour, width=max(1, round(width)), joint="curve")

    def printed(self) -> Image.Image:
        """Return the drawing at its own size."""
        return self.image.resize((self.size, self.size), Image.Resampling.LANCZOS)


class Group:
    """Overlapping shapes that share one outline, one light and one area of paint."""

    def __init__(self, sheet: Sheet, colour: Colour) -> None:
        self.sheet = sheet
        size = sheet.image.size
        self.colour = colour
        self.mask = Image.new("L", size)
        self.rim = Image.new("L", size)
        self.paint = Image.new("RGB", size, colour)
        self._on_mask, self._on_rim = ImageDraw.Draw(self.mask), ImageDraw.Draw(self.rim)
        self._pen = ImageDraw.Draw(self.paint)
        self.rim_px = sheet.width / 420

    def add(self, points: Sequence[Point]) -> None:
        """Add the inside of an outline to the group."""
        self._on_mask.polygon(points, fill=255)
        self._on_rim.polygon(points, fill=255)
        self._on_rim.line([*points, points[0], points[1]], fill=255, width=round(2 * self.rim_px), joint="curve")

    def add_discs(self, discs: Sequence[Disc]) -> None:
        """Add discs, each joined to the next."""
        for draw, grow in ((self._on_mask, 0.0), (self._on_rim, self.rim_px)):
            for x, y, r in discs:
                draw.ellipse((x - r - grow, y - r - grow, x + r + grow, y + r + grow), fill=255)
            for (x, y, r), (u, v, s) in pairwise(discs):
                angle = math.atan2(v - y, u - x) + math.pi / 2
                c, d = math.cos(angle), math.sin(angle)
                a, b = r + grow, s + grow
                quad = [(x + a * c, y + a * d), (u + b * c, v + b * d), (u - b * c, v - b * d), (x - a * c, y - a * d)]
                draw.polygon(quad, fill=255)

    def patch(self, points: Sequence[Point], colour: Colour, *, soft: float = 0.0) -> None:
        """Paint the inside of an outline; the edge fades over `soft` px."""
        if soft < 1:
            self._pen.polygon(points, fill=colour)
            return
        mask, corner = soft_mask(points, soft)
        self.paint.paste(colour, corner, mask)

    def fade(self, points: Sequence[Point], *, soft: float) -> None:
        """Erase the group inside an outline, over `soft` px, so that earlier drawings show."""
        mask, corner = soft_mask(points, soft)
        self.mask.paste(0, corner, mask)
        self.rim.paste(0, corner, mask)

    def dot(self, x: float, y: float, r: float, colour: Colour) -> None:
        """Paint a disc, in px, on the group."""
        self._pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line, `width` px wide, on the group."""
        self._pen.line(list(points), fill=colour, width=max(1, round(width)), joint="curve")

    def plumage(self, rng: random.Random, *, direction: float, length: float, n: int, strength: float) -> None:
        """Cover the group with `n` fine feather tips, darker or lighter, that point in a direction (radians)."""
        box = self.mask.getbbox()
        if box is None:
            return
        pixels, width = self.paint.tobytes(), self.paint.width  # before the first feather
        for _ in range(n):
            x, y = rng.uniform(box[0], box[2] - 1), rng.uniform(box[1], box[3] - 1)
            angle = direction + rng.uniform(-0.35, 0.35)
            bend, reach = angle + rng.uniform(-0.25, 0.25), length * rng.uniform(0.6, 1.2)
            share = strength if rng.random() < 0.6 else -strength
            end = (x + reach * math.cos(angle), y + reach * math.sin(angle))
            if not (0 <= end[0] < width and 0 <= end[1] < self.paint.height):
                continue
            first, last = (3 * (int(v) * width + int(u)) for u, v in ((x, y), end))
            below = pixels[first : first + 3]
            if max(abs(a - b) for a, b in zip(below, pixels[last : last + 3], strict=True)) > 24:
                continue  # the feather would smear one colour into another
            tone: Colour = (below[0], below[1], below[2])
            middle = (x + reach * 0.5 * math.cos(bend), y + reach * 0.5 * math.sin(bend))
            tone = darker(tone, share) if share > 0 else lighter(tone, -share)
            self.line([(x, y), middle, end], tone, self.rim_px * 0.8)

    def finish(self, *, depth: float, shade: float = 0.5, glow: float = 0.28, outline: float = 0.55) -> None:
        """Shade the group and put it on the sheet; light and shadow reach `depth` px inwards from its edges."""
        box = self.rim.getbbox()
        if box is None:
            return
        mask, rim, paint = self.mask.crop(box), self.rim.crop(box), self.paint.crop(box)
        size = mask.size
        pad = round(2 * depth / COARSE) + 2
        coarse = Image.new("L", (size[0] // COARSE + 2 * pad, size[1] // COARSE + 2 * pad))
        coarse.paste(
            mask.resize((max(1, size[0] // COARSE), max(1, size[1] // COARSE)), Image.Resampling.BOX), (pad, pad)
        )
        hill = ImageChops.invert(coarse.filter(ImageFilter.GaussianBlur(depth / COARSE)))
        dx, dy = (round(part * depth * 0.9 / COARSE) for part in self.sheet.light)

        def side(x: int, y: int, strength: float) -> Image.Image:
            moved = ImageChops.offset(hill, x, y).crop((pad, pad, coarse.width - pad, coarse.height - pad))
            return moved.resize(size, Image.Resampling.BILINEAR).point(lambda level: round(level * strength))

        shadow = ImageChops.multiply(paint, Image.new("RGB", size, (88, 84, 112)))
        lit = Image.blend(paint, Image.new("RGB", size, (255, 252, 240)), 0.75)
        paint.paste(shadow, mask=side(dx, dy, shade))
        paint.paste(lit, mask=side(-dx, -dy, glow))
        edge = Image.blend(paint, Image.new("RGB", size, (20, 20, 30)), outline)
        self.sheet.image.paste(edge, box[:2], rim)
        self.sheet.image.paste(paint, box[:2], mask)


def soft_mask(points: Sequence[Point], soft: float) -> tuple[Image.Image, tuple[int, int]]:
    """Return a mask of the inside of an outline with an edge that fades over `soft` px, and its upper left corner."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    left, upper = math.floor(min(xs) - 2 * soft), math.floor(min(ys) - 2 * soft)
    right, lower = math.ceil(max(xs) + 2 * soft), math.ceil(max(ys) + 2 * soft)
    step = max(1, round(soft / 2))  # blur needs no fine grid
    mask = Image.new("L", ((right - left) // step + 1, (lower - upper) // step + 1))
    ImageDraw.Draw(mask).polygon([((x - left) / step, (y - upper) / step) for x, y in points], fill=255)
    mask = mask.filter(ImageFilter.GaussianBlur(soft / step / 1.6))
    return mask.resize((mask.width * step, mask.height * step), Image.Resampling.BILINEAR), (left, upper)
