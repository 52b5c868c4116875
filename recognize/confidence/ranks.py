"""Ranks of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from data.records import Taxon

JudgedRank = Literal["species", "genus", "family", "order"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family", "order")
Lineage = Mapping[str, str]
"""Rank -> name for one species, with `genus`, `family` and `order` if known."""


def rank_of(taxon_rank: str) -> JudgedRank:
    """Return the rank at which an entry of a knowledge base can be named: its own, `species` for all below a genus."""
    return next((rank for rank in RANKS if rank == taxon_rank), "species")


def lineage_with_self(taxon: Taxon) -> Lineage:
    """Return the lineage of an entry; a genus or family is part of its own, so that its species share it.

    Example:
        >>> lineage_with_self(Taxon(taxon_id="russula", scientific_name="Russula", rank="genus"))
        {'genus': 'Russula'}
    """
    rank = rank_of(taxon.rank)
    return taxon.lineage if rank == "species" else {**taxon.lineage, rank: taxon.scientific_name}
