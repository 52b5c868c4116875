"""Knowledge that ships with Fieldmark: facts and terms in our own words, drawings made by code, and vectors.

Some species and all terms are written by hand, in two JSONL files. For the others, `python -m training.knowledge`
composes sentences from facts on which independent sources agree, or takes those written from general knowledge.
Drawings are PNG files of `training.plates`. Photos or texts cannot be restored from `vectors.npz`, which may be absent:

Anchors: `spaces` (n_spaces,) names of encoder spaces; `taxon_ids` (n,) and `anchor_ids` (n,), strings; and for the i-th
space a matrix `vectors_i` (n, dim) float16 or float32, a row of zeros where an anchor has no vector in it. Texts, which
a file may lack: `text_spaces`, `text_taxon_ids` (m,) and `text_vectors_i` (m, dim), of longer descriptions of each
species.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.lib.npyio import NpzFile

from data.arrays import FloatArray, as_unit_rows
from data.codec import loads
from data.errors import StoreError
from data.files import sha256_hex
from data.records import Anchor, AnchorImage, Source, Taxon, Term

LICENCE = "Apache-2.0"
"""Facts, sentences and drawings are our own work, under the licence of the program."""

SPECIES_FILE = "species.jsonl"
TERMS_FILE = "terms.jsonl"

Sex = Literal["both", "male", "female"]
Shade = Literal["", "dark", "pale", "bright"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Look of one part of the body, in one sex or both."""

    part: str
    colours: tuple[str, ...] = ()
    """Colour words, plain ("grey") or of two ("blue-grey"), the most extensive first."""
    shape: str = ""
    """Shape or pattern in a few words."""
    sex: Sex = "both"
    shade: Shade = ""
    """Shade of its one colour, or of a part without a known colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterSpecies:
    """One species: names, size, facts, and the sentences made of them or read for them."""

    taxon: Taxon
    length_cm: tuple[float, float] | None = None
    facts: tuple[Fact, ...] = ()
    text: tuple[str, ...] = ()
    by_hand: bool = False
    """Facts and text were written by hand; the generator leaves them unchanged."""

    @property
    def colours(self) -> frozenset[str]:
        """All plain colour words of the facts."""
        return frozenset(word for fact in self.facts for colour in fact.colours for word in colour.split("-"))


def read_species() -> list[StarterSpecies]:
    """Return the species that ship with Fieldmark, sorted by id."""
    return [loads(StarterSpecies, line) for line in read_bytes(SPECIES_FILE).decode().splitlines()]


@cache
def read_terms() -> tuple[Term, ...]:
    """Return the terms that ship with Fieldmark, sorted by name, each with the glossary as its source."""
    terms = (loads(Term, line) for line in read_bytes(TERMS_FILE).decode().splitlines())
    return tuple(
        replace(term, source=Source(title=f"{term.name}, in Fieldmark's glossary", licence=LICENCE)) for term in terms
    )


def read_bytes(name: str) -> bytes:
    """Return a file that ships beside this module; empty if it is missing."""
    file = resources.files("data") / "starter" / name
    return file.read_bytes() if file.is_file() else b""


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
        return read_bytes(f"drawings/{self.file}")


@cache
def read_drawings() -> tuple[Drawing, ...]:
    """Return all drawings, species by species; plumages of a species take turns, the male first."""
    return tuple(Drawing(**row) for row in json.loads(read_bytes(f"drawings/{INDEX}")))


def index_digest() -> str:
    """Return a digest of the index, which changes when any drawing does."""
    return sha256_hex(read_bytes(f"drawings/{INDEX}"))


def drawings_of(taxon_id: str, purpose: Literal["anchor", "query"]) -> list[Drawing]:
    """Return the drawings of a species for one purpose; none if it was not drawn."""
    return [drawing for drawing in read_drawings() if (drawing.taxon_id, drawing.purpose) == (taxon_id, purpose)]


FILE = "vectors.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedVectors:
    """Vectors of anchors and texts; row i of an anchor matrix is anchor `anchor_ids[i]`."""

    spaces: tuple[str, ...] = ()
    matrices: tuple[FloatArray, ...] = ()
    anchor_ids: tuple[str, ...] = ()
    rows: dict[str, list[int]] = field(default_factory=dict)
    """taxon_id -> the rows of its anchors, in the file's order."""
    text_spaces: tuple[str, ...] = ()
    text_matrices: tuple[FloatArray, ...] = ()
    text_rows: dict[str, int] = field(default_factory=dict)
    """taxon_id -> the row of its text."""

    def of(self, taxon_id: str) -> list[AnchorImage]:
        """Return the anchors of a species, without photos and credit."""
        return [self._anchor(taxon_id, row) for row in self.rows.get(taxon_id, ())]

    def text_vector(self, taxon_id: str, space: str) -> FloatArray | None:
        """Return the `(dim,)` float32 vector of the description of a species; None if none ships."""
        if taxon_id not in self.text_rows or space not in self.text_spaces:
            return None
        vector: FloatArray = self.text_matrices[self.text_spaces.index(space)][self.text_rows[taxon_id]]
        return vector if vector.any() else None

    def _anchor(self, taxon_id: str, row: int) -> AnchorImage:
        vectors = {
            space: tuple(matrix[row].tolist())
            for space, matrix in zip(self.spaces, self.matrices, strict=True)
            if matrix[row].any()
        }
        return AnchorImage(anchor=Anchor(anchor_id=self.anchor_ids[row], subject_id=taxon_id), vectors=vectors)


