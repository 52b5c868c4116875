"""Birds among species, which decide how a new knowledge base compares photos."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from data.records import Taxon
from kb.checklist.avilist import CLASS_NAME, load_checklist

BIRDS: Final = "starter"
"""Profile of knowledge bases of birds (`recognize.settings.BIRD_PROFILE`)."""
ANY_GROUP: Final = "general"
"""Profile of others (`recognize.settings.GENERAL_PROFILE`)."""


def profile_for(taxa: Iterable[Taxon]) -> str:
    """Return the profile of the small models for some species: `starter` if all are birds, else `general`.

    Example:
        >>> profile_for([Taxon(taxon_id="vanessa-atalanta", scientific_name="Vanessa atalanta", rank="species")])
        'general'
    """
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
