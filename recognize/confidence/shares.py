"""Confidence of every candidate of a photo, from the chances of the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recognize.confidence.chances import CHANCE_DIGITS, Chances
from recognize.confidence.evidence import N_JUDGED
from recognize.confidence.ranks import RANKS, JudgedRank, Lineage
from recognize.scoring.pairs import Scores
from recognize.scoring.stages import Ranking


def candidate_confidences(
    ranking: Ranking, chances: Chances, lineages: Sequence[Lineage], *, temperature: float, n: int
) -> tuple[float, ...]:
    """Return the confidence of the first `n` species.

    The chances of the genus, family and order of the first species are shared by the other species of each among the
    best `N_JUDGED`, by the softmax of their scores; species beyond them get 0. So the species of a genus have no more
    confidence than the genus, and it does not depend on `n`. No species gets more than the first.

    Args:
        ranking: a ranking with at least one species.
        chances: chances of its first species.
        lineages: lineages of its first `N_JUDGED` species.
        temperature: divisor of the scores, of the calibration.
        n: number of species.
    """
    scores = ranking.scores[:N_JUDGED]
    likely, _ = distributed(scores / temperature, 0, lineages[: len(scores)], chances)
    shares = np.minimum((1 - chances.unknown) * likely, chances.right("species"))
    found = [round(share, CHANCE_DIGITS) for share in shares[: min(n, len(scores))].tolist()]
    return (*found, *[0.0] * (min(n, len(ranking.scores)) - len(found)))


def species_chances(
    ranking: Ranking, chances: Chances | None, lineages: Sequence[Lineage], *, temperature: float
) -> Scores:
    """Return the chance of every species of a ranking, with at least one species.

    The shares of `candidate_confidences`, over all species and without rounding; without chances, the softmax.

    Args:
        ranking: the ranking.
        chances: chances of its first species.
        lineages: lineages of all its species.
        temperature: divisor of the scores.
    """
    scores = ranking.scores / temperature
    if chances is None:
        weights = np.exp(scores - scores.max())
        softmax: Scores = weights / weights.sum()
        return softmax
    likely, _ = distributed(scores, 0, lineages, chances)
    shares: Scores = (1 - chances.unknown) * likely[: len(scores)]
    return shares


def distributed(
    scores: Scores, first: int, lineages: Sequence[Lineage], chances: Chances
) -> tuple[Scores, list[Lineage]]:
    """Return the chance of each species if the photo shows one of the knowledge base, and all lineages.

    Four placeholders follow the species: another species of the genus, family or order of the first, and any other.
    They get the chances of the groups without another species.

    Args:
        scores: scores of the species, divided by the temperature.
        first: position of the first species of the ranking.
        lineages: lineages of the species.
        chances: chances of the first species, its genus, family and order.
    """
    others: list[Lineage] = [
        {rank: lineages[first][rank] for rank in RANKS[step:] if rank in lineages[first]} for step in (1, 2, 3, 4)
    ]
    every = [*lineages, *others]
    softmax = np.concatenate([np.exp(scores - scores.max()), np.zeros(len(others))])
    likely, given = np.zeros(len(softmax)), 0.0
    is_left = np.ones(len(softmax), dtype=np.bool_)
    for step, rank in enumerate((*RANKS, None)):
        group = is_left if rank is None else is_left & same_taxon(every, first, rank)
        upto = 1.0 if rank is None else chances.held[rank]
        weights = np.where(group, softmax, 0.0)
        if not weights.any():
            weights[len(scores) - 1 + step] = 1.0
        likely += (upto - given) * weights / weights.sum()
        given, is_left = upto, is_left & ~group
    return likely, every


def same_taxon(lineages: Sequence[Lineage], at: int, rank: JudgedRank) -> NDArray[np.bool_]:
    """Return whether each species shares the species, genus, family or order of the one at `at`."""
    same = np.zeros(len(lineages), dtype=np.bool_)
    name = lineages[at].get(rank)
    if rank != "species" and name:
        same = np.array([lineage.get(rank) == name for lineage in lineages], dtype=np.bool_)
    same[at] = True
    return same
