"""Look-ups of altered names in an indexed checklist, each a few reads of its index."""

from __future__ import annotations

from typing import Final

from data.records import Taxon
from kb.checklist.names import ENDINGS, epithet_stem, fold
from kb.checklist.scientific_names import without_authorship
from kb.checklist.species_names import Fitting, bare_of_possessives, family_of, stem
from kb.checklist.stored.stored_checklist import StoredChecklist

MAX_WORDS: Final = 8  # of a common name whose possessives are tried


class StoredNames:
    """The look-ups of `SpeciesNames` in a `StoredChecklist`."""

    def __init__(self, checklist: StoredChecklist) -> None:
        self.checklist = checklist

    def with_code(self, code: str) -> Taxon | None:
        """Return None: only birds have such codes."""
        return None

    def others_called(self, label: str) -> list[Taxon]:
        """Return no species."""
        return []

    def lacks(self, binomial: str) -> bool:
        """Return False: other lists are not known."""
        return False

    def subspecies(self, label: str) -> tuple[str, Taxon] | None:
        """Return the one subspecies with that name, as trinomial or as a binomial without its species."""
        found = self.checklist.find(label)
        if found is not None and "species" in found.lineage:
            return self._with_species(found)
        words = without_authorship(label).split()
        genus = self.checklist.find(words[0]) if len(words) == 2 and found is None else None
        if genus is None or genus.rank != "genus":
            return None
        n = self.checklist.position(genus)
        lower = [
            taxon
            for _, taxon in self.checklist.named_within(n, ending=words[1])
            if "species" in taxon.lineage and taxon.scientific_name.split()[-1] == words[1]
        ]
        species = {taxon.lineage["species"] for taxon in lower}
        return self._with_species(lower[0]) if len(species) == 1 else None

    def possessives(self, label: str) -> Fitting:
        """Return the species whose common names differ in possessives alone."""
        words = bare_of_possessives(label).split()
        if len(words) > MAX_WORDS:
            return {}
        tries = {fold(" ".join(words))}
        tries |= {fold(" ".join([*words[:i], f"{words[i]}s", *words[i + 1 :]])) for i in range(len(words))}
        tries.discard(fold(label))
        return {
            taxon.taxon_id: (text, taxon)
            for key in sorted(tries)
            for text, taxon in self.checklist.with_common_name(key)
            if taxon.rank == "species"
        }

    def abbreviated(self, initial: str, epithet: str) -> Fitting:
        """Return the species with that epithet whose genus begins with a letter."""
        return {
            taxon.taxon_id: (text, taxon)
            for text, taxon in self.checklist.with_initial(initial, epithet)
            if taxon.rank == "species" and len(text.split()) == 2
        }

    def endings(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the genus whose epithets differ in their endings alone."""
        wanted = stem(f"{genus} {epithet}")
        named = self.checklist.beginning_with(fold(wanted))
        return {
            taxon.taxon_id: (text, taxon)
            for text, taxon in named
            if taxon.rank == "species" and len(text.split()) == 2 and stem(text) == wanted
        }

    def genera(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the same family with that epithet, of any ending."""
        family = self.checklist.find(family_of(self.checklist, genus))
        n = 0 if family is None or family.rank != "family" else self.checklist.position(family)
        wanted = epithet_stem(f"{genus} {epithet}")
        found: Fitting = {}
        for ending in ENDINGS if n else ():
            for text, taxon in self.checklist.named_within(n, ending=wanted + ending):
                is_same = len(text.split()) == 2 and epithet_stem(text) == wanted
                if taxon.rank == "species" and is_same:
                    found.setdefault(taxon.taxon_id, (text, taxon))
        return found

    def _with_species(self, lower: Taxon) -> tuple[str, Taxon] | None:
        species = self.checklist.find(lower.lineage["species"])
        return None if species is None else (lower.scientific_name, species)
