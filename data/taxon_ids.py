"""The id that a scientific name gives to its taxon."""

from __future__ import annotations

import re
import unicodedata


def taxon_id(scientific_name: str) -> str:
    """Return the id of the taxon, its scientific name as a slug.

    Example:
        >>> taxon_id("Cardinalis cardinalis")
        'cardinalis-cardinalis'
    """
    decomposed = unicodedata.normalize("NFKD", scientific_name.lower())
    return "-".join(re.findall(r"[^\W_]+", "".join(c for c in decomposed if not unicodedata.combining(c))))
