"""Matching of names and labels from other lists with the species of a checklist of any group.

Each match follows a named rule; similarity alone gives a suggestion, never a match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from data.contracts import Checklist
from data.records import Taxon
from data.words import singulars
from kb.checklist.avilist import AviList
from kb.checklist.cub_names import CUB_NAMES
from kb.checklist.fitting import Fitting, FittingNames
from kb.checklist.names import BELOW_SPECIES, fold, name_key, parse_name, without_authorship
from kb.checklist.selection import choices

MatchKind = Literal[
    "given",
    "scientific name",
    "English name",
    "synonym",
    "other English name",
    "common name",
    "eBird code",
    "subspecies",
    "everyday name",
]
"""Kind of match: our table `CUB_NAMES`, a name or code of the species in the checklist, a subspecies, or a name in
everyday use or another language or a bander's code. Synonyms and other English names come from eBird and BirdLife."""
Variant = Literal[
    "spelling",
    "possessive",
    "plural",
    "abbreviation",
    "ending",
    "genus",
    "inside",
    "raised",
    "group",
    "bracket left out",
    "third word left out",
]
"""Difference from the checklist's name: hyphens, spaces, apostrophes, accents or `gray` for `grey`; a missing
possessive; a plural; a genus or epithet of one letter; the ending of the epithet; another genus of the family; further
words around it; a subspecies elsewhere that is a species here; a group or several forms of the species; or a bracket or
third word that the checklist does not know."""
Reason = Literal["several species", "hybrid", "genus only", "not a species", "ambiguous", "unknown"]

