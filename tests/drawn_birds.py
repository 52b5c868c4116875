"""Drawings of birds as PNG files, each drawn once in a process."""

from functools import cache

from training.plates.catalogue import plates_of
from training.plates.variants import Purpose


@cache
def drawn_bird(taxon_id: str, number: int = 1, purpose: Purpose = "query") -> bytes:
    """Return a drawing of a species; one with the purpose `query` is not among the anchors of the starter knowledge."""
    return plates_of(taxon_id)[0].png(purpose, number)
