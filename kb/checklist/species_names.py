"""Look-ups of species by the altered names of other lists: possessives, endings, genera, subspecies.

In memory for checklists of some thousand species; `kb.checklist.stored.species_names` asks an indexed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.avilist import AviList
from kb.checklist.names import epithet_stem, fold

Fitting = dict[str, tuple[str, Taxon]]
"""Taxon id -> the name that fits, and its taxon."""
_POSSESSIVE = re.compile(r"(?:['’]s|s['’]?)\b", re.IGNORECASE)


class SpeciesNames(Protocol):
    """Look-ups in one checklist."""

    def with_code(self, code: str) -> Taxon | None:
        """Return the species with a code of eBird."""

    def others_called(self, label: str) -> list[Taxon]:
        """Return the species with that name on another list."""

    def lacks(self, binomial: str) -> bool:
        """Return whether a binomial is a species on another list but not on this one."""

    def subspecies(self, label: str) -> tuple[str, Taxon] | None:
        """Return the one subspecies with that name, and its species."""

    def possessives(self, label: str) -> Fitting:
        """Return the species whose common names differ in possessives alone."""

    def abbreviated(self, initial: str, epithet: str) -> Fitting:
        """Return the species with that epithet whose genus begins with a letter."""

    def endings(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the genus whose epithets differ in their endings alone."""

    def genera(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the same family with that epithet, of any ending."""


class NamesInMemory:
    """The same for a list of species; without codes, subspecies and other lists."""

    def __init__(self, checklist: Checklist, taxa: Iterable[Taxon]) -> None:
        """Index the names."""
        self.checklist = checklist
        taxa = list(taxa)
        scientific = [(name, taxon) for taxon in taxa for name in (taxon.scientific_name, *taxon.synonyms)]
        self._possessives = _by_key(
            (without_possessives(name), name, taxon) for taxon in taxa for name in taxon.common_names
        )
        self._stems = _by_key((stem(name), name, taxon) for name, taxon in scientific)
        self._by_initial = _by_key(
            (f"{name[:1]} {name.split()[-1]}", name, taxon) for name, taxon in scientific if name
        )
        self._in_families = _by_key(
            (stem(f"{taxon.lineage.get('family', '')} {name.split()[-1]}"), name, taxon) for name, taxon in scientific
        )

    def with_code(self, code: str) -> Taxon | None:
        """Return None."""
        return None

    def others_called(self, label: str) -> list[Taxon]:
        """Return no species."""
        return []

    def lacks(self, binomial: str) -> bool:
        """Return False."""
        return False

    def subspecies(self, label: str) -> tuple[str, Taxon] | None:
        """Return None."""
        return None

    def possessives(self, label: str) -> Fitting:
        """Return the species whose common names differ in possessives alone."""
        return self._possessives.get(without_possessives(label), {})

    def abbreviated(self, initial: str, epithet: str) -> Fitting:
        """Return the species with that epithet whose genus begins with a letter."""
        return self._by_initial.get(f"{initial} {epithet}", {})

    def endings(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the genus whose epithets differ in their endings alone."""
        return self._stems.get(stem(f"{genus} {epithet}"), {})

    def genera(self, genus: str, epithet: str) -> Fitting:
        """Return the species of the same family with that epithet, of any ending."""
        return self._in_families.get(stem(f"{family_of(self.checklist, genus)} {epithet}"), {})


class BirdNames(NamesInMemory):
    """The same for AviList, with codes, subspecies and the names on other lists."""

    def __init__(self, checklist: AviList) -> None:
        """Index the names."""
        birds = checklist.find("Aves")
        super().__init__(checklist, checklist.species_of(birds) if birds is not None else ())
        self._birds = checklist

    def with_code(self, code: str) -> Taxon | None:
        """Return the species with a code of eBird."""
        return self._birds.with_code(code)

    def others_called(self, label: str) -> list[Taxon]:
        """Return the species with that name on another list."""
        return self._birds.others_called(label)

    def lacks(self, binomial: str) -> bool:
        """Return whether a binomial is a species on another list but not on this one."""
        return self._birds.lacks(binomial)

    def subspecies(self, label: str) -> tuple[str, Taxon] | None:
        """Return the one subspecies with that name, and its species."""
        return self._birds.subspecies(label)


def stem(binomial: str) -> str:
    """Return a binomial without the ending of its epithet."""
    return f"{binomial.split()[0].lower()} {epithet_stem(binomial)}" if binomial.split() else ""


@lru_cache(maxsize=1 << 15)
def without_possessives(name: str) -> str:
    """Return a name folded, without possessives: `Brewer's Blackbird` as `Brewer Blackbird`."""
    return fold(bare_of_possessives(name))


def bare_of_possessives(name: str) -> str:
    """Return the words of a name without possessives."""
    return _POSSESSIVE.sub("", name)


def family_of(checklist: Checklist, genus: str) -> str:
    """Return the family of a genus, or the genus itself if it is not in the checklist."""
    taxon = checklist.find(genus)
    return taxon.lineage.get("family", genus) if taxon is not None and taxon.rank == "genus" else genus


def _by_key(keyed: Iterable[tuple[str, str, Taxon]]) -> dict[str, Fitting]:
    """Return key -> the taxa with a name of that key."""
    found: dict[str, Fitting] = {}
    for key, name, taxon in keyed:
        found.setdefault(key, {}).setdefault(taxon.taxon_id, (name, taxon))
    return found
