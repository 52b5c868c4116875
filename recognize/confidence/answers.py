"""The one answer of a photo: a species, or only its genus or family, or that it cannot be told."""

from __future__ import annotations

from typing import Final

from data.records import Answer, Taxon
from recognize.confidence.calibration import RANKS, Chances, Lineage

MIN_CONFIDENCE: Final = 0.5
"""An answer that is less likely right than this rolls up to the next rank."""
ABSENT_SHARE: Final = 0.2
"""How many of the photos that one has show a bird that is not in the knowledge base: a guess, to be changed."""


def answer_of(first: Taxon | None, chances: Chances | None, lineage: Lineage, *, min_confidence: float) -> Answer:
    """Return the answer.

    Without chances it is the first species, its confidence null. With them it is `none`, *not in this knowledge base*,
    where that is likelier than not, and its confidence how likely; else the first species, its genus or its family,
    the lowest of them that is likely enough; else `none` without a confidence: it cannot be told.

    Args:
        first: the best species, if there is any.
        chances: of the photo, if its knowledge base is calibrated.
        lineage: of the first species.
        min_confidence: what an answer needs.
    """
    if first is None:
        return Answer(rank="none", name="")
    if chances is None:
        return Answer(rank="species", name=first.scientific_name, common_name=first.common_name)
    absent = chances.absent
    if absent > 0.5:
        return Answer(rank="none", name="", confidence=absent, absent=absent)
    for rank in RANKS:
        confidence = chances.confidence[rank]
        if confidence < min_confidence:
            continue
        if rank == "species":
            return Answer(
                rank=rank, name=first.scientific_name, common_name=first.common_name, confidence=confidence,
                absent=absent,
            )  # fmt: skip
        if rank in lineage:
            return Answer(rank=rank, name=lineage[rank], confidence=confidence, absent=absent)
    return Answer(rank="none", name="", absent=absent)
