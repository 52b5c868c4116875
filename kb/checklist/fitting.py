"""Species with nearly a name: without possessives, abbreviated, of another ending or genus, or of a subspecies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.names import ENDINGS, epithet_stem, fold, without_authorship
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes

Fitting = dict[str, tuple[str, Taxon]]
"""Taxon id -> the name that fits, and its taxon."""
_POSSESSIVE = re.compile(r"(?:['’]s|s['’]?)\b", re.IGNORECASE)
_BETWEEN_WORDS = re.compile(r"[\s-]+")


def stem(binomial: str) -> str:
    """Return a binomial without the ending of its epithet."""
    return f"{binomial.split()[0].lower()} {epithet_stem(binomial)}" if binomial.split() else ""


MAX_WORDS: Final = 8  # of a common name whose possessives are tried


class FittingNames:
    """Look-ups in a checklist; of one beside taxoboxes, in the listed taxa."""

    def __init__(self, checklist: Checklist) -> None:
        listed = checklist.listed if isinstance(checklist, WithTaxoboxes) else checklist
        if not isinstance(listed, StoredChecklist | WikiChecklist):
            raise TypeError(f"expected a checklist with an index or of pages, got {type(listed).__name__}")
        self.checklist = listed

    def subspecies(self, label: str) -> tuple[str, Taxon] | None:
        """Return the one subspecies with that name, as trinomial or as a binomial without its species."""
        found = self.checklist.find(label)
        if found is not None and "species" in found.lineage:
            return self._with_species(found)
        words = without_authorship(label).split()
        genus = self.checklist.find(words[0]) if len(words) == 2 and found is None else None
        if genus is None or genus.rank != "genus":
            return None
        within = self.checklist.scientific_names(ending=words[1], below=self.checklist.position(genus))
        lower = [
            taxon for _, taxon in within if "species" in taxon.lineage and taxon.scientific_name.split()[-1] == words[1]
        ]
        species = {taxon.lineage["species"] for taxon in lower}
        return self._with_species(lower[0]) if len(species) == 1 else None

    def trinomials(self, genus: str, initial: str, last: str) -> Fitting:
        """Return the species with a subspecies of that name, by the beginnings of genus and epithet."""
        named = self.checklist.scientific_names(ending=last, initial=genus)
        found: Fitting = {}
        for text, taxon in named:
            words = text.split()
            is_it = len(words) > 2 and words[0].startswith(genus) and words[1].startswith(initial)
            if is_it and "species" in taxon.lineage and (lower := self._with_species(taxon)):
                found[lower[1].taxon_id] = lower
        return found

    def possessives(self, label: str) -> Fitting:
        """Return the species whose common names differ in possessives alone."""
        words = _BETWEEN_WORDS.split(_POSSESSIVE.sub("", label))
        if len(words) > MAX_WORDS:
            return {}
        tries = {fold(" ".join(words))}
        for each in (words, _BETWEEN_WORDS.split(label)):  # "Brewers Blackbird", "Ross Goose"
            tries |= {fold(" ".join([*each[:i], f"{each[i]}s", *each[i + 1 :]])) for i in range(len(each))}
        return {
            taxon.taxon_id: (text, taxon)
            for key in sorted(tries)
            for text, taxon in self.checklist.with_common_name(key)
            if taxon.rank == "species"
        }

    def abbreviated(self, initial: str, epithet: str) -> Fitting:
        """Return the species with that epithet whose genus begins with a letter."""
        named = self.checklist.scientific_names(ending=epithet, initial=initial)
        return _binomials(named)

    def endings(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the genus whose epithets differ in their endings alone."""
        wanted = stem(f"{genus} {epithet}")
        named = self.checklist.scientific_names(start=fold(wanted))
        return _binomials((text, taxon) for text, taxon in named if stem(text) == wanted)

    def genera(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the same family with that epithet, of any ending."""
        known = self.checklist.find(genus)
        family = self.checklist.find(known.lineage.get("family", "")) if known and known.rank == "genus" else None
        n, wanted = self.checklist.position(family) if family else 0, epithet_stem(f"{genus} {epithet}")
        named = [
            each
            for ending in (ENDINGS if n else ())
            for each in self.checklist.scientific_names(ending=wanted + ending, below=n)
        ]
        return _binomials((text, taxon) for text, taxon in named if epithet_stem(text) == wanted)

    def _with_species(self, lower: Taxon) -> tuple[str, Taxon] | None:
        species = self.checklist.find(lower.lineage["species"])
        return None if species is None else (lower.scientific_name, species)


def _binomials(named: Iterable[tuple[str, Taxon]]) -> Fitting:
    """Return the species, each with its first name of two words."""
    found: Fitting = {}
    for text, taxon in named:
        if taxon.rank == "species" and len(text.split()) == 2:
            found.setdefault(taxon.taxon_id, (text, taxon))
    return found
