"""Share of unknown species among the photos of a run, estimated from the photos themselves."""

from __future__ import annotations

from typing import Final

from recognize.confidence.chances import at_prior
from recognize.scoring.pairs import Scores
from recognize.settings import UNKNOWN_PRIOR

N_SAMPLED: Final = 128
"""Maximum number of photos behind an estimate."""
STRENGTH: Final = 8.0
"""Number of photos that the default prior counts for."""

_ROUNDS: Final = 1_000
_DONE: Final = 1e-7
_LEAST: Final = 0.01  # an estimate of 0 or 1 would rule out what the next photo may show
_DIGITS: Final = 3


def estimate_prior(even: Scores) -> float:
    """Return the most probable share of unknown species, by expectation-maximisation.

    The prior of the share is a beta distribution with its mode at `UNKNOWN_PRIOR`, which counts for `STRENGTH` photos.
    A single photo gets the default: its evidence would count twice.

    Source: Saerens, Latinne and Decaestecker, 2002, section 2.2. Differs: the beta prior.

    Args:
        even: chance of an unknown species at even odds, for each photo.

    Example:
        >>> import numpy as np
        >>> estimate_prior(np.array([0.99] * 30 + [0.01] * 70)), estimate_prior(np.array([0.99]))
        (0.288, 0.2)
    """
    share = UNKNOWN_PRIOR
    if len(even) < 2:
        return share
    for _ in range(_ROUNDS):
        expected = float(at_prior(even, share).sum())
        before, share = share, (expected + UNKNOWN_PRIOR * STRENGTH) / (len(even) + STRENGTH)
        if abs(share - before) < _DONE:
            break
    return round(min(max(share, _LEAST), 1 - _LEAST), _DIGITS)


def sample_of(n: int) -> list[int]:
    """Return the positions of at most `N_SAMPLED` of n photos, spread evenly."""
    return list(range(n)) if n <= N_SAMPLED else [i * n // N_SAMPLED for i in range(N_SAMPLED)]
