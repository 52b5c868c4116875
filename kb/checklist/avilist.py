"""AviList 2025, the checklist of the birds of the world, searched by any name; birds among species.

The tables are the CSV files of the package `birdnames`, which is not imported. AviList defines the species and their
names; eBird and BirdLife add codes, further English names, and the scientific names on other lists. Subspecies are not
taxa here; their names only help to find species that other lists have split (`subspecies`).
"""

from __future__ import annotations

import csv
import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from data.contracts import Checklist
from data.errors import MissingRequirement
from data.files import sha256_hex
from data.lexicon.words import english_groups
from data.records import HIGHER_RANKS, Taxon, taxon_id
from data.words import singulars
from kb.checklist.names import epithet_stem, fold, near_names

CLASS_NAME = "Aves"
RANKS = (*HIGHER_RANKS, "species")
AVILIST = "avilist_2025"
AVILIST_NAME = "avilist"
"""Its name among checklists, without the edition, in small letters."""
# Newest first: if two tables assign a name to different species, the newer one counts.
OTHER_TABLES = ("ebird_2024", "birdlife_2024", "ebird_2023", "ebird_2022", "ebird_2021")


@dataclass(slots=True)
class _Entry:
    """A taxon in the tables; its `Taxon` record is made on request."""

    scientific_name: str
    rank: str
    parents: tuple[str, ...]  # scientific names from the class down
    common_names: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    synonyms: list[str] = field(default_factory=list)
    species: list[_Entry] = field(default_factory=list)


