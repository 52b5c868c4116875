"""Place of a species among those of a knowledge base: higher taxa of its genus, names that differ by a letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rapidfuzz.distance import OSA

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.names import fold

N_COMPARED = 5  # nearest names of the checklist


def with_relatives(species: Taxon, held: Sequence[Taxon]) -> Taxon:
    """Return a species with the higher taxa that all held species of its genus share, unless its own differ."""
    genus = species.lineage.get("genus")
    lineages = [other.lineage for other in held if genus and other.lineage.get("genus") == genus]
    if not lineages:
        return species
    shared = {rank: name for rank, name in lineages[0].items() if all(each.get(rank) == name for each in lineages)}
    agrees = all(shared.get(rank, name) == name for rank, name in species.lineage.items())
    return replace(species, lineage={**shared, **species.lineage}) if agrees else species


def near_names(species: Taxon, held: Iterable[Taxon], checklist: Checklist) -> list[str]:
    """Return the scientific names of held and listed species from which that of a new one differs by a letter."""
    listed = checklist.suggest(species.scientific_name, N_COMPARED)
    found = (checklist.find(name) for name in listed)
    names = [taxon.scientific_name for taxon in (*held, *found) if taxon is not None and taxon.rank == "species"]
    own = fold(species.scientific_name)
    near = (name for name in names if OSA.distance(own, fold(name)) == 1)  # also two letters that are swapped
    return list(dict.fromkeys(near))
