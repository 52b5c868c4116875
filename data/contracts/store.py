"""Contract of a finished knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from data.arrays import FloatArray, IntArray
from data.records import SpeciesEntry, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTable:
    """The vectors of one collection: row i of `vectors` (mapped, read-only) is item `ids[i]` of species `owners[i]`.

    `owners` are positions in `KnowledgeStore.taxon_ids`, intp `(n,)`, ascending, so a species' rows lie together.
    """

    ids: tuple[str, ...]
    owners: IntArray
    vectors: FloatArray


class KnowledgeStore(Protocol):
    """A finished knowledge base, as recognition and look-ups read it."""

    @property
    def path(self) -> Path:
        """The folder."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces it was built in."""

    @property
    def taxon_ids(self) -> tuple[str, ...]:
        """All species, sorted by id; their positions are the species indices of every `VectorTable`."""

    def chunk_vectors(self, space: str) -> VectorTable:
        """Return the text vectors of all chunks in a text-image space."""

    def anchor_vectors(self, space: str) -> VectorTable:
        """Return the vectors of all anchors in a text-image or visual space."""

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        """Return the entries of these species, in this order."""

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return the texts of these chunks, in this order."""

    def terms(self) -> list[Term]:
        """Return all terms, sorted by name."""

    def check_space(self, spaces: Sequence[str]) -> None:
        """Raise `SpaceMismatch` unless every one of `spaces` is one of the store's."""
