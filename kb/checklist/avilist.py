"""AviList 2025, the checklist of the birds of the world, searched by any name; birds among species.

AviList defines the species and their names; eBird and BirdLife add codes, further English names, and the scientific
names on other lists. `training.names.avilist` makes the index that ships. A subspecies has the names that it has as a
species on other lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from data.records import Taxon
from data.words import singulars
from kb.checklist.names import fold
from kb.checklist.stored.index_file import PREFERRED
from kb.checklist.stored.stored_checklist import StoredChecklist, beginning, begins

CLASS_NAME = "Aves"
AVILIST_NAME = "avilist"
"""Its name among checklists, without the edition, in small letters."""
FILE: Final = Path(__file__).with_name("avilist.sqlite")
OWN_TABLES: Final = """
CREATE TABLE ebird (code TEXT PRIMARY KEY, taxon INT, common TEXT, scientific TEXT) WITHOUT ROWID;
CREATE TABLE elsewhere (folded TEXT, taxon INT);  -- species with that name on another list, which is taken here
CREATE TABLE lacking (folded TEXT PRIMARY KEY) WITHOUT ROWID;  -- names of species of other lists alone
"""
"""Tables beside those of every index; `taxon` is 0 for codes of species that AviList lacks."""


class AviList(StoredChecklist):
    """The checklist AviList 2025 with the further names of eBird and BirdLife."""

    def __init__(self, language: str = "en") -> None:
        super().__init__(FILE)
        self.language = language

    @property
    def group(self) -> str:
        """Birds."""
        return "birds"

    def with_code(self, code: str) -> Taxon | None:
        """Return the species with that code of eBird, as eBird writes it: `norcar`."""
        return next(
            (self._taxon(n) for (n,) in self._rows("SELECT taxon FROM ebird WHERE code = ? AND taxon", code)), None
        )

    def others_called(self, name: str) -> list[Taxon]:
        """Return the species with that name on another list, if the name means another species here, or none."""
        return [self._taxon(n) for (n,) in self._rows("SELECT taxon FROM elsewhere WHERE folded = ?", fold(name))]

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
                ends = self._ending(fold(form)) if is_english else {}
                found = [*best, *sorted(ends.keys() - named, key=lambda each: (ends[each], -table.n_names(each), each))]
            if found:
                return [taxon for each in found if (taxon := self.find(each)) is not None]
        return []

    def _ending(self, wanted: str) -> dict[str, int]:
        """Return the species with an English name of which the last words are these -> which of their names it is."""
        found: dict[str, int] = {}
        for species, text, nth in self._rows(
            f"SELECT taxon.name, text, nth FROM name JOIN taxon ON n = taxon WHERE {begins('reversed')} AND level >= ? "
            "AND rank = 'species' ORDER BY nth",
            *(*beginning(wanted[::-1]), PREFERRED),
        ):
            words = text.replace("-", " ").split()
            if any(fold("".join(words[i:])) == wanted for i in range(1, len(words))):
                found.setdefault(species, nth)
        return found

    def lacks(self, name: str) -> bool:
        """Return whether the name is a species on another list but not on this one."""
        return bool(self._rows("SELECT 1 FROM lacking WHERE folded = ?", fold(name)))

    def _ids(self, key: str) -> dict[str, str]:
        """Return Avibase's and eBird's ids of a taxon."""
        avibase, _, code = key.partition(" ")
        return {name: found for name, found in (("avibase", avibase), ("ebird", code)) if found}


def _names_of_subspecies(trinomial: str) -> set[str]:
    """Return the folded names of a subspecies: the trinomial and, unless nominate, that of a species of other lists."""
    genus, epithet, last = trinomial.split()
    return {fold(trinomial)} if epithet == last else {fold(trinomial), fold(f"{genus} {last}")}


def load_checklist(language: str = "en") -> AviList:
    """Return AviList 2025; the language decides on everyday names.

    Example:
        >>> load_checklist().find("northern cardinal").scientific_name
        'Cardinalis cardinalis'
        >>> [taxon.scientific_name for taxon in load_checklist().species_of(load_checklist().find("Cardinalis"))]
        ['Cardinalis phoeniceus', 'Cardinalis cardinalis', 'Cardinalis sinuatus']
    """
    return _in_language(language)


_in_language = cache(AviList)  # one connection for a language


@cache
def ebird_names() -> dict[str, tuple[str, str]]:
    """Return eBird's code of a species -> its English and scientific name in the newest table of eBird."""
    rows = load_checklist()._rows("SELECT code, common, scientific FROM ebird WHERE common != ''")
    return {code: (common, scientific) for code, common, scientific in rows}


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
