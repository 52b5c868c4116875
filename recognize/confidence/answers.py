"""The answer for a photo: a species, or the lowest higher rank that is sure enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from data.records import Answer, PhotoStatus, Taxon
from recognize.confidence.ranks import RANKS, Lineage, rank_of

if TYPE_CHECKING:
    from recognize.confidence.chances import Chances

UNKNOWN_FROM: Final = 0.5
"""Above this chance, a species is called unknown."""


def answer_of(
    first: Taxon | None,
    chances: Chances | None,
    lineage: Lineage,
    *,
    min_confidence: float,
    likest: Taxon | None = None,
    names_groups: bool = True,
) -> Answer:
    """Return the answer for a photo.

    Without chances it is the first species with a null confidence. With them it is the lowest rank of the first species
    with enough confidence, but no species if the species is more likely than not outside the knowledge base; else
    `none`, with that chance as its confidence if it is more likely than not. An entry that is a genus or family is
    named at its own rank or above, never as a species.

    Args:
        first: first species of the ranking, or entry of a higher rank.
        chances: its chances.
        lineage: its lineage, with itself if it is of a higher rank.
        min_confidence: minimum confidence of an answer.
        likest: species outside the knowledge base that the photo resembles most; left out beside a genus, family or
            order that it does not belong to.
        names_groups: whether an unknown species gets its genus, family or order.
    """
    if first is None:
        return Answer(rank="none", name="")
    family, order = lineage.get("family"), lineage.get("order")
    own = rank_of(first.rank)
    if chances is None:
        return Answer(
            rank=own, name=first.scientific_name, common_name=first.common_name,
            family=None if own == "order" else family, order=order,
        )  # fmt: skip
    is_unknown = chances.unknown > UNKNOWN_FROM
    alike = likest if is_unknown else None
    for rank in RANKS[RANKS.index(own) :] if names_groups or not is_unknown else ():
        name = first.scientific_name if rank == own else lineage.get(rank)
        if name is None or chances.right(rank) < min_confidence or (is_unknown and rank == "species"):
            continue
        if alike is not None and alike.lineage.get(rank) != name:
            alike = None  # the answer is the surer one
        return Answer(
            rank=rank, name=name, common_name=first.common_name if rank == own else None,
            confidence=chances.right(rank), p_unknown=chances.unknown, family=None if rank == "order" else family,
            order=order, **_looks_like(alike),
        )  # fmt: skip
    return Answer(
        rank="none", name="", confidence=chances.unknown if is_unknown else None, p_unknown=chances.unknown,
        **_looks_like(alike),
    )  # fmt: skip


def _looks_like(alike: Taxon | None) -> dict[str, str]:
    if alike is None:
        return {}
    names = {"looks_like": alike.scientific_name}
    return names | ({"looks_like_common_name": alike.common_names[0]} if alike.common_names else {})


def status_of(answer: Answer) -> PhotoStatus:
    """Return the status of a photo with this answer."""
    if answer.p_unknown is not None and answer.p_unknown > UNKNOWN_FROM:
        return "unknown"
    return "not_sure" if answer.rank == "none" else "identified"
