"""The drawn birds: names, texts and drawings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

from PIL import Image

from data.files import write_atomic
from data.starter.knowledge import StarterSpecies, drawings_of, read_drawings, read_species


@dataclass(frozen=True, slots=True, kw_only=True)
class Bird:
    """A species with drawings: `training` are reference drawings, `test` others."""

    species: StarterSpecies
    training: tuple[bytes, ...]
    test: tuple[bytes, ...]

    @property
    def name(self) -> str:
        """English name."""
        return self.species.taxon.common_name

    @property
    def binomial(self) -> str:
        """Scientific name."""
        return self.species.taxon.scientific_name

    @property
    def pictures(self) -> tuple[bytes, ...]:
        """All drawings, those for testing first."""
        return (*self.test, *self.training)


@cache
def birds() -> tuple[Bird, ...]:
    """Return the species with drawings, sorted by id."""
    drawn = {drawing.taxon_id for drawing in read_drawings()}
    return tuple(
        Bird(
            species=species,
            training=tuple(each.png() for each in drawings_of(species.taxon.taxon_id, "anchor")),
            test=tuple(each.png() for each in drawings_of(species.taxon.taxon_id, "query")),
        )
        for species in read_species()
        if species.taxon.taxon_id in drawn
    )


def bird(name: str) -> Bird:
    """Return the bird of an English name."""
    return next(each for each in birds() if each.name == name)


def jpeg(drawing: bytes) -> bytes:
    """Return a drawing as JPEG, as most data sets have their photos."""
    out = BytesIO()
    Image.open(BytesIO(drawing)).convert("RGB").save(out, "JPEG", quality=90)
    return out.getvalue()


def write(file: Path, content: bytes | str) -> None:
    """Write a file of a data set, with its folders."""
    write_atomic(file, content.encode() if isinstance(content, str) else content, is_durable=False)
