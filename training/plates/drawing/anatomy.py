"""Anatomy of a drawn bird: parts with shapes and colours, as frozen records. Nothing is drawn here.

A bird is designed looking right on a sheet of 100 by 100 units. `head` coordinates count from the middle of the head in
head radii, x towards the bill; `body` coordinates from the middle of the body in body radii, x towards the breast, y
towards the belly; `wing` coordinates run from the shoulder (0) to the wing tip (1), those of a tail from its base (0)
to its end (1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from training.plates.drawing.palette import INKS, Colour, darker
from training.plates.drawing.shapes import Disc, Knot, Point

Outline = tuple[Knot, ...]


def path(text: str) -> Outline:
    """Return the knots of an outline written as `x,y` pairs; `!` after a pair makes it a corner.

    Example:
        >>> path("0,-1 1.5,0! 0,1")
        ((0.0, -1.0), (1.5, 0.0, 0.0), (0.0, 1.0))
    """
    knots: list[Knot] = []
    for pair in text.split():
        x, y = pair.rstrip("!").split(",")
        knots.append((float(x), float(y), 0.0) if pair.endswith("!") else (float(x), float(y)))
    return tuple(knots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A field of colour: cap, mask, bib, belly, wing panel. `soft` (units) lets its edge fade."""

    outline: Outline
    colour: Colour
    on: Literal["head", "body", "sheet", "part"] = "body"
    soft: float = 0.0


def on_head(outline: str | Outline, colour: Colour, *, soft: float = 0.0) -> Patch:
    """Return a patch in head coordinates."""
    return Patch(outline=knots_of(outline), colour=colour, on="head", soft=soft)


def on_body(outline: str | Outline, colour: Colour, *, soft: float = 0.0) -> Patch:
    """Return a patch in body coordinates."""
    return Patch(outline=knots_of(outline), colour=colour, on="body", soft=soft)


def on_sheet(outline: str | Outline, colour: Colour, *, soft: float = 0.0) -> Patch:
    """Return a patch in the units of the sheet."""
    return Patch(outline=knots_of(outline), colour=colour, on="sheet", soft=soft)


def patch(outline: str | Outline, colour: Colour, *, soft: float = 0.0) -> Patch:
    """Return a patch in the coordinates of the part that it belongs to: a bill, a wing, a tail."""
    return Patch(outline=knots_of(outline), colour=colour, on="part", soft=soft)


def knots_of(outline: str | Outline) -> Outline:
    """Return the knots of an outline, written out or not."""
    return path(outline) if isinstance(outline, str) else outline


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Many small marks in a region: streaks along the body, bars across it, spots."""

    kind: Literal["streaks", "bars", "spots", "scales"]
    outline: Outline
    colour: Colour
    n: int
    length: float
    """In body radii (head radii on the head)."""
    width: float = 0.4
    """In units."""
    on: Literal["head", "body"] = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A bill in head coordinates: two mandibles, patches that stay inside them, and whether it lies over the face."""

    upper: Outline
    lower: Outline
    upper_colour: Colour
    lower_colour: Colour
    patches: tuple[Patch, ...] = ()
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Eye:
    """An eye at a place on the head."""

    at: Point = (0.3, -0.12)
    radius: float = 0.17
    """In head radii."""
    iris: Colour = INKS["dark brown"]
    pupil: float = 0.55
    ring: Colour | None = None
    ring_width: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A band across wing or tail at a share of its length."""

    at: float
    colour: Colour
    width: float = 0.05
    """As a share of the length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wing:
    """A folded wing: flight feathers under rows of coverts, and patches in wing coordinates over them."""

    shoulder: Point
    tip: Point
    depth: float = 0.42
    """Of its length."""
    coverts: Colour
    flight: Colour
    edge: Colour
    """The fringe of each flight feather."""
    covert_edge: Colour | None = None
    bars: tuple[Bar, ...] = ()
    patches: tuple[Patch, ...] = ()
    feather_bars: tuple[Bar, ...] = ()
    n: int = 9
    drop: float = 0.0
    """How far the tip hangs, in shares of the length."""
    tucked: bool = True
    """Whether the front of the wing lies under the feathers of breast and back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """A tail from base to end, in the sheet's units; `spread` is the width of the end as a share of its length."""

    base: Point
    end: Point
    width: float = 0.3
    spread: float = 0.34
    tip: Literal["square", "rounded", "notched", "forked", "graduated", "wedge"] = "square"
    colour: Colour
    edge: Colour
    n: int = 6
    bars: tuple[Bar, ...] = ()
    patches: tuple[Patch, ...] = ()
    outer: Colour | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """Two legs from the belly to the ground: hips, an optional ankle bend, feet."""

    hip: Point
    foot: Point
    colour: Colour
    kind: Literal["perching", "webbed", "wading", "talons"] = "perching"
    width: float = 1.1
    apart: float = 5.0
    ankle: float = 0.0
    """How far the ankle bends backwards, in units."""
    thigh: float = 0.0
    """Radius of the feathered thigh."""
    thigh_colour: Colour | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bird:
    """A bird in one plumage, ready to be drawn."""

    spine: tuple[Disc, ...]
    """From the rump over body and neck to the head, which is the last; `body` says which is the middle of the body."""
    body: int
    colour: Colour
    bill: Bill
    tail: Tail
    wing: Wing
    legs: Legs | None = None
    eyes: tuple[Eye, ...] = (Eye(),)
    bill_offset: Point = (0.0, 0.0)
    """Moves the bill on the head: an owl that looks at you wears it in the middle of its face."""
    crest: Outline | None = None
    """In head coordinates; a part of the body's outline."""
    crest_feathers: tuple[tuple[Point, Point, float], ...] = ()
    """Single crest feathers: root, tip, width, in head coordinates."""
    crest_colours: tuple[Colour, Colour] | None = None
    patches: tuple[Patch | Marks, ...] = ()
    over: tuple[Patch, ...] = ()
    """Patches over the wing: an epaulette, plumes."""
    setting: Literal["branch", "ground", "water", "rock", "post", "trunk"] = "branch"
    ground_y: float = 82.0
    texture: float = 0.1

    def changed(self, **parts: object) -> Bird:
        """Return the bird with those parts replaced: the other sex, another plumage."""
        return replace(self, **parts)  # type: ignore[arg-type]


