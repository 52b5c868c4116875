"""Scientific names that a table gives in several columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kb.checklist.name_words import BELOW_SPECIES, LADDER
from kb.checklist.tables import EPITHETS

_GENUS: Final = ("genericname", "genus")
_LOWEST: Final = ("infraspecificepithet", "subspecies")


def are_named_in_parts(columns: Collection[str]) -> bool:
    """Return whether a table (its headings folded) has columns of genus and epithet, or of single names."""
    has_binomial = not set(_GENUS).isdisjoint(columns) and not set(EPITHETS).isdisjoint(columns)
    return has_binomial or "uninomial" in columns


def name_from_parts(row: Mapping[str, str]) -> str:
    """Return the name composed of the columns of a row, or the lowest of its higher taxa; empty if it has none.

    Example:
        >>> name_from_parts({"genus": "Salix", "specificepithet": "alba", "infraspecificepithet": "vitellina"})
        'Salix alba vitellina'
    """
    genus, epithet, lowest = (_first(row, keys) for keys in (_GENUS, EPITHETS, _LOWEST))
    if genus and epithet:
        rank = (row.get("taxonrank") or row.get("rank") or "").lower().rstrip(".")
        word = BELOW_SPECIES.get(rank, rank)
        marker = {"variety": "var.", "form": "f."}.get(word, "") if lowest else ""
        sign = "×" if row.get("notho", "").lower() == "specific" else ""
        return " ".join(filter(None, (genus, sign, epithet.lower(), marker, lowest.lower())))
    return row.get("uninomial") or genus or next((row[rank] for rank in LADDER[::-1] if row.get(rank)), "")


def _first(row: Mapping[str, str], keys: Collection[str]) -> str:
    return next((row[key] for key in keys if row.get(key)), "")
