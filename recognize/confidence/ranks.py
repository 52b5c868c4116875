"""Ranks and lineages of species, also of those outside a knowledge base."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

from data.codec import from_json
from data.records import Taxon, taxon_id
from data.starter.knowledge import SPECIES_FILE, read_bytes

JudgedRank = Literal["species", "genus", "family", "order"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family", "order")
Lineage = Mapping[str, str]
"""Rank -> name for one species, with `genus`, `family` and `order` if known."""


def rank_of(taxon_rank: str) -> JudgedRank:
    """Return the rank at which an entry of a knowledge base can be named: its own, `species` for all below a genus."""
    return next((rank for rank in RANKS if rank == taxon_rank), "species")


def lineage_with_self(taxon: Taxon) -> Lineage:
    """Return the lineage of an entry; a genus or family is part of its own, so that its species share it."""
    rank = rank_of(taxon.rank)
    return taxon.lineage if rank == "species" else {**taxon.lineage, rank: taxon.scientific_name}


LIKENESS: Final = 0.5
"""Softmax mass of a look-alike among background and knowledge base, at least."""


@lru_cache(maxsize=4_096)
def taxon_of(scientific_name: str) -> Taxon:
    """Return a species as it ships with Fieldmark; one with its scientific name and genus alone if it does not."""
    id = taxon_id(scientific_name)
    found = _shipped().get(id)
    if found is not None:
        return from_json(Taxon, found)
    return Taxon(taxon_id=id, scientific_name=scientific_name, rank="species", lineage=lineage_of(scientific_name))


def lineage_of(scientific_name: str) -> Lineage:
    """Return the lineage of a species as it ships with Fieldmark, else its genus alone; much faster than `taxon_of`."""
    found = _shipped().get(taxon_id(scientific_name))
    lineage: Lineage = {"genus": scientific_name.split(" ")[0]} if found is None else found["lineage"]
    return lineage


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    """Return id -> taxon in JSON; `read_species` takes ten times as long."""
    taxa = (json.loads(line)["taxon"] for line in read_bytes(SPECIES_FILE).decode().splitlines())
    return {taxon["taxon_id"]: taxon for taxon in taxa}