class AviList(Checklist):
    """The checklist AviList 2025 with the further names of eBird and BirdLife."""

    def __init__(self, folder: Path) -> None:
        self.language = "en"
        self._by_name: dict[str, _Entry] = {}
        self._spellings: dict[str, str] = {}  # folded -> as written
        self._folder = folder
        self._by_code: dict[str, _Entry] = {}
        self._other_meanings: dict[str, list[_Entry]] = {}  # folded -> species with that name on another list
        self._unlisted: dict[str, str] = {}  # folded name or code -> binomial of a species that AviList lacks
        self._class = _Entry(CLASS_NAME, "class", (), ["Birds"])
        self._species = list(self._read_avilist(folder))
        self._class.species = self._species
        self._add_other_tables(folder)

    @property
    def name(self) -> str:
        """Name and edition."""
        return "AviList 2025"

    @property
    def digest(self) -> str:
        """SHA-256 of the tables."""
        tables = (self._folder / f"{table}_taxonomy.csv" for table in (AVILIST, *OTHER_TABLES))
        return sha256_hex("\n".join(sha256_hex(table.read_bytes()) for table in tables if table.is_file()))

    @property
    def group(self) -> str:
        """Birds."""
        return "birds"

    def top_taxa(self) -> list[Taxon]:
        """Return the class of birds."""
        return [_taxon(self._class)]

    def find(self, name: str) -> Taxon | None:
        """Return the taxon of any rank with that scientific or common name, or None."""
        entry = self._by_name.get(fold(name))
        return _taxon(entry) if entry else None

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return the species below a taxon in AviList's order; a species gives itself, a foreign taxon nothing."""
        entry = self._by_name.get(fold(taxon.scientific_name))
        if entry is None:
            return []
        return [_taxon(species) for species in (entry.species if entry.rank != "species" else [entry])]

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return up to `n` names of the checklist that look like `name`, nearest first, at most one per taxon."""
        wanted = fold(name)
        if not wanted or n <= 0:
            return []
        nearest: dict[str, str] = {}
        for folded in near_names(wanted, self._by_name):
            nearest.setdefault(self._by_name[folded].scientific_name, self._spellings[folded])
        return list(nearest.values())[:n]

    def with_code(self, code: str) -> Taxon | None:
        """Return the species with that code of eBird, as eBird writes it: `norcar`."""
        entry = self._by_code.get(code)
        return _taxon(entry) if entry else None

    def others_called(self, name: str) -> list[Taxon]:
        """Return the species with that name on another list, if the name means another species here, or none."""
        return [_taxon(entry) for entry in self._other_meanings.get(fold(name), ())]

    def also_called(self, name: str) -> list[Taxon]:
        """Return the species with a name, or its singular, in everyday use, another language or banders' codes.

        Names in the language of this checklist decide. Else the species whose English names end with it follow ("Robin"
        of either continent, then other robins), unless it is a word of another language; the best known first.
        """
        from kb.checklist.bird_names import load_bird_names, speaks  # 20 ms, for few names

        table = load_bird_names()
        for form in (name, *singulars(name.lower())[1:]):
            named = table.called(form)
            best = sorted(named, key=table.n_names, reverse=True)
            found = [each for each in best if any(speaks(self.language, language) for language in named[each])]
            if not found:
                languages = set().union(*named.values())
                is_english = not named or any(language.startswith("en-") for language in languages)
                ends = self._by_end.get(fold(form), {}) if is_english else {}
                found = [*best, *sorted(ends.keys() - named, key=lambda each: (ends[each], -table.n_names(each), each))]
            if found:
                return [_taxon(self._by_name[fold(each)]) for each in found]
        return []

    @cached_property
    def _by_end(self) -> dict[str, dict[str, int]]:
        """Last words of English names, folded -> the species with such a name, and which of their names it is."""
        found: dict[str, dict[str, int]] = {}
        for entry in self._species:
            for nth, common in enumerate(entry.common_names):
                words = common.replace("-", " ").split()
                for i in range(1, len(words)):
                    found.setdefault(fold("".join(words[i:])), {}).setdefault(entry.scientific_name, nth)
        return found

    def lacks(self, name: str) -> bool:
        """Return whether the name is a species on another list but not on this one."""
        return fold(name) in self._unlisted

    def subspecies(self, name: str) -> tuple[str, Taxon] | None:
        """Return the one subspecies with that name, as trinomial, with its species, or None.

        The name is a trinomial, or the binomial or English name of a species in another list that is a subspecies here.
        """
        found = self._subspecies.get(fold(self._unlisted.get(fold(name), name)), set())
        if len(found) != 1:
            return None
        (trinomial,) = found
        entry = self._by_name.get(fold(" ".join(trinomial.split()[:2])))
        return (trinomial, _taxon(entry)) if entry else None

    def trinomials(self, last: str) -> list[tuple[str, Taxon]]:
        """Return the subspecies with that last word, as trinomials, with their species."""
        return [found for name in self._by_last.get(last, ()) if (found := self.subspecies(name))]

    @cached_property
    def _subspecies(self) -> dict[str, set[str]]:
        """Folded name -> trinomials."""
        return subspecies_by_name(_rows(self._folder, AVILIST))

    @cached_property
    def _by_last(self) -> dict[str, list[str]]:
        """Last word -> trinomials."""
        found: dict[str, list[str]] = {}
        for name in sorted({name for names in self._subspecies.values() for name in names}):
            found.setdefault(name.split()[-1], []).append(name)
        return found

    def _claim(self, entry: _Entry, name: str) -> bool:
        """Register `name` for `entry` unless it is taken, and return whether it now belongs to `entry`."""
        folded = fold(name)
        holder = self._by_name.setdefault(folded, entry)
        if holder is entry:
            self._spellings.setdefault(folded, name)
        elif entry.rank == "species" == holder.rank and entry not in self._other_meanings.setdefault(folded, []):
            self._other_meanings[folded].append(entry)
        return holder is entry

    def _read_avilist(self, folder: Path) -> Iterator[_Entry]:
        for name in (CLASS_NAME, "Birds", "Bird"):
            self._claim(self._class, name)
        above: dict[str, _Entry] = {}
        species: list[_Entry] = []
        for row in _rows(folder, AVILIST):
            scientific, common, rank, order, family, _, avibase, genus = row[:8]
            if rank not in RANKS:
                continue
            lineage = (CLASS_NAME, order, family, genus)[: RANKS.index(rank)]
            entry = _Entry(scientific, rank, lineage)
            self._claim(entry, scientific)
            if rank != "species":
                above[scientific] = entry
                continue
            entry.ids["avibase"] = avibase
            if common:
                entry.common_names.append(common)
            for parent in lineage[1:]:
                above[parent].species.append(entry)
            species.append(entry)
        # English names after scientific ones, and species before groups, so that better claims come first.
        for entry in species:
            for common in entry.common_names:
                if not self._claim(entry, common) and self._by_name[fold(common)].species == [entry]:
                    self._by_name[fold(common)] = entry  # "Jabiru" is the bird, not its genus
        for scientific, names in english_groups().items():
            if scientific in above:
                above[scientific].common_names.extend(name for name in names if self._claim(above[scientific], name))
        return iter(species)

    def _add_other_tables(self, folder: Path) -> None:
        own = {entry.scientific_name: entry for entry in self._species}
        by_common = {fold(entry.common_names[0]): entry for entry in self._species if entry.common_names}
        for table in OTHER_TABLES:
            unmatched: list[tuple[str, str, str, str]] = []
            listed: set[str] = set()
            for row in _rows(folder, table):
                scientific, common = row[0], row[1]
                code, family = (row[2], row[4]) if table.startswith("ebird") else ("", row[3])
                entry = own.get(scientific)
                if entry is None:
                    unmatched.append((scientific, common, code, family))
                    continue
                listed.add(scientific)
                self._add_names(entry, common, code)
            # A table with both names means two species: only species that it lacks get a synonym from it.
            unlisted = [entry for entry in self._species if entry.scientific_name not in listed]
            by_stem: dict[tuple[str, str], list[_Entry]] = {}
            for entry in unlisted:
                by_stem.setdefault(_stem_key(entry.parents[2], entry.scientific_name), []).append(entry)
            stems = Counter(_stem_key(family, scientific) for scientific, _, _, family in unmatched)
            for scientific, common, code, family in unmatched:
                key = _stem_key(family, scientific)
                found = self._by_code.get(code) or by_common.get(fold(common))
                if found is None and stems[key] == len(by_stem.get(key, ())) == 1:
                    (found,) = by_stem[key]
                if found is None or found.scientific_name in listed or not self._claim(found, scientific):
                    for name in filter(None, (scientific, common, code)):
                        self._unlisted.setdefault(fold(name), scientific)
                    continue
                if scientific not in found.synonyms:
                    found.synonyms.append(scientific)
                self._add_names(found, common, code)

    def _add_names(self, entry: _Entry, common: str, code: str) -> None:
        if code and self._by_code.setdefault(code, entry) is entry:
            entry.ids.setdefault("ebird", code)
        if not common or common in entry.common_names or not self._claim(entry, common):
            return
        if all(fold(common) != fold(name) for name in entry.common_names):
            entry.common_names.append(common)


def load_checklist(language: str = "en") -> AviList:
    """Return AviList 2025, read from the tables of the package `birdnames`; the language decides on everyday names.

    Example:
        >>> load_checklist().find("northern cardinal").scientific_name
        'Cardinalis cardinalis'
        >>> [taxon.scientific_name for taxon in load_checklist().species_of(load_checklist().find("Cardinalis"))]
        ['Cardinalis phoeniceus', 'Cardinalis cardinalis', 'Cardinalis sinuatus']

    Raises:
        MissingRequirement: if the tables are not there.
    """
    return _in_language(language)


@cache
def _in_language(language: str) -> AviList:
    made = AviList(tables_folder()) if language == "en" else copy(_in_language("en"))
    made.language = language
    return made


def tables_folder() -> Path:
    """Return the folder of the tables of the package `birdnames`.

    Raises:
        MissingRequirement: if they are not there.
    """
    spec = importlib.util.find_spec("birdnames")  # does not import it: that would load spreadsheet readers
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location) / "data" / "processed"
        if (folder / f"{AVILIST}_taxonomy.csv").is_file():
            return folder
    raise MissingRequirement("The checklist AviList 2025 is not installed", hint="pip install 'birdnames>=0.1.3'")


@cache
def ebird_names() -> dict[str, tuple[str, str]]:
    """Return eBird's code of a species -> its English and scientific name in the newest table of eBird."""
    newest = next(table for table in OTHER_TABLES if table.startswith("ebird"))
    return {code: (common, scientific) for scientific, common, code, *_ in _rows(tables_folder(), newest)}