N_SUGGESTED: Final = 3
N_CHOICES: Final = 8  # of an ambiguous name
LONGEST_NAME: Final = 500  # characters; longer texts are not names, and would take minutes
_NUMBER = re.compile(r"^\d+[._ -]+")  # `001.Black_footed_Albatross`, `03111_Animalia_Chordata_...`
_SEPARATORS = re.compile(r"[_;|]+")
_HYBRID = re.compile(r"\s[x×]\s|\([x×]\s|\bhybrid\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"/|\b(?:spp?|spec|indet)\.?$|\bsp\.\s|(?:^|\s)(?:cf|aff)\.?(?:\s|$)|^un(?:identified|specified)\b", re.IGNORECASE
)
_SEVERAL_IN_BRACKETS = re.compile(r"\((?:gen[.,]* )?spp?\.?\)", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_GENUS_ONLY = re.compile(r"^[A-Z][a-z-]+(?<!idae)(?<!aceae) (?:spp?|spec|indet)\.?$")
_ABBREVIATED = re.compile(r"^([A-Z])\.\s*([a-z][a-z-]+)$")
_SHORT_TRINOMIAL = re.compile(r"\b([A-Z][a-z]*)\.? ([a-z])\. ([a-z][a-z-]{2,})\b")
_LAST_BRACKET = re.compile(r"^(.*\S)\s*[(\[]([^()\[\]]+)[)\]]$")
_OF_FORMS = re.compile(r"\s+(?:[x×]|or)\s+|\s*/\s*", re.IGNORECASE)
_CROSSED = re.compile(r"\s*[(\[](?:hybrid|intergrade)[)\]]", re.IGNORECASE)
_GROUP = re.compile(r"\s+(?:group|type)\b", re.IGNORECASE)
_FORM = re.compile(r"\s(?:f|fo|forma|form|var|varietas|variety|subvar)\.?\s")
_BRACKET_WORDS = re.compile(r"[^\s/,]+")
_AUTHOR = re.compile(r"\d|&|^\S+\.$")
"""In a bracket of an author: `(Linnaeus, 1758)`, `(L.)`. Without it, `(Sabine)` cannot be told from `(American)`."""
_YEAR = re.compile(r"\s*\d{4}\b")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_N_OF_LABEL: Final = 6  # class, order, family, genus, species, common name
_BINOMIAL = re.compile(r"\b([A-Z][a-z]+) ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?\b")
_WORDS_ABOUT_ONE: Final = re.compile(
    r"^(?:\d+|domestic(?:a|us)?|feral|wild|captive|type|an?|the|this|it|is|bird|species|adult|immature|subadult|juvenile|young|chick|fledgling|female|male|hen"
    r"|breeding|nonbreeding|eclipse|summer|winter|dark|light|morph|form|plumage"
    r"|larvae?|caterpillars?|pupae?|chrysalis|nymph|imago|eggs?|tadpoles?|froglet|calf|cub|fawn|seedling"
    r"|worker|queen|upperside|underside|dorsal|ventral|flowers?|flowering|fruits?|fruiting|leaf|leaves)[,:]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedName:
    """A name and its species."""

    name: str = ""
    taxon: Taxon
    kind: MatchKind
    variant: Variant | None = None
    """None if the spelling is that of the checklist, apart from capitals, numbers and underscores."""
    matched_name: str = ""
    """The matching name, code or trinomial of the checklist."""
    elsewhere: tuple[str, ...] = ()
    """Other species, by binomial, with that name on another list, or with another name of the same row."""

    @property
    def is_scientific(self) -> bool:
        """Whether it matches by a scientific name."""
        return self.kind in ("scientific name", "synonym", "subspecies")

    @property
    def is_partial(self) -> bool:
        """Whether a bracket or third word that may mean more was left out."""
        return self.variant in ("bracket left out", "third word left out")

    @property
    def rule(self) -> str:
        """`kind` and `variant` in words: `synonym (inside)`."""
        return self.kind if self.variant is None else f"{self.kind} ({self.variant})"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmatchedName:
    """A name without a single species, the reason, and similar names of the checklist."""

    name: str = ""
    reason: Reason
    suggestions: tuple[str, ...] = ()

    @property
    def is_of_several(self) -> bool:
        """Whether the name is known to stand for no single species."""
        return self.reason in ("several species", "hybrid", "genus only")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Matched and unmatched names, in the order given."""

    results: tuple[MatchedName | UnmatchedName, ...]

    @property
    def matched(self) -> tuple[MatchedName, ...]:
        """The matched names."""
        return tuple(result for result in self.results if isinstance(result, MatchedName))

    @property
    def unmatched(self) -> tuple[UnmatchedName, ...]:
        """The others."""
        return tuple(result for result in self.results if isinstance(result, UnmatchedName))

    @property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """Species with several of the names: scientific name -> the names."""
        names: dict[str, list[str]] = {}
        for match in self.matched:
            names.setdefault(match.taxon.scientific_name, []).append(match.name)
        return {species: tuple(given) for species, given in names.items() if len(given) > 1}


class Reconciler:
    """Matches names with the species of a checklist."""

    def __init__(self, checklist: Checklist) -> None:
        self._checklist = checklist
        self._names = FittingNames(checklist)
        self._birds = self._names.checklist if isinstance(self._names.checklist, AviList) else None

    def reconcile(self, names: Sequence[str]) -> Reconciled:
        """Return the species of each name.

        The rules, in order: for birds, `CUB_NAMES`; a name of the checklist, with any hyphens, apostrophes, accents and
        `gray` for `grey`; a code of eBird; a subspecies, or a species of another list that is a subspecies here; a
        binomial inside the name; the name without brackets and words of age, sex and plumage; an everyday name, one in
        another language, or a bander's code, if it means one species; without possessives
        (`Brewer Blackbird`), with another ending of the epithet, or in another genus of the family, if only one species
        fits.
        """
        return self.reconcile_rows([(name,) for name in names])

    def reconcile_rows(self, rows: Iterable[Sequence[str]], *, most_suggested: int | None = None) -> Reconciled:
        """Return the species of each row of a list with several names per species.

        The first name of a row with a match decides, so binomials belong before English names, and codes after.
        Other species matched by later names are in `elsewhere`. A row is named by its first non-empty name; a row with
        a name for several species (a slash, `sp.`, a hybrid) stays unmatched. Only the first `most_suggested` unmatched
        rows get suggestions, by default all: each takes some 10 ms.
        """
        results: list[MatchedName | UnmatchedName] = []
        n_unknown = 0
        for names in rows:
            result = self.row([name for name in names if name.strip()] or [""])
            if isinstance(result, UnmatchedName) and not result.is_of_several:
                if result.reason != "ambiguous" and (most_suggested is None or n_unknown < most_suggested):
                    result = replace(result, suggestions=self._suggestions(result))
                n_unknown += 1
            results.append(result)
        return Reconciled(results=tuple(results))

    def row(self, names: Sequence[str]) -> MatchedName | UnmatchedName:
        """Return the species of a row, without suggestions."""
        label = names[0]
        if (parts := names_of_label(label)) is not None:
            if " " not in parts[0]:
                return UnmatchedName(name=label, reason="not a species")
            names = [*parts, *names[1:]]
        results = [self._match(name) for name in names]
        for result in results:
            if isinstance(result, UnmatchedName) and result.is_of_several and not result.suggestions:
                return replace(result, name=label)
        matches = [result for result in results if isinstance(result, MatchedName)]
        if not matches:
            return replace(results[0], name=label)
        first_match, *others = matches
        species = first_match.taxon.scientific_name
        elsewhere = [*first_match.elsewhere, *(other.taxon.scientific_name for other in others)]
        return replace(
            first_match,
            name=label,
            elsewhere=tuple(dict.fromkeys(name for name in elsewhere if name != species)),
        )

    def _match(self, name: str) -> MatchedName | UnmatchedName:
        """Match a name by the first rule that fits; its caller names the result."""
        if len(name) > LONGEST_NAME:
            return UnmatchedName(reason="unknown")
        label = plain_label(name)
        bracket = _LAST_BRACKET.match(name.strip())
        names_more = bracket is not None and not (_AUTHOR.search(bracket[2]) or self._is_listed(name))
        return (
            self._given(name)
            or (None if names_more else self._as_given(name.strip()) or self._as_given(label))
            or (self._several(label) if names_several(name, label) else None)
            or (self._bracketed(label) or self._as_given(label) if names_more else None)
            or self._coded(name.strip())
            or self._lumped(label)
            or self._subspecies_of(label)
            or self._inside(label)
            or self._everyday(label)
            or self._altered(label)
        )

    def _is_listed(self, name: str) -> bool:
        """Return whether the checklist has the whole name, with its bracket."""
        found = self._checklist.find(name)
        return found is not None and fold(name) in map(fold, found.all_names)

    def _given(self, name: str) -> MatchedName | None:
        given = CUB_NAMES.get(name, "") if self._birds else ""
        taxon = self._species(given) if given else None
        return MatchedName(taxon=taxon, kind="given", matched_name=given) if taxon else None

    def _as_given(self, label: str) -> MatchedName | UnmatchedName | None:
        """Match a name as it stands, with its authors; several taxa with it, and a hybrid, are answered here too."""
        found = self._checklist.find(label)
        if found is not None and found.rank == "hybrid":
            return UnmatchedName(reason="hybrid")
        if several := self._checklist.homonyms(label) if found is None else ():
            return UnmatchedName(reason="several species", suggestions=tuple(choices(several)))
        return None if found is None else self._named(label) or self._lumped(label)

    def _several(self, label: str) -> MatchedName | UnmatchedName:
        """Match forms of one species, or say that a name is for several."""
        is_genus = _GENUS_ONLY.match(label.strip()) is not None
        reason: Reason = "hybrid" if _HYBRID.search(label) else "genus only" if is_genus else "several species"
        return self._forms_of_one(label) or UnmatchedName(reason=reason)

    def _named(self, label: str) -> MatchedName | None:
        """Match a name of the checklist."""
        taxon = self._species(label)
        if taxon is None:
            return None
        kind, matched = self._matching_name(label, taxon)
        label = label.rpartition(": ")[2]  # after a taxon above
        is_same = matched.casefold() in (label.casefold(), without_authorship(label).casefold())
        others = tuple(other.scientific_name for other in self._birds.others_called(label)) if self._birds else ()
        variant: Variant | None = None if is_same else "spelling"
        return MatchedName(taxon=taxon, kind=kind, variant=variant, matched_name=matched, elsewhere=others)

    def _lumped(self, label: str, variant: Variant | None = None) -> MatchedName | None:
        """Match a subspecies of the checklist."""
        found = self._names.subspecies(label)
        return MatchedName(taxon=found[1], kind="subspecies", variant=variant, matched_name=found[0]) if found else None

    def _coded(self, code: str) -> MatchedName | None:
        taxon = self._birds.with_code(code) if self._birds else None
        return MatchedName(taxon=taxon, kind="eBird code", matched_name=code) if taxon else None

    def _only(self, fitting: Fitting, variant: Variant, kind: MatchKind | None = None) -> MatchedName | None:
        """Match the species that fits, if it is the only one."""
        for matched_name, taxon in fitting.values() if len(fitting) == 1 else ():
            kind = kind or self._matching_name(matched_name, taxon)[0]
            return MatchedName(taxon=taxon, kind=kind, variant=variant, matched_name=matched_name)
        return None

    def _subspecies_of(self, label: str) -> MatchedName | None:
        """Match three words with authors, markers and short epithets: a subspecies, or a species that was one."""
        if short := _SHORT_TRINOMIAL.search(label):
            genus, initial, last = short.groups()
            nominate = self._short_binomial(genus, last) if last.startswith(initial) else {}
            fitting = nominate or self._names.trinomials(genus, initial, last)
            if fitting or len(genus) == 1:
                return self._only(fitting, "abbreviation", "subspecies")
            return self._raised(genus, last)
        words = trinomial_in(label)
        if words is None:
            return None
        genus, epithet, third = words
        if found := self._lumped(" ".join(words), "inside"):
            return found
        species = self._named(f"{genus} {epithet}")
        if species is None:
            return self._raised(genus, third)
        return self._below(species, genus, third, label) if species.is_scientific else None

    def _below(self, species: MatchedName, genus: str, third: str, label: str) -> MatchedName:
        """Match the third word after a species: one of its subspecies, another species, or a word that is left out."""
        taxon = species.taxon
        is_form = not self._birds and _FORM.search(label)  # of plants and insects, named as other species are
        found = self._lumped(f"{taxon.scientific_name} {third}", "genus")
        if found := found or (None if is_form else self._raised(genus, third, taxon)):
            return found
        is_about_one = third in taxon.scientific_name.split() or _WORDS_ABOUT_ONE.match(third)
        return replace(species, variant=(species.variant or "inside") if is_about_one else "third word left out")

    def _short_binomial(self, genus: str, epithet: str) -> Fitting:
        if len(genus) == 1:
            return self._names.abbreviated(genus, epithet)
        taxon = self._species(f"{genus} {epithet}")
        return {} if taxon is None else {taxon.taxon_id: (f"{genus} {epithet} {epithet}", taxon)}

    def _raised(self, genus: str, third: str, base: Taxon | None = None) -> MatchedName | None:
        """Match the species of a genus whose epithet is the third word: *Pica pica hudsonia* is *Pica hudsonia*.

        Animals cannot have a species and a subspecies of another one with the same epithet in one genus, so it is that
        bird. The genus of the species before it, `base`, may be another one here.
        """
        if _WORDS_ABOUT_ONE.match(third):
            return None
        genera = dict.fromkeys((genus, base.scientific_name.split()[0]) if base else (genus,))
        for words in (f"{each} {third}" for each in genera):
            is_elsewhere = self._birds is not None and self._birds.lacks(words)
            found = (self._lumped(words) if is_elsewhere else None) or self._named(words)
            if found and found.is_scientific:
                return None if found.taxon == base else replace(found, variant="raised")
        fitting = (self._only(self._names.endings(each, third), "raised", "scientific name") for each in genera)
        return next((found for found in fitting if found and found.taxon != base), None)

    def _bracketed(self, label: str) -> MatchedName | UnmatchedName | None:
        """Match a name with a group in brackets at its end: `Herring Gull (American)`, `Larus argentatus [a. Group]`.

        A species that the bracket names counts: `American Herring Gull`, `American Goshawk` of the same genus.
        """
        split = _LAST_BRACKET.match(label)
        if split is None:
            return None
        base, inside = split.groups()
        base = " ".join(_IN_BRACKETS.sub("", base).split())
        species = self._form(base)
        if all(map(_says_nothing, _BRACKET_WORDS.findall(inside))) or _BINOMIAL.fullmatch(inside):
            return None  # `_inside` matches it
        is_scientific = species is not None and species.kind in ("scientific name", "synonym")
        forms: list[MatchedName] = []
        for part in (_GROUP.sub("", each) for each in _OF_FORMS.split(inside)):
            alone = self._form(part)
            if alone is None:
                found = self._group(base, species, part)
                forms += [found] if found else [replace(species, variant="bracket left out")] if species else []
            elif species and (is_scientific or _genus(alone) != _genus(species)):
                forms += [species, alone]
            else:
                forms.append(replace(alone, variant="inside"))
        if len(several := dict.fromkeys(form.taxon.scientific_name for form in forms)) > 1:
            return UnmatchedName(reason="several species", suggestions=tuple(several))
        return next((form for form in forms if form.variant == "group"), forms[0]) if forms else None

    def _group(self, base: str, species: MatchedName | None, group: str) -> MatchedName | None:
        """Match a group of a species, if the checklist knows it, or a species that it is here."""
        if group.islower() and " " not in group:
            if species is None:
                return None
            genus, epithet = species.taxon.scientific_name.split()[:2]
            if group == epithet:
                return replace(species, variant="group")
            return self._lumped(f"{genus} {epithet} {group}", "group") or self._raised(genus, group, species.taxon)
        words = base.split()
        for match in (self._form, self._everyday_one):
            for first in range(len(words)):
                found = match(" ".join([group, *words[first:]]))
                if found is None or (first and species is not None and _genus(found) != _genus(species)):
                    continue
                is_new = species is not None and first and found.taxon.taxon_id != species.taxon.taxon_id
                other = (species.taxon.scientific_name,) if species and is_new else ()
                return replace(found, variant="group", elsewhere=other)
        return None

    def _form(self, words: str) -> MatchedName | None:
        """Match a species, or one of its subspecies, by its scientific or common name."""
        return self._named(words) or self._lumped(words)

    def _everyday_one(self, words: str) -> MatchedName | None:
        """Match a name in everyday use that means one species."""
        found = self._everyday(words)
        return found if isinstance(found, MatchedName) else None

    def _forms_of_one(self, label: str) -> MatchedName | None:
        """Match a cross or a choice of forms if all belong to one species: `Brant (Black x Gray-bellied)`."""
        whole = _CROSSED.sub("", label)
        bracket = _LAST_BRACKET.match(whole)
        if bracket and _OF_FORMS.search(bracket[2]):
            found = self._bracketed(whole)
            return replace(found, variant="group") if isinstance(found, MatchedName) else None
        parts = [part.strip() for part in _OF_FORMS.split(whole)]
        forms = [self._form_of_part(part, parts) for part in parts] if len(parts) > 1 and all(parts) else []
        if not forms or None in forms or len({form.taxon.taxon_id for form in forms if form}) > 1:
            return None
        first = forms[0]
        return first and replace(first, variant="inside" if first.kind != "subspecies" else "group")

    def _form_of_part(self, part: str, parts: Sequence[str]) -> MatchedName | None:
        """Match a part of `Branta bernicla bernicla/hrota` or `Carrion x Hooded Crow` with the words that it lacks."""
        first, last = parts[0].split(), parts[-1].split()
        words = part.split()
        tries = [part]
        if part[:1].islower() and len(words) < len(first):
            tries = [" ".join([*first[: len(first) - len(words)], part])]
        elif part != parts[-1]:
            tries += [f"{part} {' '.join(last[i:])}" for i in range(1, len(last))]
        for each in tries:
            if found := self._form(each) or self._subspecies_of(each):
                return found
        return self._everyday_one(part)

    def _inside(self, label: str) -> MatchedName | UnmatchedName | None:
        """Match a binomial among other words, or an English name beside words of age, sex and plumage."""
        for genus, epithet, third in _BINOMIAL.findall(label):
            if third and (found := self._subspecies_of(f"{genus} {epithet} {third}")):
                return replace(found, variant="inside") if found.variant is None else found
            found = self._form(f"{genus} {epithet}")
            if found and found.is_scientific:  # "Ruddy duck" is not a binomial
                return replace(found, variant="inside")
        bare = " ".join(_IN_BRACKETS.sub("", label).split()).strip(' .,:!*"')
        if bare and bare != label and (found := self._form(bare)):
            words = _BRACKET_WORDS.findall(re.sub(r"[()\[\]]", " ", " ".join(_IN_BRACKETS.findall(label))))
            is_told = without_authorship(label) == bare or all(map(_says_nothing, words))  # of a subgenus; of plumage
            return replace(found, variant="inside" if is_told else "bracket left out")
        words_left = [word for word in bare.split() if not _WORDS_ABOUT_ONE.match(word)]
        other_words = " ".join(words_left)
        if other_words and other_words != bare and (found := self._named(other_words)):
            return replace(found, variant="inside")
        return None

    def _everyday(self, label: str) -> MatchedName | UnmatchedName | None:
        """Match a name that people use, if it means one species in the language of the checklist."""
        found = self._checklist.also_called(label)
        if len(found) > 1 and self._checklist.find(label) is not None:
            return None  # "Gulls" are a family
        if len(found) > 1:
            return UnmatchedName(reason="ambiguous", suggestions=tuple(choices(found[:N_CHOICES])))
        return MatchedName(taxon=found[0], kind="everyday name", matched_name=label) if found else None

    def _altered(self, label: str) -> MatchedName | UnmatchedName:
        """Match by possessive, ending or genus, if only one species fits."""
        near = self._names.possessives(label)
        tried: list[tuple[Variant, Fitting]] = [("plural", self._plural(label)), ("possessive", near)]
        if short := _ABBREVIATED.match(label):
            tried.append(("abbreviation", self._names.abbreviated(short[1], short[2])))
            near = near or tried[-1][1]
        for genus, epithet, _ in _BINOMIAL.findall(label):
            if not (self._birds and self._birds.lacks(f"{genus} {epithet}")):
                tried.append(("ending", self._names.endings(genus, epithet)))
                tried.append(("genus", self._names.genera(genus, epithet)))
        if found := next(filter(None, (self._only(fitting, variant) for variant, fitting in tried)), None):
            words = trinomial_in(label) if found.variant in ("ending", "genus") else None
            return self._below(found, words[0], words[2], label) if words else found
        if near:
            names = tuple(taxon.scientific_name for _, taxon in near.values())
            return UnmatchedName(reason="several species", suggestions=names)
        return UnmatchedName(reason="unknown" if self._checklist.find(label) is None else "not a species")

    def _plural(self, label: str) -> Fitting:
        """Return the species with a label in the plural, unless a larger taxon has that name."""
        if self._checklist.find(label) is not None:
            return {}
        found = ((name, self._species(name)) for name in singulars(label)[1:])
        return {
            taxon.taxon_id: (self._matching_name(name, taxon)[1], taxon) for name, taxon in found if taxon is not None
        }

    def _suggestions(self, missed: UnmatchedName) -> tuple[str, ...]:
        if len(missed.name) > LONGEST_NAME:
            return ()
        label = plain_label(missed.name)
        if missed.reason == "unknown":
            return tuple(self._checklist.suggest(label, N_SUGGESTED))
        taxon = self._checklist.find(label)
        if taxon is None or self._checklist.n_species_of(taxon) > N_SUGGESTED:
            return ()
        return tuple(found.scientific_name for found in self._checklist.species_of(taxon))

    def higher_taxon(self, name: str) -> Taxon | None:
        """Return the taxon above species that a name or a label of SpeciesNet means: `Gruidae`, `Gruidae (Cranes)`."""
        parts = names_of_label(name)
        found = self._checklist.find(plain_label(parts[0] if parts else name))
        return found if found is not None and found.rank != "species" and "species" not in found.lineage else None

    def _species(self, name: str) -> Taxon | None:
        taxon = self._checklist.find(name)
        return taxon if taxon is not None and taxon.rank == "species" else None

    def _matching_name(self, label: str, taxon: Taxon) -> tuple[MatchKind, str]:
        """Return the kind and the checklist's spelling of the name that a label matches."""
        label = label.rpartition(": ")[2]
        common: MatchKind = "English name" if self._birds else "common name"
        other: MatchKind = "other English name" if self._birds else "common name"
        named: list[tuple[MatchKind, str]] = [("scientific name", taxon.scientific_name)]
        named += [(common, name) for name in taxon.common_names[:1]]
        named += [("synonym", name) for name in taxon.synonyms]
        named += [(other, name) for name in taxon.common_names[1:]]
        named += [(other, name) for names in taxon.names_by_language.values() for name in names]
        keys = {fold(label), name_key(label), name_key(without_authorship(label))}
        same = [(kind, name) for kind, name in named if not keys.isdisjoint((fold(name), name_key(name)))]
        exact = [(kind, name) for kind, name in same if name.casefold() == label.casefold()]
        return next(iter((*exact, *same)), (other, label))


def names_several(name: str, label: str) -> bool:
    """Return whether a name (and its label as words) is that of a hybrid or of several species: `sp.`, ` x `."""
    is_marked = _HYBRID.search(label) or _SEVERAL_IN_BRACKETS.search(name)
    return bool(is_marked or _SEVERAL.search(_IN_BRACKETS.sub("", label)))


def plain_label(name: str) -> str:
    """Return a label as words, without number and separators, with `Warbler, Wilson's` reordered."""
    words = _SEPARATORS.sub(" ", _NUMBER.sub("", name.strip()))
    last, comma, first = words.partition(",")
    if _YEAR.match(first):
        return " ".join(words.split())
    return " ".join((f"{first} {last}" if comma else words).split())


def trinomial_in(label: str) -> tuple[str, str, str] | None:
    """Return genus, epithet and third word of a name with authors and a marker, or None if it has no three words."""
    words = [word for word in parse_name(label).text.split() if word.rstrip(".") not in BELOW_SPECIES]
    if len(words) != 3 or _BINOMIAL.fullmatch(" ".join(words)) is None:
        return None
    genus, epithet, third = words
    return genus, epithet, third


def _says_nothing(word: str) -> bool:
    """Return whether a word in brackets is about the age, sex or plumage of a bird, or its number or year."""
    return _WORDS_ABOUT_ONE.match(word) is not None or not any(letter.isalpha() for letter in word)


def names_of_label(label: str) -> list[str] | None:
    """Return the names in a label of SpeciesNet: of a species the scientific name first; None for another label.

    Its parts: a UUID, which may be missing, class, order, family, genus, epithet, common name. A label of a higher
    taxon gives that taxon, and one of no taxon the common name, such as `blank`.
    """
    parts = [part.strip() for part in label.split(";")]
    if len(parts) == _N_OF_LABEL + 1 and _UUID.fullmatch(parts[0]):
        parts = parts[1:]
    elif len(parts) != _N_OF_LABEL or label != label.lower():
        return None
    *higher, genus, epithet, common = parts
    if genus and epithet:
        return [f"{genus.capitalize()} {epithet}", *([common] if higher[0] == "aves" else [])]
    return [next((taxon.capitalize() for taxon in (genus, *higher[::-1]) if taxon), common)]


def _genus(match: MatchedName) -> str:
    return match.taxon.scientific_name.split()[0]
