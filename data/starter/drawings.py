"""Drawings of birds that ship with Fieldmark, as PNG files made by `training.plates`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from data.files import sha256_hex

INDEX = "index.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One PNG file, 360 by 360 px."""

    file: str
    taxon_id: str
    sex: Literal["both", "male", "female"]
    """`both`: the sexes look alike, or nearly."""
    purpose: Literal["anchor", "query"]
    """Anchors are reference photos of a knowledge base, queries are for identification."""
    seed: int
    """Random seed of pose, light and paper."""
    sha256: str

    @property
    def plate(self) -> str:
        """Species and plumage: `cardinalis-cardinalis-male`."""
        return self.taxon_id if self.sex == "both" else f"{self.taxon_id}-{self.sex}"

    def png(self) -> bytes:
        """Return the file's content."""
        return _read(self.file)


@cache
def read_drawings() -> tuple[Drawing, ...]:
    """Return all drawings, species by species; plumages of a species take turns, the male first."""
    return tuple(Drawing(**row) for row in json.loads(_read(INDEX)))


def index_digest() -> str:
    """Return a digest of the index, which changes when any drawing does."""
    return sha256_hex(_read(INDEX))


def drawings_of(taxon_id: str, purpose: Literal["anchor", "query"]) -> list[Drawing]:
    """Return the drawings of a species for one purpose; none if it was not drawn."""
    return [drawing for drawing in read_drawings() if (drawing.taxon_id, drawing.purpose) == (taxon_id, purpose)]


def _read(name: str) -> bytes:
    return (resources.files("data") / "starter" / "drawings" / name).read_bytes()
