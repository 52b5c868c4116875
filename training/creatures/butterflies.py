"""Twelve butterflies: wing shapes and patterns, and descriptions in our own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PIL import Image

from training.creatures.setting import Scene, finished, scene
from training.plates.drawing.palette import darker, ink
from training.plates.drawing.shapes import Knot, smooth

Mark = tuple[Literal["band", "border", "eye", "spot", "tip", "veins", "checks", "edge-spots"], str]
"""Kind and ink of a mark, in the order of drawing."""

FORE: tuple[Knot, ...] = ((50, 42), (60, 24), (78, 12), (92, 10, 0.3), (95, 22), (88, 40), (74, 52), (54, 52))
HIND: tuple[Knot, ...] = ((50, 48), (66, 50), (82, 54), (88, 66), (80, 80), (66, 86), (56, 74), (51, 60))
TAILED: tuple[Knot, ...] = (
    (50, 48), (66, 50), (82, 54), (87, 66), (80, 76), (79, 94, 0.2), (74, 80), (62, 84), (54, 72),
)  # fmt: skip

# Places of marks on the right, of the hindwing and of the forewing.
BANDS = (((54, 62), (84, 60), (84, 67), (56, 70)), ((58, 26), (64, 21), (86, 42), (80, 47)))
CHECKS = (
    ((60, 56), (72, 58), (80, 70), (66, 74), (58, 68)),
    ((58, 40), (68, 28), (80, 18), (70, 44), (82, 34), (60, 50)),
)
EDGE_SPOTS = (((83, 60), (82, 69), (76, 77), (66, 81)), ((90, 16), (91, 24), (87, 33), (81, 42)))
VEIN_ENDS = (((86, 58), (86, 68), (76, 80), (62, 82)), ((92, 14), (94, 22), (90, 34), (80, 47)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Butterfly:
    """A butterfly, its wings seen from above."""

    scientific_name: str
    common_name: str
    family: str
    fore: str
    """Ink of the forewing."""
    hind: str
    marks: tuple[Mark, ...] = ()
    """Of the forewing."""
    hind_marks: tuple[Mark, ...] = ()
    is_tailed: bool = False
    text: str

    def draw(self, number: int) -> Image.Image:
        """Return drawing `number`, RGB; each number gives another pose, ground and light."""
        on = scene(self.scientific_name, number)
        tilt = on.rng.uniform(0.78, 1.06)  # wings held up a little are narrower
        for side in (-1, 1):
            _wing(on, HIND if not self.is_tailed else TAILED, self.hind, self.hind_marks, side, tilt, at=(70, 66))
            _wing(on, FORE, self.fore, self.marks, side, tilt, at=(74, 32))
        body = darker(ink(self.fore), 0.6)
        on.oval(50, 52, 2.4, 16, body)
        on.oval(50, 35, 2.6, 3, body)
        for side in (-1, 1):
            on.line([(50 + side, 33), (50 + 6 * side, 24), (50 + 11 * side, 17)], body, 0.7)
            on.oval(50 + 11.4 * side, 16.5, 1, 1.2, body)
        return finished(on)


def _wing(
    on: Scene,
    knots: tuple[Knot, ...],
    ground: str,
    marks: tuple[Mark, ...],
    side: int,
    tilt: float,
    at: tuple[float, float],
) -> None:
    """Draw one wing: `side` mirrors it, `tilt` narrows it, `at` is its middle on the right."""

    def placed(x: float, y: float) -> tuple[float, float]:
        return 50 + side * (x - 50) * tilt, y

    def scaled(share: float) -> list[tuple[float, float]]:
        return [placed(at[0] + share * (x - at[0]), at[1] + share * (y - at[1])) for x, y in smooth(knots)]

    colour = ink(ground)
    on.polygon(scaled(1), colour)
    is_fore = knots is FORE
    for kind, name in marks:
        of = ink(name)
        if kind == "border":
            on.polygon(scaled(1), of)
            on.polygon(scaled(0.8), colour, edge=False)
        elif kind == "band":
            on.polygon([placed(x, y) for x, y in BANDS[is_fore]], of, edge=False)
        elif kind == "tip":
            on.polygon([placed(x, y) for x, y in ((78, 13), (92, 10), (95, 22), (91, 33), (82, 24))], of, edge=False)
        elif kind == "eye":
            x, y = (82, 23) if is_fore else (74, 66)
            for r, shade in ((7, of), (5, ink("black")), (3, ink("sky blue")), (1, ink("white"))):
                on.oval(*placed(x, y), r * tilt, r, shade)
        elif kind == "spot":
            x, y = (74, 32) if is_fore else (70, 66)
            on.oval(*placed(x, y), 4 * tilt, 4, of)
        elif kind == "veins":
            root = placed(51, 46 if is_fore else 52)
            for x, y in VEIN_ENDS[is_fore]:
                on.line([root, placed(x, y)], of, 1.1)
        elif kind == "checks":
            for x, y in CHECKS[is_fore]:
                on.oval(*placed(x, y), 4.6 * tilt, 4, of)
        else:  # a row of spots along the edge
            for x, y in EDGE_SPOTS[is_fore]:
                on.oval(*placed(x, y), 1.7 * tilt, 1.7, of)


BUTTERFLIES: tuple[Butterfly, ...] = (
    Butterfly(scientific_name="Vanessa atalanta", common_name="Red Admiral", family="Nymphalidae",
              fore="soot", hind="soot",
              marks=(("band", "rust"), ("edge-spots", "white")), hind_marks=(("band", "rust"),),
              text="The upperside of the wings is blackish. A red band crosses the forewing, and another edges the "
              "hindwing. Small white spots lie near the wing tip."),
    Butterfly(scientific_name="Aglais io", common_name="European Peacock", family="Nymphalidae",
              fore="chestnut", hind="chestnut",
              marks=(("eye", "yellow"),), hind_marks=(("eye", "cream"),),
              text="The wings are rusty red above. Each wing bears one large eyespot of black, blue and yellow. The "
              "underside is dark brown."),
    Butterfly(scientific_name="Gonepteryx rhamni", common_name="Common Brimstone", family="Pieridae",
              fore="lemon", hind="lemon",
              marks=(("spot", "orange"),), hind_marks=(("spot", "orange"),),
              text="The wings of the male are sulphur yellow. Each wing has a small orange spot in its middle."),
    Butterfly(scientific_name="Papilio machaon", common_name="Old World Swallowtail", family="Papilionidae",
              fore="yellow", hind="yellow",
              marks=(("border", "black"), ("veins", "black"), ("edge-spots", "yellow")),
              hind_marks=(("border", "midnight"), ("edge-spots", "red")), is_tailed=True,
              text="The wings are yellow with black veins and a broad black border. The hindwing has a tail, blue "
              "dust and a red spot."),
    Butterfly(scientific_name="Danaus plexippus", common_name="Monarch", family="Nymphalidae",
              fore="orange", hind="orange",
              marks=(("border", "black"), ("veins", "black"), ("edge-spots", "white")),
              hind_marks=(("border", "black"), ("veins", "black"), ("edge-spots", "white")),
              text="The wings are orange with black veins. The black border holds rows of white spots."),
    Butterfly(scientific_name="Pieris brassicae", common_name="Large White", family="Pieridae",
              fore="white", hind="white",
              marks=(("tip", "soot"), ("spot", "soot")),
              text="The wings are white. The forewing has a black tip, and the female has two black spots."),
    Butterfly(scientific_name="Polyommatus icarus", common_name="Common Blue", family="Lycaenidae",
              fore="sky blue", hind="sky blue",
              marks=(), hind_marks=(),
              text="The wings of the male are bright blue above with a thin dark edge. The underside is grey brown "
              "with many ringed spots."),
    Butterfly(scientific_name="Lycaena phlaeas", common_name="Small Copper", family="Lycaenidae",
              fore="rust", hind="dark brown",
              marks=(("border", "dark brown"), ("checks", "black")), hind_marks=(("band", "orange"),),
              text="The forewing is coppery orange with black spots and a dark border. The hindwing is dark brown "
              "with an orange band."),
    Butterfly(scientific_name="Anthocharis cardamines", common_name="Orange Tip", family="Pieridae",
              fore="white", hind="cream",
              marks=(("tip", "orange"),), hind_marks=(("checks", "moss"),),
              text="The wings are white. The outer part of the male's forewing is orange. The underside of the "
              "hindwing is mottled green."),
    Butterfly(scientific_name="Nymphalis antiopa", common_name="Camberwell Beauty", family="Nymphalidae",
              fore="crimson", hind="crimson",
              marks=(("border", "cream"),), hind_marks=(("border", "cream"),),
              text="The wings are dark maroon with a pale cream border. A row of blue spots lies inside the border."),
    Butterfly(scientific_name="Morpho menelaus", common_name="Menelaus Blue Morpho", family="Nymphalidae",
              fore="royal blue", hind="royal blue",
              marks=(("border", "black"), ("edge-spots", "white")), hind_marks=(("border", "black"),),
              text="The upperside of the wings is shining blue with a black border. The underside is brown with "
              "eyespots."),
    Butterfly(scientific_name="Melanargia galathea", common_name="Marbled White", family="Nymphalidae",
              fore="cream", hind="cream",
              marks=(("border", "black"), ("checks", "black")), hind_marks=(("checks", "black"), ("veins", "black")),
              text="The wings are white with a checkered pattern of black. The underside of the hindwing is pale "
              "with grey bands."),
)  # fmt: skip
"""The butterflies, no two have the same pattern."""
