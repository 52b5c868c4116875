"""Confidence of every candidate of a photo, from the confidence of the first."""

from __future__ import annotations

import numpy as np

from recognize.confidence.chances import CHANCE_DIGITS, Chances
from recognize.confidence.evidence import N_JUDGED
from recognize.scoring.stages import Ranking


def candidate_confidences(ranking: Ranking, chances: Chances, *, temperature: float, n: int) -> tuple[float, ...]:
    """Return the confidence of the first `n` species.

    The chance that another species of the knowledge base is right is shared by the softmax of the scores over the
    others among the best `N_JUDGED`, so it does not depend on `n`. No species gets more than the first.

    Args:
        ranking: a ranking with at least one species.
        chances: chances of its first species.
        temperature: divisor of the scores, of the calibration.
        n: number of species.
    """
    scores = ranking.scores[1 : max(n, N_JUDGED)] / temperature
    confidence = chances.right("species")
    if not len(scores):
        return (confidence,)
    weights = np.exp(scores - scores[0])
    shares = np.minimum((1 - chances.unknown - confidence) * weights / weights.sum(), confidence)
    return (confidence, *(round(share, CHANCE_DIGITS) for share in shares[: n - 1].tolist()))