def _rows(folder: Path, table: str) -> Iterator[list[str]]:
    path = folder / f"{table}_taxonomy.csv"
    if not path.is_file():
        return
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        next(rows, None)
        yield from rows


def subspecies_by_name(rows: Iterable[list[str]]) -> dict[str, set[str]]:
    """Return folded name -> trinomials, of AviList's rows (scientific name first, rank third).

    A subspecies goes by its trinomial and, unless nominate, by the binomial that it has as a species on other lists.
    """
    found: dict[str, set[str]] = {}
    for row in rows:
        words = row[0].split()
        if row[2] == "subspecies" and len(words) == 3:
            genus, epithet, last = words
            for name in [row[0]] if epithet == last else [row[0], f"{genus} {last}"]:
                found.setdefault(fold(name), set()).add(row[0])
    return found


def _taxon(entry: _Entry) -> Taxon:
    return Taxon(
        taxon_id=taxon_id(entry.scientific_name),
        scientific_name=entry.scientific_name,
        rank=entry.rank,
        common_names=tuple(entry.common_names),
        lineage=dict(zip(RANKS, entry.parents, strict=False)),
        ids=dict(entry.ids),
        synonyms=tuple(entry.synonyms),
    )


def _stem_key(family: str, scientific_name: str) -> tuple[str, str]:
    return family, epithet_stem(scientific_name)


BIRDS: Final = "starter"
"""Profile of knowledge bases of birds (`recognize.settings.BIRD_PROFILE`)."""
ANY_GROUP: Final = "general"
"""Profile of others (`recognize.settings.GENERAL_PROFILE`)."""


def profile_for(taxa: Iterable[Taxon]) -> str:
    """Return the profile of the small models for some species: `starter` if all are birds, else `general`."""
    return BIRDS if all(map(is_bird, taxa)) else ANY_GROUP


def is_bird(taxon: Taxon) -> bool:
    """Return whether a taxon is a bird: by its class; without one, if AviList has its name, family or order.

    A genus alone decides nothing: birds share some with plants, as Prunella.
    """
    above = taxon.lineage
    if given := above.get("class"):
        return given == CLASS_NAME
    if "kingdom" in above and above["kingdom"] != "Animalia":
        return False
    names = (taxon.scientific_name, above.get("family"), above.get("order"))
    return any(load_checklist().find(name) is not None for name in names if name)
