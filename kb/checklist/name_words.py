"""Words and abbreviations in scientific names that are neither genus nor epithet."""

from __future__ import annotations

from typing import Final

BELOW_SPECIES: Final = {
    **dict.fromkeys(("subsp", "ssp", "nothosubsp", "subspecies", "morph", "ab", "race", "natio"), "subspecies"),
    **dict.fromkeys(("var", "subvar", "nothovar", "convar", "varietas", "variety"), "variety"),
    **dict.fromkeys(("f", "fo", "forma", "form", "subf"), "form"),
}
"""Marker before an epithet below the species -> rank."""
BELOW_GENUS: Final = {
    **dict.fromkeys(("sect", "subsect", "section", "subsection"), "section"),
    **dict.fromkeys(("subg", "subgen", "subgenus"), "subgenus"),
    **dict.fromkeys(("ser", "subser", "series"), "series"),
}
"""Marker before a name between genus and species -> rank."""
MARKERS: Final = frozenset({*BELOW_SPECIES, *BELOW_GENUS, "kl", "nothosp", "cv"})
SKIPPED: Final = frozenset({"kl", "klepton", "nothosp", "nothospecies"})
"""Words that say how a species arose; the epithet follows."""
UNSURE: Final = frozenset({"cf", "aff", "nr", "indet"})
"""Likeness or doubt: the name is not that of the organism."""
UNNAMED: Final = frozenset({"sp", "spp"})
"""In place of an epithet; after one, as in "sp. nov.", a note."""
SEVERAL: Final = frozenset({"agg", "aggr", "aggregate", "complex", "coll", "group", "superspecies"})
"""After a binomial: the species with its nearest relatives."""
VIRUSES: Final = frozenset({"virus", "phage", "viroid"})
_NOTES: Final = frozenset(
    {"gen", "ined", "lat", "ms", "n", "nov", "pro", "s", "sic", "sl", "species", "ss", "str", "strain", "uncultured"}
)
# Words of authorships that begin with a small letter: "Aus bus de Vries", "Aus bus auct. non L.".
_OF_AUTHORS: Final = frozenset(
    {
        *("af", "al", "and", "apud", "auct", "d", "da", "das", "de", "del", "della", "den", "der", "des", "di", "do"),
        *("dos", "du", "e", "emend", "et", "ex", "fide", "in", "la", "le", "nec", "nom", "nomen", "non", "of", "sensu"),
        *("ten", "ter", "van", "vel", "vom", "von", "y", "zu", "zum", "zur"),
    }
)
NO_EPITHETS: Final = frozenset(
    {*BELOW_SPECIES, *BELOW_GENUS, *SKIPPED, *UNSURE, *UNNAMED, *SEVERAL, *VIRUSES, *_NOTES, *_OF_AUTHORS}
)
LADDER: Final = (
    *("kingdom", "phylum", "class", "order", "superfamily", "family", "subfamily", "tribe", "subtribe"),
    *("genus", "subgenus"),
)
"""Ranks that files give in columns, the highest first."""
