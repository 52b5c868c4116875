"""Catalogue of the birds that can be drawn, by species and plumage."""

from __future__ import annotations

import io
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from PIL import Image

from training.plates.drawing.anatomy import Bird
from training.plates.variants import SIZE_PX, Purpose, draw, variant_for

Sex = Literal["both", "male", "female"]
BIRDS = Path(__file__).with_name("birds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """A bird that can be drawn. `both`: the sexes look alike, or nearly."""

    taxon_id: str
    sex: Sex
    bird: Bird

    @property
    def name(self) -> str:
        """Species and plumage as part of a file name: `cardinalis-cardinalis-male`."""
        return self.taxon_id if self.sex == "both" else f"{self.taxon_id}-{self.sex}"

    def draw(self, purpose: Purpose, number: int = 0, *, size: int = SIZE_PX) -> Image.Image:
        """Return drawing `number` for a purpose, `(size, size)` RGB; each number and purpose gives another drawing."""
        return draw(self.bird, variant_for(self.name, purpose, number), size=size)

    def png(self, purpose: Purpose, number: int = 0, *, size: int = SIZE_PX) -> bytes:
        """Return the drawing as a PNG file; the same bytes every time within one version of Pillow.

        All colours are kept: a palette of 256 makes files a third of the size, but other birds are identified.
        """
        out = io.BytesIO()
        self.draw(purpose, number, size=size).save(out, format="PNG", optimize=True)
        return out.getvalue()


def read_plates(folder: Path = BIRDS) -> tuple[Plate, ...]:
    """Return the birds of the tables in a folder by taxon id, the male first.

    A table's name is that of the plate; `like` names a plate of the same file that it differs from in what it says.

    Raises:
        pydantic.ValidationError: if a table has an unknown key, colour or shape.
    """
    plates = []
    for file in folder.glob("*.toml"):
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        for name, table in tables.items():
            sex: Sex = next((sex for sex in get_args(Sex) if name.endswith(f"-{sex}")), "both")
            whole = merge(tables[table.pop("like")], table) if "like" in table else table
            plates.append(Plate(taxon_id=name.removesuffix(f"-{sex}"), sex=sex, bird=Bird.model_validate(whole)))
    return tuple(sorted(plates, key=lambda plate: (plate.taxon_id, get_args(Sex).index(plate.sex))))


def merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a table with changes, tables in it likewise."""
    inner = {k: merge(base[k], v) for k, v in changes.items() if isinstance(v, dict) and k in base}
    return base | changes | inner


PLATES = read_plates()


def plates_of(taxon_id: str) -> list[Plate]:
    """Return the plumages of a species that can be drawn, the male first; empty if there is none.

    Example:
        >>> [plate.sex for plate in plates_of("anas-platyrhynchos")]
        ['male', 'female']
    """
    return [plate for plate in PLATES if plate.taxon_id == taxon_id]
