"""The answer for a photo: a species, its genus, its family, not sure, or not in the knowledge base."""

from __future__ import annotations

from data.records import Answer, Taxon
from recognize.confidence.calibration import RANKS, Chances, Lineage


def answer_of(first: Taxon | None, chances: Chances | None, lineage: Lineage, *, min_confidence: float) -> Answer:
    """Return the answer.

    Without chances it is the first species with a null confidence. With them it is `none` with a confidence (*not in
    the knowledge base*) where that is more likely than not; else the first species, its genus or its family, whichever
    is the lowest rank with enough confidence; else `none` without a confidence (*not sure*).

    Args:
        first: the best species, if there is any.
        chances: calibrated probabilities for the photo, if the knowledge base is calibrated.
        lineage: lineage of the first species.
        min_confidence: minimum confidence of an answer.
    """
    if first is None:
        return Answer(rank="none", name="")
    if chances is None:
        return Answer(rank="species", name=first.scientific_name, common_name=first.common_name)
    unknown = chances.unknown
    if unknown > 0.5:
        return Answer(rank="none", name="", confidence=unknown, unknown=unknown)
    for rank in RANKS:
        confidence = chances.confidence[rank]
        if confidence < min_confidence:
            continue
        if rank == "species":
            return Answer(
                rank=rank, name=first.scientific_name, common_name=first.common_name, confidence=confidence,
                unknown=unknown,
            )  # fmt: skip
        if rank in lineage:
            return Answer(rank=rank, name=lineage[rank], confidence=confidence, unknown=unknown)
    return Answer(rank="none", name="", unknown=unknown)
