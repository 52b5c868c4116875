"""Taxa of a checklist and their ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    """The preferred English name first."""
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> scientific name, from the class down to the taxon's parent."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Checklist -> identifier, both strings: `avibase`, `ebird`, `gbif`, `col`, `inat`, `wikidata`."""
    synonyms: tuple[str, ...] = ()
    """Other scientific names of the same taxon."""

    @property
    def common_name(self) -> str:
        """The preferred English name, else the scientific name."""
        return self.common_names[0] if self.common_names else self.scientific_name

    @property
    def names(self) -> tuple[str, ...]:
        """All names: scientific, English, synonyms."""
        return (self.scientific_name, *self.common_names, *self.synonyms)


def vocabulary_hash(taxon_ids: Iterable[str]) -> str:
    """Return a hash of a set of species, independent of the order.

    Example:
        >>> vocabulary_hash(["pica-pica", "bubo-bubo"]) == vocabulary_hash(["bubo-bubo", "pica-pica"])
        True
    """
    return sha256_hex("\n".join(sorted(taxon_ids)))


def taxon_id(scientific_name: str) -> str:
    """Return the id of the taxon, its scientific name as a slug.

    Example:
        >>> taxon_id("Cardinalis cardinalis")
        'cardinalis-cardinalis'
    """
    name = scientific_name.lower()
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "-".join(re.findall(r"[^\W_]+", name))
