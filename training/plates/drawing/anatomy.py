"""Anatomy of a drawn bird: parts with shapes and colours, as records that the tables in `birds/` are read into.

A bird looks right on a sheet of 100 by 100 units. Patches `on` the head count from the middle of the head in head
radii, x towards the bill; on the body from the middle of the body in body radii, x towards the breast, y towards the
belly. Wing coordinates run from the shoulder (0) to the wing tip (1), those of a tail from its base (0) to its end (1).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from training.plates.drawing.palette import INKS, Colour, colour
from training.plates.drawing.shapes import Disc, Knot, Point


def path(outline: str | tuple[Knot, ...]) -> tuple[Knot, ...]:
    """Return the knots of an outline written as `x,y` pairs; `!` after a pair makes it a corner.

    Example:
        >>> path("0,-1 1.5,0! 0,1")
        ((0.0, -1.0), (1.5, 0.0, 0.0), (0.0, 1.0))
    """
    if not isinstance(outline, str):
        return outline
    knots: list[Knot] = []
    for pair in outline.split():
        x, y = map(float, pair.rstrip("!").split(","))
        knots.append((x, y, 0.0) if pair.endswith("!") else (x, y))
    return tuple(knots)


Outline = Annotated[tuple[Knot, ...], BeforeValidator(path)]
Paint = Annotated[Colour, BeforeValidator(colour)]
"""Written as `blue + 35% slate`."""


class Part(BaseModel):
    """A part of a drawing, read from a table; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Patch(Part):
    """A field of colour: cap, mask, bib, belly, wing panel. `soft` (units) lets its edge fade."""

    outline: Outline
    colour: Paint
    on: Literal["head", "body", "sheet"] = "body"
    """Ignored on bill, wing and tail, which have their own coordinates."""
    soft: float = 0.0


class Marks(Part):
    """Many small marks in a region: streaks along the body, bars across it, spots."""

    kind: Literal["streaks", "bars", "spots", "scales"]
    outline: Outline
    colour: Paint
    n: int
    length: float
    """In body radii (head radii on the head)."""
    width: float = 0.4
    """In units."""
    on: Literal["head", "body"] = "body"


def slender(
    colour: str, lower: str = "", length: float = 1.0, depth: float = 0.15, bend: float = 0.0
) -> dict[str, Any]:
    """Return a narrow bill, from a warbler's needle to a heron's dagger; `bend` lowers its tip (in head radii)."""
    d, tip, half = depth, 0.85 + length, 0.85 + length * 0.5
    return {
        "upper": (
            *((0.7, -d), (half, -d * 0.75 + bend * 0.22), (tip, 0.06 + bend, 0)),
            *((half, 0.07 + bend * 0.26), (0.7, 0.06, 0)),
        ),
        "lower": (
            *((0.7, 0.04, 0), (half, 0.04 + bend * 0.26), (tip * 0.985, 0.07 + bend, 0)),
            *((half, d * 0.8 + bend * 0.3), (0.7, d * 1.05)),
        ),
        "upper_colour": colour,
        "lower_colour": lower or f"{colour} + 10% shadow",
    }


class Bill(Part):
    """A bill in head coordinates: two mandibles and patches that stay inside them.

    A table gives both outlines, or the arguments of `slender`.
    """

    upper: Outline
    lower: Outline
    upper_colour: Paint
    lower_colour: Paint
    patches: tuple[Patch, ...] = ()
    over: bool = False
    """Whether it is drawn over the face."""

    @model_validator(mode="before")
    @classmethod
    def outlined(cls, table: dict[str, Any]) -> dict[str, Any]:
        """Return the table with both outlines."""
        return table if "upper" in table else slender(**table)


class Eye(Part):
    """An eye at a place on the head."""

    at: Point = (0.3, -0.12)
    radius: float = 0.17
    """In head radii."""
    iris: Paint = INKS["dark brown"]
    pupil: float = 0.55
    ring: Paint | None = None
    ring_width: float = 0.3


class Bars(Part):
    """Bands of one colour across wing, tail or feather, at shares of its length."""

    at: tuple[float, ...]
    colour: Paint
    width: float = 0.05
    """As a share of the length."""


class Wing(Part):
    """A folded wing: flight feathers under rows of coverts, and patches in wing coordinates over them."""

    shoulder: Point
    tip: Point
    depth: float = 0.42
    """As a share of the length."""
    coverts: Paint
    flight: Paint
    edge: Paint
    """The fringe of each flight feather."""
    covert_edge: Paint | None = None
    bars: tuple[Bars, ...] = ()
    patches: tuple[Patch, ...] = ()
    feather_bars: tuple[Bars, ...] = ()
    n: int = 9
    """Number of flight feathers."""
    drop: float = 0.0
    """Drop of the tip, as a share of the length."""


class Tail(Part):
    """A tail from base to end, in the sheet's units; `spread` is the width of the end as a share of its length."""

    base: Point
    end: Point
    width: float = 0.3
    spread: float = 0.34
    tip: Literal["square", "rounded", "notched", "forked", "graduated", "wedge"] = "square"
    colour: Paint
    edge: Paint
    bars: tuple[Bars, ...] = ()
    patches: tuple[Patch, ...] = ()
    outer: Paint | None = None
    """Colour of the outermost feathers."""


class Legs(Part):
    """Two legs from the belly to the ground."""

    hip: Point
    foot: Point
    colour: Paint
    kind: Literal["perching", "webbed", "wading", "talons"] = "perching"
    width: float = 1.1
    apart: float = 5.0
    ankle: float = 0.0
    """Backward bend of the ankle, in units."""
    thigh: float = 0.0
    """Radius of the feathered thigh."""
    thigh_colour: Paint | None = None


class Bird(Part):
    """A bird in one plumage, ready to be drawn."""

    spine: tuple[Disc, ...]
    """From the rump over body and neck to the head, which is the last."""
    body: int
    """Index in `spine` of the middle of the body."""
    colour: Paint
    bill: Bill
    tail: Tail
    wing: Wing
    legs: Legs
    eyes: tuple[Eye, ...] = (Eye(),)
    bill_offset: Point = (0.0, 0.0)
    """Moves the bill on the head: an owl that looks at you wears it in the middle of its face."""
    crest: Outline = ()
    """In head coordinates; a part of the body's outline."""
    crest_feathers: tuple[tuple[Point, Point, float], ...] = ()
    """Single crest feathers: root, tip, width, in head coordinates."""
    crest_colours: tuple[Paint, Paint] | None = None
    """Colours of the vanes and tips of crest feathers."""
    patches: tuple[Patch | Marks, ...] = ()
    over: tuple[Patch, ...] = ()
    """Patches over the wing: an epaulette, plumes."""
    setting: Literal["branch", "ground", "water", "rock", "post", "trunk"] = "branch"
    ground_y: float = 82.0
    texture: float = 0.1
    """Contrast of the feather tips that cover the body."""
