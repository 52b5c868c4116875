"""Names of other people's lists and labels, brought to the species of a checklist: binomials are what lists share.

A name is only ever matched by a rule that says why; likeness alone makes a suggestion, never a match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from data.records import Taxon
from kb.taxa import fold

if TYPE_CHECKING:
    from data.contracts import TaxonSource

How = Literal["given", "name", "spelling", "binomial", "subspecies"]
"""By the caller's table, by a name of the checklist, by a name spelt another way, by the binomial inside a longer
label, or by the species of a subspecies."""
Why = Literal["several species", "not a species", "unknown"]

N_SUGGESTED = 3
_NUMBER = re.compile(r"^\d+[._ -]+")  # `001.Black_footed_Albatross`, `03111_Animalia_Chordata_...`
_SEPARATORS = re.compile(r"[_;|]+")
_SEVERAL = re.compile(r"/|\s[x×]\s|\bhybrid\b|\bsp\.?$|\bspp\.?$", re.IGNORECASE)
_BINOMIAL = re.compile(r"\b([A-Z][a-z]+) ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?\b")
_POSSESSIVE = re.compile(r"(?:['’]s|s['’]?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedName:
    """A name and the species that it stands for."""

    name: str
    taxon: Taxon
    how: How


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmatchedName:
    """A name that stands for no one species, why, and names of the checklist that look like it."""

    name: str
    why: Why
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What became of each name, in the order given."""

    matched: tuple[MatchedName, ...] = ()
    unmatched: tuple[UnmatchedName, ...] = ()

    @property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """The names of each species that several of the names stand for, by scientific name."""
        names: dict[str, list[str]] = {}
        for match in self.matched:
            names.setdefault(match.taxon.scientific_name, []).append(match.name)
        return {species: tuple(given) for species, given in names.items() if len(given) > 1}


class Reconciler:
    """Brings names to species; made once for many names.

    Example:
        >>> from kb.taxa import load_checklist
        >>> found = Reconciler(load_checklist()).reconcile(
        ...     ["067.Anna_Hummingbird", "Cyanistes caeruleus_Blue Tit", "Turdus sp."]
        ... )
        >>> [(match.taxon.scientific_name, match.how) for match in found.matched]
        [('Calypte anna', 'spelling'), ('Cyanistes caeruleus', 'binomial')]
        >>> [(name.name, name.why) for name in found.unmatched]
        [('Turdus sp.', 'several species')]
    """

    def __init__(self, checklist: TaxonSource, *, within: Iterable[Taxon] | None = None) -> None:
        """Keep the checklist.

        Args:
            checklist: whose species the names are brought to.
            within: without the possessive, a name may fit two birds of the world and only one of these; by default all.
        """
        self._checklist = checklist
        self._spellings = _spellings(_all_species(checklist) if within is None else within)

    def reconcile(self, names: Sequence[str], *, given: Mapping[str, str] | None = None) -> Reconciled:
        """Return what each name stands for.

        The rules, in order: the table `given`; a name of the checklist (scientific, English, synonym; without case,
        hyphens, apostrophes and accents, `gray` as `grey`); a binomial inside the name; a subspecies' species; the name
        without possessives (`Brewer Blackbird`) where only one species fits.

        Args:
            names: binomials, English names, or class labels of benchmarks with numbers and underscores.
            given: name -> name of the checklist, for those that no rule knows.
        """
        matched: list[MatchedName] = []
        unmatched: list[UnmatchedName] = []
        for name in names:
            result = self._match(name, given or {})
            if isinstance(result, MatchedName):
                matched.append(result)
            else:
                unmatched.append(result)
        return Reconciled(matched=tuple(matched), unmatched=tuple(unmatched))

    def _match(self, name: str, given: Mapping[str, str]) -> MatchedName | UnmatchedName:
        if name in given:
            taxon = self._species(given[name])
            return MatchedName(name=name, taxon=taxon, how="given") if taxon else self._unknown(name, given[name])
        label = _plain(name)
        if _SEVERAL.search(label):
            return UnmatchedName(name=name, why="several species")
        if taxon := self._species(label):
            return MatchedName(name=name, taxon=taxon, how="name")
        for genus, epithet, subspecies in _BINOMIAL.findall(label):
            if taxon := self._species(f"{genus} {epithet}"):
                return MatchedName(name=name, taxon=taxon, how="subspecies" if subspecies else "binomial")
        near = self._spellings.get(_without_possessives(label), ())
        if len(near) == 1:
            return MatchedName(name=name, taxon=near[0], how="spelling")
        if near:
            names = tuple(taxon.scientific_name for taxon in near)
            return UnmatchedName(name=name, why="several species", suggestions=names)
        return self._unknown(name, label)

    def _unknown(self, name: str, label: str) -> UnmatchedName:
        taxon = self._checklist.find(label)
        if taxon is not None:
            species = tuple(found.scientific_name for found in self._checklist.species_of(taxon)[: N_SUGGESTED + 1])
            few = species if len(species) <= N_SUGGESTED else ()
            return UnmatchedName(name=name, why="not a species", suggestions=few)
        return UnmatchedName(name=name, why="unknown", suggestions=tuple(self._checklist.suggest(label, N_SUGGESTED)))

    def _species(self, name: str) -> Taxon | None:
        taxon = self._checklist.find(name)
        return taxon if taxon is not None and taxon.rank == "species" else None


def _all_species(checklist: TaxonSource) -> Iterator[Taxon]:
    everything = checklist.find("Aves")
    return iter(checklist.species_of(everything) if everything else ())


def _spellings(taxa: Iterable[Taxon]) -> dict[str, tuple[Taxon, ...]]:
    """Return English name without possessives -> the species that it may stand for."""
    found: dict[str, dict[str, Taxon]] = {}
    for taxon in taxa:
        for name in taxon.common_names:
            found.setdefault(_without_possessives(name), {}).setdefault(taxon.taxon_id, taxon)
    return {name: tuple(species.values()) for name, species in found.items()}


def _plain(name: str) -> str:
    """Return a label as words: without number and separators, and `Warbler, Wilson's` the other way round."""
    words = _SEPARATORS.sub(" ", _NUMBER.sub("", name.strip()))
    last, comma, first = words.partition(",")
    return " ".join((f"{first} {last}" if comma else words).split())


@lru_cache(maxsize=1 << 15)
def _without_possessives(name: str) -> str:
    return fold(_POSSESSIVE.sub("", name))