def read_vectors(path: Path | None = None) -> ShippedVectors:
    """Return the vectors of anchors and texts in a file; by default of the file that ships with Fieldmark, if any.

    Raises:
        StoreError: if the file is invalid, or was given and is missing.
    """
    if path is None:
        shipped = resources.files("data") / "starter" / FILE
        with resources.as_file(shipped) as file:
            return _read_vectors(file) if file.exists() else ShippedVectors()
    return _read_vectors(path)


def _read_vectors(path: Path) -> ShippedVectors:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            spaces, matrices = _matrices(arrays, "spaces", "vectors")
            taxon_ids, anchor_ids = _strings(arrays, "taxon_ids"), _strings(arrays, "anchor_ids")
            text_spaces, text_matrices = _matrices(arrays, "text_spaces", "text_vectors")
            text_ids = _strings(arrays, "text_taxon_ids") if text_spaces else ()
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{path.name} is not a file of vectors: {error}") from error
    for counts in (
        {len(taxon_ids), len(anchor_ids), *(len(matrix) for matrix in matrices)},
        {len(text_ids), *(len(matrix) for matrix in text_matrices)},
    ):
        if len(counts) != 1:
            raise StoreError(f"{path.name}: expected as many rows everywhere, got {sorted(counts)}")
    rows: dict[str, list[int]] = {}
    for row, taxon_id in enumerate(taxon_ids):
        rows.setdefault(taxon_id, []).append(row)
    return ShippedVectors(
        spaces=spaces,
        matrices=matrices,
        anchor_ids=anchor_ids,
        rows=rows,
        text_spaces=text_spaces,
        text_matrices=text_matrices,
        text_rows={taxon_id: row for row, taxon_id in enumerate(text_ids)},
    )


def _matrices(arrays: NpzFile, names: str, prefix: str) -> tuple[tuple[str, ...], tuple[FloatArray, ...]]:
    spaces = _strings(arrays, names) if names == "spaces" or names in arrays else ()
    matrices = tuple(np.asarray(arrays[f"{prefix}_{i}"], dtype=np.float32) for i in range(len(spaces)))
    # Half precision leaves rows slightly off unit length.
    return spaces, tuple(as_unit_rows(matrix) for matrix in matrices)


def _strings(arrays: NpzFile, name: str) -> tuple[str, ...]:
    return tuple(str(item) for item in arrays[name].tolist())
