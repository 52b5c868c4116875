"""Taxa of a checklist and their ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from data.files import sha256_hex

SubjectKind = Literal["taxon", "term", "page"]
"""Kind of a row of the ledger; a page of the web belongs to a species or term."""
Rank = Literal["class", "order", "family", "genus", "species"]
HIGHER_RANKS: Final = ("class", "order", "family", "genus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxon:
    """A taxon as a checklist has it. `taxon_id` is the scientific name as a slug: `cardinalis-cardinalis`."""

    taxon_id: str
    scientific_name: str
    rank: str
    common_names: tuple[str, ...] = ()
    """The preferred name first; English ones, or ones in the language of the knowledge base."""
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> scientific name, from the class down to the taxon's parent."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Checklist -> identifier, both strings: `avibase`, `ebird`, `gbif`, `col`, `inat`, `wikidata`."""
    synonyms: tuple[str, ...] = ()
    """Other scientific names of the same taxon."""
    names_by_language: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Language code -> common names in it, where the checklist or the wiki states the language."""

    @property
    def common_name(self) -> str:
        """The preferred common name, else the scientific name."""
        return self.common_names[0] if self.common_names else self.scientific_name

    @property
    def names(self) -> tuple[str, ...]:
        """Scientific name, common names, synonyms."""
        return (self.scientific_name, *self.common_names, *self.synonyms)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names in every language, each once."""
        foreign = (name for names in self.names_by_language.values() for name in names)
        return tuple(dict.fromkeys((*self.names, *foreign)))

    def in_language(self, language: str) -> Taxon:
        """Return the taxon with its names in a language first; without such names, unchanged."""
        own = self.names_by_language.get(language, ())
        if self.common_names[: len(own)] == own:
            return self
        return replace(self, common_names=tuple(dict.fromkeys((*own, *self.common_names))))

    def with_names(self, names: Mapping[str, Iterable[str]]) -> Taxon:
        """Return the taxon with further common names by language; the names that it has come first."""
        languages = dict.fromkeys((*self.names_by_language, *names))
        joined = {
            each: tuple(dict.fromkeys((*self.names_by_language.get(each, ()), *names.get(each, ()))))
            for each in languages
        }
        return replace(self, names_by_language=joined) if joined != self.names_by_language else self


def vocabulary_hash(taxon_ids: Iterable[str]) -> str:
    """Return a hash of a set of species, independent of the order."""
    return sha256_hex("\n".join(sorted(taxon_ids)))


def taxon_id(scientific_name: str) -> str:
    """Return the id of the taxon, its scientific name as a slug."""
    name = scientific_name.lower()
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "-".join(re.findall(r"[^\W_]+", name))
