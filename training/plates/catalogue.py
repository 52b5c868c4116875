"""Catalogue of the birds that can be drawn, by species and plumage."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PIL import Image

from training.plates.birds import long_tails, near_passerines, raptors, seabirds, songbirds, waders, waterfowl
from training.plates.drawing.anatomy import Bird
from training.plates.variants import SIZE_PX, Purpose, draw, variant_for

Sex = Literal["both", "male", "female"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """A bird that can be drawn. `both`: the sexes look alike, or nearly."""

    taxon_id: str
    sex: Sex
    design: Callable[[], Bird]

    @property
    def name(self) -> str:
        """Species and plumage as part of a file name: `cardinalis-cardinalis-male`."""
        return self.taxon_id if self.sex == "both" else f"{self.taxon_id}-{self.sex}"

    def draw(self, purpose: Purpose, number: int = 0, *, size: int = SIZE_PX) -> Image.Image:
        """Return drawing `number` for a purpose, `(size, size)` RGB; another number or purpose, another drawing."""
        return draw(self.design(), variant_for(self.name, purpose, number), size=size)

    def png(self, purpose: Purpose, number: int = 0, *, size: int = SIZE_PX) -> bytes:
        """Return the drawing as a PNG file; the same bytes every time within one version of Pillow.

        All colours are kept: with a palette of 256 the files are a third of the size, but other birds come out first.
        """
        out = io.BytesIO()
        self.draw(purpose, number, size=size).save(out, format="PNG", optimize=True)
        return out.getvalue()


_DESIGNS: tuple[tuple[str, Sex, Callable[[], Bird]], ...] = (
    ("agelaius-phoeniceus", "male", songbirds.red_winged_blackbird_male),
    ("alcedo-atthis", "both", near_passerines.common_kingfisher),
    ("anas-platyrhynchos", "male", waterfowl.mallard_male),
    ("anas-platyrhynchos", "female", waterfowl.mallard_female),
    ("aptenodytes-patagonicus", "both", seabirds.king_penguin),
    ("ardea-herodias", "both", waders.great_blue_heron),
    ("bubo-scandiacus", "both", raptors.snowy_owl),
    ("cardinalis-cardinalis", "male", songbirds.northern_cardinal_male),
    ("cardinalis-cardinalis", "female", songbirds.northern_cardinal_female),
    ("cyanistes-caeruleus", "both", songbirds.eurasian_blue_tit),
    ("cyanocitta-cristata", "both", songbirds.blue_jay),
    ("dendrocopos-major", "male", near_passerines.great_spotted_woodpecker),
    ("erithacus-rubecula", "both", songbirds.european_robin),
    ("fratercula-arctica", "both", seabirds.atlantic_puffin),
    ("haliaeetus-leucocephalus", "both", raptors.bald_eagle),
    ("hirundo-rustica", "both", long_tails.barn_swallow),
    ("phoenicopterus-ruber", "both", waders.american_flamingo),
    ("pica-pica", "both", long_tails.eurasian_magpie),
    ("ramphastos-sulfuratus", "both", near_passerines.keel_billed_toucan),
    ("spinus-tristis", "male", songbirds.american_goldfinch_male),
    ("tyto-alba", "both", raptors.western_barn_owl),
    ("upupa-epops", "both", near_passerines.common_hoopoe),
)

PLATES: tuple[Plate, ...] = tuple(Plate(taxon_id=key, sex=sex, design=design) for key, sex, design in _DESIGNS)


def plates_of(taxon_id: str) -> list[Plate]:
    """Return the plumages of a species that can be drawn, the male first; none if it cannot.

    Example:
        >>> [plate.sex for plate in plates_of("anas-platyrhynchos")]
        ['male', 'female']
    """
    return [plate for plate in PLATES if plate.taxon_id == taxon_id]
