"""Profile of a new knowledge base: by the species that a build takes in first."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from data.records import LeftOut, Taxon
from kb.checklist.avilist import profile_for

if TYPE_CHECKING:
    from kb.pipeline.selection import Selection

N_ASKED: Final = 50
"""Names that are looked up before the profile is chosen: one call of a wiki. Models are fixed when a build begins."""


def with_profile(selection: Selection) -> tuple[str, Selection]:
    """Return the profile for the first species of a selection, and the selection with the look-ups for it.

    At least one species is found first, if there is any.
    """
    found, asked, others = list[Taxon](), [], iter(selection.located)
    for taxon, place in others:
        asked.append((taxon, place))
        if isinstance(taxon, Taxon) and not isinstance(place, LeftOut):
            found.append(taxon)
        if found and len(asked) >= N_ASKED:
            break
    return profile_for(found), replace(selection, located=chain(asked, others))
