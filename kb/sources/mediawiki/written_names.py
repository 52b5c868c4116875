"""Scientific names as pages write them, with shortened genera, and the taxa that they state."""

from __future__ import annotations

import re
from typing import Final

from kb.checklist.scientific_names import ScientificName, parse_name
from kb.sources.mediawiki.ranks import NO_TAXON, StatedTaxon

_RANKS: Final = {
    "variety": "subspecies", "form": "subspecies", "section": "group", "subgenus": "group", "series": "group",
    "unnamed": "group",
}  # fmt: skip
"""Rank of a name -> rank of the page's taxon."""
_NO_NAME: Final = frozenset({"see", "siehe", "voir", "zie", "several", "many", "various", "unknown"})  # "see text"
_SHORT: Final = re.compile(r"[A-Z][a-z]{0,2}\.")


def taxon_of_name(written: str, genus: str = "", epithet: str = "") -> StatedTaxon:
    """Return rank and name of the taxon with a written name; without a rank if it has one word.

    Args:
        written: the name, perhaps with a shortened genus or an epithet alone.
        genus: genus of the page, for such names.
        epithet: epithet of the page's species.

    Example:
        >>> tuple(taxon_of_name("P. kl. esculentus", "Pelophylax")), tuple(taxon_of_name("× urbium", "Saxifraga"))
        (('species', 'Pelophylax esculentus'), ('hybrid', 'Saxifraga × urbium'))
        >>> tuple(taxon_of_name("Amanita sect. Phalloideae")), tuple(taxon_of_name("sp.", "Orcinus"))
        (('group', 'Amanita sect. Phalloideae'), ('group', 'Orcinus sp.'))
    """
    found = _parsed(written, genus, epithet)
    if not found.text or _SHORT.fullmatch(found.text.split()[0]):
        return NO_TAXON
    if found.is_several and found.rank:
        return StatedTaxon("group", written)
    if "×" in found.text and found.rank == "species":
        return StatedTaxon("hybrid", found.text)
    return StatedTaxon(_RANKS.get(found.rank, found.rank), found.text)


def trinomial(written: str, genus: str, epithet: str, marker: str = "") -> str:
    """Return the name of a subspecies, variety or form, of which a page may write the last word alone.

    Example:
        >>> trinomial("B. o. var. capitata", "Brassica", "oleracea"), trinomial("dingo", "Canis", "lupus")
        ('Brassica oleracea var. capitata', 'Canis lupus dingo')
    """
    found = _parsed(written, genus, epithet)
    if found.rank in ("subspecies", "variety", "form") and (not epithet or epithet in found.text.split()):
        return found.text
    return " ".join(filter(None, (genus, epithet, marker, *written.split()[-1:])))


def parse_binomial(text: str) -> str | None:
    """Return genus and epithet of the name at the start of a text, or None; hybrid signs stay.

    Example:
        >>> parse_binomial("Loxodonta africana (Blumenbach, 1797)"), parse_binomial("L. africana")
        ('Loxodonta africana', None)
        >>> parse_binomial("Amanita sect. Phalloideae"), parse_binomial("Canis lupus dingo")
        (None, 'Canis lupus')
    """
    if not text.lstrip("†?×* ")[:1].isupper():
        return None
    found = parse_name(text)
    words = found.text.split()
    if found.rank not in ("species", "subspecies", "variety", "form") or found.is_several or _SHORT.fullmatch(words[0]):
        return None
    return " ".join(words[: 2 + words[:3].count("×")])


def _parsed(written: str, genus: str, epithet: str) -> ScientificName:
    words = written.strip(" †?*").split()
    if words and genus:
        if _SHORT.fullmatch(words[0]) and genus.startswith(words[0][0]):
            words[0] = genus
        elif not words[0][0].isupper() and not (words[0] == "×" and words[1:] and words[1][0].isupper()):
            words = [genus, *words] if words[0] not in _NO_NAME else []
        if len(words) > 1 and epithet and re.fullmatch(rf"{epithet[0]}[a-z]?\.", words[1]) and len(words) > 2:
            words[1] = epithet
    return parse_name(" ".join(words))
