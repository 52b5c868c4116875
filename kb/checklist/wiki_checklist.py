"""The wiki as its own checklist: taxa as the taxoboxes of its pages state them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

from data.records import Taxon
from kb.checklist.names import fold

WIKI: Final = "wiki"
"""Its name, which no other checklist takes."""


class WikiChecklist:
    """A `Checklist` without a list: pages state their species, and only those already taken in are found by name.

    `kb.sources.mediawiki.pages.locate` reads binomial, classification and common name of each page.

    Args:
        taxa: species of a knowledge base.
    """

    name = WIKI
    digest = ""
    group = ""

    def __init__(self, taxa: Iterable[Taxon] = ()) -> None:
        self._taxa = tuple(taxa)
        self._by_name = {fold(name): taxon for taxon in reversed(self._taxa) for name in reversed(taxon.all_names)}

    def top_taxa(self) -> list[Taxon]:
        """Return the species that were taken in."""
        return list(self._taxa)

    def find(self, name: str) -> Taxon | None:
        """Return the species with that name, if it was taken in."""
        return self._by_name.get(fold(name))

    def homonyms(self, name: str) -> list[Taxon]:
        """Return no taxon."""
        return []

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return a species itself, else nothing."""
        return [taxon] if taxon.rank == "species" else []

    def species_ids(self, taxon: Taxon) -> Iterator[str]:
        """Yield the ids of the same."""
        return iter([each.taxon_id for each in self.species_of(taxon)])

    def n_species_of(self, taxon: Taxon) -> int:
        """Return their number."""
        return len(self.species_of(taxon))

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return similar names."""
        names = {fold(each): each for taxon in self._taxa for each in taxon.names}
        return [names[each] for each in get_close_matches(fold(name), names, n)]