def conical(colour: Colour, *, lower: Colour | None = None, length: float = 0.85, depth: float = 0.36) -> Bill:
    """Return the short thick bill of a seed eater."""
    d, tip = depth, 0.8 + length
    return Bill(
        upper=((0.62, -d), (0.8 + length * 0.5, -d * 0.72), (tip, 0.12, 0), (0.75, 0.14, 0)),
        lower=((0.7, 0.1, 0), (tip * 0.97, 0.13, 0), (0.8 + length * 0.45, d * 0.9), (0.6, d * 1.1)),
        upper_colour=colour,
        lower_colour=lower or darker(colour, 0.12),
    )


def slender(
    colour: Colour, *, lower: Colour | None = None, length: float = 1.0, depth: float = 0.15, bend: float = 0.0
) -> Bill:
    """Return a narrow bill, from a warbler's needle to a heron's dagger; `bend` lowers its tip (in head radii)."""
    d, tip = depth, 0.85 + length
    half = 0.85 + length * 0.5
    return Bill(
        upper=(
            (0.7, -d),
            (half, -d * 0.75 + bend * 0.22),
            (tip, 0.06 + bend, 0),
            (half, 0.07 + bend * 0.26),
            (0.7, 0.06, 0),
        ),
        lower=(
            (0.7, 0.04, 0),
            (half, 0.04 + bend * 0.26),
            (tip * 0.985, 0.07 + bend, 0),
            (half, d * 0.8 + bend * 0.3),
            (0.7, d * 1.05),
        ),
        upper_colour=colour,
        lower_colour=lower or darker(colour, 0.1),
    )


def hooked(colour: Colour, *, length: float = 0.9, depth: float = 0.42, cere: Colour | None = None) -> Bill:
    """Return the hooked bill of a bird of prey."""
    tip = 0.75 + length
    return Bill(
        upper=(
            (0.55, -depth),
            (0.75 + length * 0.55, -depth * 0.8),
            (tip, 0.02),
            (tip - 0.02, 0.62, 0),
            (tip - 0.26, 0.24),
            (0.6, 0.2, 0),
        ),
        lower=((0.6, 0.12, 0), (tip - 0.22, 0.22, 0), (tip - 0.4, 0.38), (0.55, 0.4)),
        upper_colour=colour,
        lower_colour=darker(colour, 0.1),
        patches=()
        if cere is None
        else (Patch(on="head", colour=cere, outline=((0.3, -0.8, 0), (0.98, -0.8, 0), (1.02, 0.6, 0), (0.3, 0.6, 0))),),
    )
