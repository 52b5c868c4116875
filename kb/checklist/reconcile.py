"""Names of other people's lists and labels, brought to the species of a checklist: binomials are what lists share.

A name is only ever matched by a rule that says why; likeness alone makes a suggestion, never a match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final, Literal, Protocol

from data.contracts import TaxonSource
from data.records import Taxon
from kb.checklist.avilist import epithet_stem, fold, load_checklist

How = Literal["given", "scientific name", "English name", "synonym", "other English name", "eBird code", "subspecies"]
"""By the caller's table; by which of the names that the checklist knows of the species; or by one of its subspecies'.
Synonyms and other English names are those of eBird and BirdLife."""
Variant = Literal["spelling", "possessive", "ending", "genus", "inside"]
"""How the name differs from that one: in hyphens, blanks, apostrophes, accents or `gray` for `grey`; by a missing
possessive; by the ending of the epithet; by the genus, in one family; or it stands among other words."""
Why = Literal["several species", "not a species", "unknown"]

N_SUGGESTED: Final = 3
LONGEST_NAME: Final = 500  # characters; what is longer is no name, and the rules would take minutes to say so
_NUMBER = re.compile(r"^\d+[._ -]+")  # `001.Black_footed_Albatross`, `03111_Animalia_Chordata_...`
_SEPARATORS = re.compile(r"[_;|]+")
_HYBRID = re.compile(r"\s[x×]\s|\([x×]\s|\bhybrid\b", re.IGNORECASE)
_SEVERAL = re.compile(r"/|\bsp\.?$|\bspp\.?$|\bsp\.\s|^un(?:identified|specified)\b", re.IGNORECASE)
_SEVERAL_IN_BRACKETS = re.compile(r"\((?:gen[.,]* )?spp?\.?\)", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_BINOMIAL = re.compile(r"\b([A-Z][a-z]+) ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?\b")
_POSSESSIVE = re.compile(r"(?:['’]s|s['’]?)\b", re.IGNORECASE)
_WORDS_ABOUT_ONE_BIRD: Final = re.compile(
    r"^(?:an?|the|this|it|is|bird|species|adult|immature|subadult|juvenile|young|chick|fledgling|female|male|hen"
    r"|breeding|nonbreeding|eclipse|summer|winter|dark|light|morph|form|plumage)[,:]?$",
    re.IGNORECASE,
)


_Fitting = dict[str, tuple[str, Taxon]]
"""Taxon id -> the name that fits, and its taxon."""


class NameSource(TaxonSource, Protocol):
    """A checklist that also knows codes, subspecies, and what other lists mean by a name; `AviList` is one."""

    def with_code(self, code: str) -> Taxon | None:
        """Return the species with that code."""

    def others_called(self, name: str) -> list[Taxon]:
        """Return the species that another list calls so, although the name leads to another one, or to none."""

    def lacks(self, name: str) -> bool:
        """Return whether another list has a species of that name which is no species here."""

    def subspecies(self, name: str) -> tuple[str, Taxon] | None:
        """Return the one subspecies that the name stands for, as trinomial, with its species."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedName:
    """A name and the species that it stands for."""

    name: str
    taxon: Taxon
    how: How
    variant: Variant | None = None
    """None where the name is written as the checklist has it, but for capitals, numbers and underscores."""
    met: str = ""
    """The name, code or trinomial of the checklist that it met."""
    elsewhere: tuple[str, ...] = ()
    """Other species, by binomial, that another list calls so, or that another name of the same row stands for."""

    @property
    def rule(self) -> str:
        """`how` and `variant` in words: `synonym (inside)`."""
        return self.how if self.variant is None else f"{self.how} ({self.variant})"


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
        >>> found = load_reconciler().reconcile(
        ...     ["067.Anna_Hummingbird", "Accipiter badius_Shikra", "Gray Heron", "Turdus sp."]
        ... )
        >>> [match.taxon.scientific_name for match in found.matched]
        ['Calypte anna', 'Tachyspiza badia', 'Ardea cinerea']
        >>> [(match.rule, match.met) for match in found.matched[:2]]
        [('English name (possessive)', "Anna's Hummingbird"), ('synonym (inside)', 'Accipiter badius')]
        >>> [(name.name, name.why) for name in found.unmatched]
        [('Turdus sp.', 'several species')]
    """

    def __init__(self, checklist: NameSource, *, within: Iterable[Taxon] | None = None) -> None:
        """Keep the checklist.

        Args:
            checklist: whose species the names are brought to.
            within: without the possessive, or with another ending or genus, a name may fit two birds of the world and
                only one of these; by default all.
        """
        self._checklist = checklist
        taxa = list(_all_species(checklist) if within is None else within)
        self._without_possessives = _by_key(
            (_without_possessives(name), name, taxon) for taxon in taxa for name in taxon.common_names
        )
        self._stems = _by_key(
            (_stem(name), name, taxon) for taxon in taxa for name in (taxon.scientific_name, *taxon.synonyms)
        )
        self._in_families = _by_key(
            (_stem(f"{taxon.lineage.get('family', '')} {name.split()[-1]}"), name, taxon)
            for taxon in taxa
            for name in (taxon.scientific_name, *taxon.synonyms)
        )

    def reconcile(self, names: Sequence[str], *, given: Mapping[str, str] | None = None) -> Reconciled:
        """Return what each name stands for.

        The rules, in order: the table `given`; a name of the checklist, with any hyphens, apostrophes, accents and
        `gray` for `grey`; a code of eBird; a subspecies, or a species elsewhere that is one here; a binomial inside the
        name; the name without brackets and words of age, sex and plumage; without possessives (`Brewer Blackbird`),
        with another ending of the epithet, or in another genus of the family, where only one species fits.

        Args:
            names: binomials, English names, or class labels of benchmarks with numbers and underscores.
            given: name -> name of the checklist, for those that no rule knows.
        """
        return self.reconcile_rows([(name,) for name in names], given=given)

    def reconcile_rows(
        self,
        rows: Iterable[Sequence[str]],
        *,
        given: Mapping[str, str] | None = None,
        most_suggested: int | None = None,
    ) -> Reconciled:
        """Return what each row of a list stands for, where a row gives several names of a species.

        The first name of a row that any rule knows decides, so binomials belong before English names, and codes after.
        Where a later one stands for another species, `elsewhere` says so. A row goes by its first name that is not
        empty; one with a name that says it is several species (a slash, `sp.`, a hybrid) is left open.
        Only the first `most_suggested` that fit none get suggestions, by default all: each takes some 10 ms.
        """
        matched: list[MatchedName] = []
        unmatched: list[UnmatchedName] = []
        n_unknown = 0
        for row in rows:
            is_helped = most_suggested is None or n_unknown < most_suggested
            result = self._row([name for name in row if name.strip()] or [""], given or {}, is_helped=is_helped)
            if isinstance(result, MatchedName):
                matched.append(result)
            else:
                unmatched.append(result)
                n_unknown += result.why != "several species"
        return Reconciled(matched=tuple(matched), unmatched=tuple(unmatched))

    def _row(self, names: Sequence[str], given: Mapping[str, str], *, is_helped: bool) -> MatchedName | UnmatchedName:
        results = [self._match(name, given) for name in names]
        for result in results:
            if isinstance(result, UnmatchedName) and result.why == "several species" and not result.suggestions:
                return replace(result, name=names[0])
        matches = [result for result in results if isinstance(result, MatchedName)]
        if not matches:
            first = results[0]
            assert isinstance(first, UnmatchedName)
            return (
                first
                if first.suggestions or not is_helped
                else replace(first, suggestions=self._suggestions(names, first))
            )
        first_match, *others = matches
        species = first_match.taxon.scientific_name
        elsewhere = [*first_match.elsewhere, *(other.taxon.scientific_name for other in others)]
        return replace(
            first_match,
            name=names[0],
            elsewhere=tuple(dict.fromkeys(name for name in elsewhere if name != species)),
        )

    def _match(self, name: str, given: Mapping[str, str]) -> MatchedName | UnmatchedName:
        if name in given:
            taxon = self._species(given[name])
            if taxon is not None:
                return MatchedName(name=name, taxon=taxon, how="given", met=given[name])
            return UnmatchedName(name=name, why="unknown")
        if len(name) > LONGEST_NAME:
            return UnmatchedName(name=name, why="unknown")
        label = _plain(name)
        is_several = _HYBRID.search(label) or _SEVERAL_IN_BRACKETS.search(name)
        if is_several or _SEVERAL.search(_IN_BRACKETS.sub("", label)):
            if one := self._named_twice(name, label):
                return one
            return UnmatchedName(name=name, why="several species")
        found = self._named(name, label) or self._coded(name) or self._lumped(name, label)
        return found or self._inside(name, label) or self._altered(name, label)

    def _named(self, name: str, label: str) -> MatchedName | None:
        """Match a label that is a name of the checklist."""
        taxon = self._species(label)
        if taxon is None:
            return None
        how, met = _name_met(label, taxon)
        variant: Variant | None = None if met.casefold() == label.casefold() else "spelling"
        others = tuple(other.scientific_name for other in self._checklist.others_called(label))
        return MatchedName(name=name, taxon=taxon, how=how, variant=variant, met=met, elsewhere=others)

    def _named_twice(self, name: str, label: str) -> MatchedName | None:
        """Match a label that gives one species two names with a slash between them: `Mallard / Anas platyrhynchos`."""
        found = [self._named(name, part.strip()) for part in label.split("/")]
        species = {match.taxon.taxon_id if match else None for match in found}
        first = found[0]
        return replace(first, variant="inside") if first and len(found) > 1 and len(species) == 1 else None

    def _lumped(self, name: str, label: str) -> MatchedName | None:
        """Match a label that is a subspecies of the checklist, perhaps a species elsewhere."""
        found = self._checklist.subspecies(label)
        return MatchedName(name=name, taxon=found[1], how="subspecies", met=found[0]) if found else None

    def _coded(self, name: str) -> MatchedName | None:
        taxon = self._checklist.with_code(name.strip())
        return MatchedName(name=name, taxon=taxon, how="eBird code", met=name.strip()) if taxon else None

    def _inside(self, name: str, label: str) -> MatchedName | None:
        """Match a label that holds a binomial, or an English name beside words that say no species."""
        for genus, epithet, third in _BINOMIAL.findall(label):
            for words in (f"{genus} {epithet} {third}".strip(), f"{genus} {epithet}"):
                found = self._named(name, words) or self._lumped(name, words)
                if found and found.how in ("scientific name", "synonym", "subspecies"):  # "Ruddy duck" is no binomial
                    return replace(found, variant="inside")
        bare = " ".join(_IN_BRACKETS.sub("", label).split()).strip(' .,:!*"')
        if bare and bare != label and (found := self._named(name, bare) or self._lumped(name, bare)):
            return replace(found, variant="inside")
        words_left = [word for word in bare.split() if not _WORDS_ABOUT_ONE_BIRD.match(word)]
        kept = " ".join(words_left)
        if kept and kept != bare and (found := self._named(name, kept)):
            return replace(found, variant="inside")
        return None

    def _altered(self, name: str, label: str) -> MatchedName | UnmatchedName:
        """Match a label without possessives, with another ending or in another genus, where that fits one species."""
        near = self._without_possessives.get(_without_possessives(label), {})
        tried: list[tuple[Variant, _Fitting]] = [("possessive", near)]
        for genus, epithet, _ in _BINOMIAL.findall(label):
            if self._checklist.lacks(f"{genus} {epithet}"):
                continue
            tried += [("ending", self._stems.get(_stem(f"{genus} {epithet}"), {}))]
            tried += [("genus", self._in_families.get(_stem(f"{self._family(genus)} {epithet}"), {}))]
        for variant, fitting in tried:
            if len(fitting) == 1:
                ((met, taxon),) = fitting.values()
                return MatchedName(name=name, taxon=taxon, how=_name_met(met, taxon)[0], variant=variant, met=met)
        if near:
            names = tuple(taxon.scientific_name for _, taxon in near.values())
            return UnmatchedName(name=name, why="several species", suggestions=names)
        if self._checklist.find(label) is not None:
            return UnmatchedName(name=name, why="not a species")
        return UnmatchedName(name=name, why="unknown")

    def _suggestions(self, names: Sequence[str], missed: UnmatchedName) -> tuple[str, ...]:
        if len(names[0]) > LONGEST_NAME:
            return ()
        label = _plain(names[0])
        if missed.why == "not a species":
            taxon = self._checklist.find(label)
            species = self._checklist.species_of(taxon) if taxon is not None else []
            return tuple(found.scientific_name for found in species) if len(species) <= N_SUGGESTED else ()
        return tuple(self._checklist.suggest(label, N_SUGGESTED))

    def _family(self, genus: str) -> str:
        """Return the family of a genus, and the genus itself, which is no family, where the checklist has none."""
        taxon = self._checklist.find(genus)
        return taxon.lineage.get("family", genus) if taxon is not None and taxon.rank == "genus" else genus

    def _species(self, name: str) -> Taxon | None:
        taxon = self._checklist.find(name)
        return taxon if taxon is not None and taxon.rank == "species" else None


@cache
def load_reconciler() -> Reconciler:
    """Return what brings names to the species of AviList 2025.

    Raises:
        MissingRequirement: if its tables are not there.
    """
    return Reconciler(load_checklist())


def _all_species(checklist: TaxonSource) -> Iterator[Taxon]:
    everything = checklist.find("Aves")
    return iter(checklist.species_of(everything) if everything else ())


def _name_met(label: str, taxon: Taxon) -> tuple[How, str]:
    """Return which of a species' names a label is, as the checklist writes it, with the kind of name."""
    named: list[tuple[How, str]] = [("scientific name", taxon.scientific_name)]
    named += [("English name", name) for name in taxon.common_names[:1]]
    named += [("synonym", name) for name in taxon.synonyms]
    named += [("other English name", name) for name in taxon.common_names[1:]]
    same = [(how, name) for how, name in named if fold(name) == fold(label)]
    exact = [(how, name) for how, name in same if name.casefold() == label.casefold()]
    return next(iter((*exact, *same)), ("other English name", label))


def _by_key(keyed: Iterable[tuple[str, str, Taxon]]) -> dict[str, _Fitting]:
    """Return key -> the taxa with a name that has the key."""
    found: dict[str, _Fitting] = {}
    for key, name, taxon in keyed:
        found.setdefault(key, {}).setdefault(taxon.taxon_id, (name, taxon))
    return found


def _plain(name: str) -> str:
    """Return a label as words: without number and separators, and `Warbler, Wilson's` the other way round."""
    words = _SEPARATORS.sub(" ", _NUMBER.sub("", name.strip()))
    last, comma, first = words.partition(",")
    return " ".join((f"{first} {last}" if comma else words).split())


def _stem(binomial: str) -> str:
    """Return a binomial without the ending of its epithet."""
    return f"{binomial.split()[0].lower()} {epithet_stem(binomial)}" if binomial.split() else ""


@lru_cache(maxsize=1 << 15)
def _without_possessives(name: str) -> str:
    return fold(_POSSESSIVE.sub("", name))
