"""The wiki as its own checklist: taxa as the taxoboxes of its pages state them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from data.contracts import Checklist
from data.records import Taxon
from data.words import nearest
from kb.checklist.names import fold

WIKI: Final = "wiki"
"""Its name, which no other checklist takes."""
AND_WIKI: Final = f", {WIKI}"
"""End of the recorded name of a checklist beside which taxoboxes named species."""


class WikiChecklist(Checklist):
    """A `Checklist` without a list: pages state their species, and only those already taken in are found by name.

    `kb.sources.mediawiki.locate` reads binomial, classification and common name of each page.
    """

    name = WIKI
    digest = ""

    def __init__(self, taxa: Iterable[Taxon] = ()) -> None:
        self._taxa = tuple(taxa)
        self._by_name = {fold(name): taxon for taxon in reversed(self._taxa) for name in reversed(taxon.all_names)}

    def top_taxa(self) -> list[Taxon]:
        """Return the species that were taken in."""
        return list(self._taxa)

    def find(self, name: str) -> Taxon | None:
        """Return the species with that name, if it was taken in."""
        return self._by_name.get(fold(name))

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return a species itself, else nothing."""
        return [taxon] if taxon.rank == "species" else []

    def position(self, taxon: Taxon) -> int:
        """Return 0: it has no tree."""
        return 0

    def with_common_name(self, folded: str) -> list[tuple[str, Taxon]]:
        """Return names and species with a common name of that folded form."""
        named = ((name, taxon) for taxon in self._taxa for name in taxon.common_names)
        return [(name, taxon) for name, taxon in named if fold(name) == folded]

    def scientific_names(
        self, *, start: str = "", ending: str = "", initial: str = "", below: int = 0
    ) -> list[tuple[str, Taxon]]:
        """Return scientific names and species, as those of `StoredChecklist`."""
        return [
            (name, taxon)
            for taxon in self._taxa
            for name in (taxon.scientific_name, *taxon.synonyms)
            if fold(name).startswith(start)
            and name.startswith(initial)
            and name.endswith(f" {ending}" if ending else "")
        ]

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return similar names."""
        names = {fold(each): each for taxon in self._taxa for each in taxon.names}
        return [names[each] for each in nearest(fold(name), names, n)]


class WithTaxoboxes(Checklist):
    """A checklist beside the taxoboxes of a wiki, which name the species that it lacks.

    Birds outside AviList stay out: it is the authority on its own group.
    """

    name = digest = ""

    def __init__(self, listed: Checklist, taxa: Iterable[Taxon] = ()) -> None:
        self.listed = listed
        self.name, self.digest = listed.name, listed.digest
        self._own = WikiChecklist(taxa)

    def top_taxa(self) -> list[Taxon]:
        """Return those of the checklist."""
        return self.listed.top_taxa()

    def homonyms(self, name: str) -> list[Taxon]:
        """Return those of the checklist."""
        return self.listed.homonyms(name)

    def also_called(self, name: str) -> list[Taxon]:
        """Return those of the checklist."""
        return self.listed.also_called(name)

    def find(self, name: str) -> Taxon | None:
        """Return the taxon of the checklist with that name, or the species that was taken in."""
        return self.listed.find(name) or self._own.find(name)

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return the species of the checklist below a taxon, or a species itself."""
        return self.listed.species_of(taxon) or self._own.species_of(taxon)

    def n_species_of(self, taxon: Taxon) -> int:
        """Return their number."""
        return self.listed.n_species_of(taxon) or self._own.n_species_of(taxon)

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return similar names, those of the knowledge base first."""
        return [*self._own.suggest(name, n), *self.listed.suggest(name, n)][:n]

    def recorded_for(self, taxa: Sequence[Taxon]) -> tuple[str, str]:
        """Return the name and digest to record with a knowledge base of these taxa."""
        found = [self.listed.find(taxon.scientific_name) for taxon in taxa]
        n_lacking = sum(each is None or "species" in each.lineage for each in found)
        if not n_lacking:
            return self.name, self.digest
        return (WIKI, "") if n_lacking == len(taxa) and self.listed.group else (f"{self.name}{AND_WIKI}", self.digest)
