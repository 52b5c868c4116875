"""Species outside the knowledge base that a photo resembles."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from data.records import Taxon, taxon_id
from data.starter.knowledge import read_species

LIKENESS: Final = 0.5
"""Softmax mass of a look-alike among background and knowledge base, at least."""


def taxon_of(scientific_name: str) -> Taxon:
    """Return a species by the names that ship with Fieldmark; the scientific name alone if it is not among them.

    Example:
        >>> taxon_of("Cardinalis cardinalis").common_name, taxon_of("Avis ignota").common_name
        ('Northern Cardinal', 'Avis ignota')
    """
    id = taxon_id(scientific_name)
    return _shipped().get(id, Taxon(taxon_id=id, scientific_name=scientific_name, rank="species"))


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Taxon]:
    return {species.taxon.taxon_id: species.taxon for species in read_species()}
