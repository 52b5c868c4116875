"""Chances that an answer is right, from evidence by a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recognize.confidence.calibration import Parameters, chances_by
from recognize.confidence.ranks import RANKS, JudgedRank
from recognize.scoring.pairs import Scores

CHANCE_DIGITS: Final = 4  # far below the calibration error of a hundredth
_CERTAIN: Final = 1e-9
NOT_SEEN: Final = 0.9
"""Chance at even odds that a photo where no bird is seen shows an unknown one, or none. None is seen in
6.5 % of the photos of birds that are new to the model, in 0.2 to 1.9 % of others, and in at least 96 % of pictures
without one (`benchmarks/no_bird.py`, 0.7); half of the unknown photos count as such pictures."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Chances of one photo, in [0, 1]."""

    held: Mapping[JudgedRank, float]
    """Of the first species, its genus, family and order, if the species is in the knowledge base."""
    not_held: Mapping[JudgedRank, float]
    """Of its genus, family and order, if the species is not."""
    unknown: float
    """Of a species that is not in the knowledge base."""

    def right(self, rank: JudgedRank) -> float:
        """Return the chance that the first species, or its genus, family or order, is right."""
        share = (1 - self.unknown) * self.held[rank] + self.unknown * self.not_held.get(rank, 0.0)
        return round(share, CHANCE_DIGITS)


def chances_of(
    rows: Scores,
    parameters: Parameters,
    *,
    unknown_prior: float,
    kinship: Scores | None = None,
    is_seen: Flags | None = None,
) -> list[Chances]:
    """Return the chances of photos; a genus is at least as probable as its species, a family as its genus, and so on.

    Args:
        rows: features of the photos, `(n, n_features)`.
        parameters: parameters of the preset and of the anchor mode of the knowledge base.
        unknown_prior: prior probability that a photo shows a species outside the knowledge base; above 0, below 1.
        kinship: highest chances of genus, family and order if the species is not held, `(n, 3)`; default: 1.
        is_seen: whether a bird is seen in each photo, `(n,)`; default: in all. Where none was, an unknown species,
            or no bird at all, is more probable, and no genus, family or order is, unless the species is held.
    """
    unknown = at_prior(even_unknown(rows, parameters, is_seen), unknown_prior)
    columns = []
    for models in (parameters.held, parameters.not_held):
        least = np.zeros(len(rows))
        for rank in RANKS:
            least = np.maximum(least, chances_by(models[rank], rows)) if rank in models else least
            columns.append(least)
    if kinship is not None:
        columns[-len(RANKS) + 1 :] = np.minimum(columns[-len(RANKS) + 1 :], kinship.T)
    if is_seen is not None:
        columns[-len(RANKS) + 1 :] = [column * is_seen for column in columns[-len(RANKS) + 1 :]]
    return [
        Chances(
            held=dict(zip(RANKS, values[: len(RANKS)], strict=True)),
            not_held=dict(zip(RANKS[1:], values[len(RANKS) + 1 : -1], strict=True)),
            unknown=values[-1],
        )
        for values in np.round(np.stack([*columns, unknown], axis=1), CHANCE_DIGITS).tolist()
    ]


def even_unknown(rows: Scores, parameters: Parameters, is_seen: Flags | None = None) -> Scores:
    """Return the chance of an unknown species at even odds, `(n,)`; arguments as of `chances_of`."""
    even = chances_by(parameters.unknown, rows)
    return even if is_seen is None else np.where(is_seen, even, at_prior(even, NOT_SEEN))


def at_prior(even: Scores, prior: float) -> Scores:
    """Return chances at even odds for another prior, by Bayes' rule.

    Example:
        >>> at_prior(np.array([0.5, 0.9]), 0.2).round(3).tolist()
        [0.2, 0.692]
    """
    if not 0 < prior < 1:
        raise ValueError(f"expected a prior probability between 0 and 1, got {prior}")
    even = np.clip(even, _CERTAIN, 1 - _CERTAIN)
    likely, unlikely = even * prior, (1 - even) * (1 - prior)
    chances: Scores = likely / (likely + unlikely)
    return chances
